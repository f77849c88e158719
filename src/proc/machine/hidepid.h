/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells whether /proc is mounted with hidepid= (proc(5)): such a /proc doesn't show a process to
 * those who may not trace it.
 */
#ifndef PROC_MACHINE_HIDEPID_H
#define PROC_MACHINE_HIDEPID_H

#include <sys/types.h>
#include "base/text/str.h"

/*
 * Appends the value of /proc's option hidepid= ("1", "2", "invisible" ...). False: /proc hides no
 * process.
 */
bool proc_hides(struct str *ret);

/*
 * Sets the message for process @tgid, which /proc doesn't show: -EPERM if it is hidden, -ESRCH if
 * there is no such process.
 */
int proc_not_there(pid_t tgid);
/*
 * Sets the message for process @tgid, which /proc shows but which can't be examined because of
 * error @r. Returns @r.
 */
int proc_not_open(pid_t tgid, int r);

#endif
