/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes whose memory nobody can read now. A process's list of mappings is locked (mm_struct's
 * mmap_lock) while somebody changes it, and that may hang: in mmap or munmap of a file whose file
 * system doesn't answer. Then everything waits that goes through the list: reading memory,
 * arguments and environment, and before Linux 6.17 the list itself.
 */
#ifndef PROC_LOCKED_H
#define PROC_LOCKED_H

#include "proc/proc.h"

/*
 * Has the process's list of mappings been locked for a second? False: memory and arguments can be
 * read now, or the process has none.
 */
bool proc_is_locked(const struct proc *p);

#endif
