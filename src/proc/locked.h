/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes whose memory nobody can read now. A process's list of mappings is locked (mm_struct's
 * mmap_lock) while one of its threads changes it. The change may hang, in mmap() or munmap() of a
 * file whose file system doesn't answer. While it hangs, everybody waits who needs the list: to
 * read memory, arguments or environment and, before Linux 6.17, the list itself.
 */
#ifndef PROC_LOCKED_H
#define PROC_LOCKED_H

#include "proc/proc.h"

/*
 * Waits up to a second until the process's list of mappings isn't locked. True: the list is still
 * locked. False: memory and arguments can be read now, or the process has no memory.
 */
bool proc_is_locked(const struct proc *p);

#endif
