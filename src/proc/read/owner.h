/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out with whose rights a process opens files. */
#ifndef PROC_READ_OWNER_H
#define PROC_READ_OWNER_H

#include <sys/types.h>
#include "base/vec.h"

struct proc_owner {
	/*
	 * id of the user with whose rights the process opens files (credentials(7)); 65534 if
	 * krait's user namespace has no number for that user
	 */
	uid_t uid;
	/*
	 * the real, effective or saved user id differs from .uid, so several users may own the
	 * process
	 */
	bool mixed;
	gid_t gid;
	VEC(gid_t) groups; /* supplementary groups of the owner */
};

/*
 * Reads the owner from PROCDIR/status. 0; -ESRCH if the process is gone; -errno. No message. Call
 * proc_owner_fini() in any case.
 */
_must_use_ int proc_owner_read(int procdir, struct proc_owner *ret);
/*
 * Returns the user of process @pid; the real user if the process runs as root or isn't dumpable. 0
 * also if there is no process @pid.
 */
uid_t proc_user_of(pid_t pid);

void proc_owner_fini(struct proc_owner *o);

#endif
