/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds processes whose memory nobody can read at the moment. A process's list of mappings is
 * locked (mm_struct's mmap_lock) while one of its threads changes it. The change may hang: in
 * mmap() or munmap() of a file whose file system doesn't answer. While it hangs, everybody has to
 * wait who wants to read the process's memory, arguments or environment and, before Linux 6.17, the
 * list itself.
 */
#ifndef PROC_LOCKED_H
#define PROC_LOCKED_H

#include "proc/proc.h"

/*
 * Waits up to a second for the lock of the process's list of mappings to be released. True: the
 * list is still locked. False: memory and arguments can be read now, or the process has no memory.
 */
bool proc_is_locked(const struct proc *p);

#endif
