/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process's stamp tells cheaply that the process hasn't changed: as long as the stamp stays the
 * same, this is the same process, and its effective user and its control groups are the same.
 * Reading it takes a sixth of the time of the facts (proc_facts_read(), proc_owner_read()).
 *
 * The facts can change in three ways without a change of the stamp: a control group's directory
 * gets another owner; a mount from which the container was read changes; the real, saved or
 * file-system user id changes but the effective user id doesn't.
 */
#ifndef PROC_STAMP_H
#define PROC_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/util.h"

struct proc_stamp {
	/* number of the directory /proc/PID, which is new for each process; 0: no stamp was read */
	uint64_t dir;
	uint64_t groups; /* hash of the text of /proc/PID/cgroup */
	uid_t uid;
};

/*
 * Reads the stamp of process @tgid. 0 or -errno without a message; after an error *@ret is no stamp
 * (.dir is 0).
 */
_must_use_ int proc_stamp_read(pid_t tgid, struct proc_stamp *ret);

/* Are the stamps the same? False also if one of them is no stamp (.dir is 0). */
bool proc_stamp_same(const struct proc_stamp *a, const struct proc_stamp *b);

#endif
