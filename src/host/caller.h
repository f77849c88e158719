/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user who called krait, if krait runs as another user. `sudo krait record -- cmd` runs cmd as
 * the user who called sudo, with that user's groups and environment, and krait's files belong to
 * that user. Here is also the environment that this user had, because krait itself gets only a part
 * of it: sudo clears the environment, and the C library removes LD_LIBRARY_PATH and the like from a
 * program with file capabilities.
 */
#ifndef HOST_CALLER_H
#define HOST_CALLER_H

#include <sys/types.h>
#include "host/environment.h"
#include "host/users.h"
#include "proc/files/open_as.h"

struct caller {
	/* sudo has started krait for another user; false: of this struct only .env is set */
	bool other;
	uid_t uid;
	gid_t gid;
	gid_vec groups;
	/* the caller's environment; if empty, krait's own environment is the caller's */
	struct environment env;
};

/*
 * Finds out who the caller is. With sudo (SUDO_UID set, real user root) the groups come from the
 * nearest ancestor process of that user, else from /etc/group. The environment comes from sudo's
 * own process, else from /etc/passwd. krait's own variables are added (`sudo A=b krait ...`),
 * except those that sudo sets. 0, or -errno + message: the caller can't be found out, and nothing
 * may be run.
 */
_must_use_ int caller_find(struct caller *c);
void caller_fini(struct caller *c);

/* For a child before exec: becomes the caller. @caller is a struct caller *. 0 or -errno. */
int caller_become(void *caller);

/*
 * Returns the caller's ids, with whose rights a file can be opened. Call this only if .other is
 * set. The result borrows .groups.
 */
struct opener caller_opener(const struct caller *c);

/*
 * The path (heap) of the caller's cache directory by the XDG specification: $XDG_CACHE_HOME/krait
 * or ~/.cache/krait. NULL: neither is known.
 */
char *caller_cache_dir(const struct caller *c);

/*
 * Between caller_enter() and caller_leave(), files are opened, made and renamed as the caller: they
 * belong to the caller, and nothing is overwritten that the caller couldn't overwrite. Does nothing
 * if the caller is krait's own user. 0 or -errno + message.
 */
_must_use_ int caller_enter(const struct caller *c);
void caller_leave(const struct caller *c);

#endif
