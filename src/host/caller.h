/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user who called krait, if krait runs as another user. `sudo krait record -- cmd` runs cmd as
 * the user who called sudo, with that user's groups and environment, and krait's files belong to
 * that user. struct caller also has the environment of the user who called. krait itself gets only
 * a part of that environment: sudo clears it, and in a program with file capabilities the C library
 * removes variables such as LD_LIBRARY_PATH.
 */
#ifndef HOST_CALLER_H
#define HOST_CALLER_H

#include <sys/types.h>
#include "host/environment.h"
#include "host/users.h"
#include "proc/files/open_as.h"

struct caller {
	/*
	 * sudo has started krait for another user, the caller; false: only .env of this struct is
	 * set
	 */
	bool other;
	uid_t uid;
	gid_t gid;
	gid_vec groups;
	/* the caller's environment; if it is empty, krait's own environment is used */
	struct environment env;
};

/*
 * Finds out who the caller is. Under sudo (SUDO_UID is set and the real user is root) the groups
 * come from the nearest ancestor process of the caller; if there is none, from /etc/group. The
 * environment comes from sudo's own process; if that can't be read, it is made from /etc/passwd.
 * krait's own variables are added (`sudo A=b krait ...`), except those that sudo sets. 0, or -errno
 * + message if the caller can't be found out: then the command must not be run.
 */
_must_use_ int caller_find(struct caller *c);
void caller_fini(struct caller *c);

/*
 * For a child before exec: makes it run as the caller. @caller is a struct caller *. 0 or -errno.
 */
int caller_become(void *caller);

/*
 * Returns the caller's ids, so that a file can be opened with the caller's rights. Call it only if
 * .other is set. The result borrows .groups.
 */
struct opener caller_opener(const struct caller *c);

/*
 * Returns the path of the caller's cache directory, by the XDG specification: $XDG_CACHE_HOME/krait
 * or ~/.cache/krait. The text is on the heap. NULL: neither variable is known.
 */
char *caller_cache_dir(const struct caller *c);

/*
 * Between caller_enter() and caller_leave(), files are opened, made and renamed as the caller: they
 * belong to the caller, and nothing is overwritten that the caller couldn't overwrite. Both
 * functions do nothing if the caller is krait's own user. 0 or -errno + message.
 */
_must_use_ int caller_enter(const struct caller *c);
void caller_leave(const struct caller *c);

#endif
