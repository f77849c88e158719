/* SPDX-License-Identifier: BSD-2-Clause */
/* With whose rights a process opens files, as it is now. */
#ifndef PROC_OWNER_H
#define PROC_OWNER_H

#include <sys/types.h>
#include "base/vec.h"

struct proc_owner {
	uid_t uid;  /* of the file system (credentials(7)); what has no number here is 65534 */
	bool mixed; /* the other three, of which one says whose it is, aren't the same */
	gid_t gid;
	VEC(gid_t) groups; /* further ones */
};

/* From PROCDIR/status. 0; -ESRCH if it is gone; -errno. No message. _fini in any case. */
_must_use_ int proc_owner_read(int procdir, struct proc_owner *ret);
/* Whose process @pid is: of one that runs as root, or isn't dumpable, who started it. 0 too: there is none, or @pid is none. */
uid_t proc_user_of(pid_t pid);

void proc_owner_fini(struct proc_owner *o);

#endif
