/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc that is mounted with hidepid= (proc(5)): who may not trace a process doesn't see it there.
 */
#ifndef PROC_HIDEPID_H
#define PROC_HIDEPID_H

#include <sys/types.h>
#include "base/str.h"

/* What it is mounted with, "1", "2", "invisible" ..., appended; false: it hides nothing. */
bool proc_hides(struct str *ret);

/*
 * Sets the message for process @tgid, which isn't in /proc: -EPERM if it is hidden, -ESRCH if there
 * is none.
 */
int proc_not_there(pid_t tgid);
/* The same of one that is there and can't be looked into; @r: what came of it. */
int proc_not_open(pid_t tgid, int r);

#endif
