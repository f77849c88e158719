/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes whose memory nobody can read now. Whoever changes a process's list of mappings locks it (mm_struct's
 * mmap_lock), and may hang while it does: in mmap or munmap of a file whose file system doesn't answer. Then all that
 * goes through that list waits with it: reading memory, arguments and environment, and before Linux 6.17 the list.
 */
#ifndef PROC_LOCKED_H
#define PROC_LOCKED_H

#include "proc/proc.h"

/* Has it been locked for a second? Else memory and arguments can be read now, or it has none. */
bool proc_is_locked(const struct proc *p);

#endif
