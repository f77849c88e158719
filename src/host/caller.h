/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user behind this run of krait, if that isn't the user it runs as: `sudo krait record -- cmd`
 * runs cmd as the user who called sudo, with that user's groups and environment, and krait's files
 * are theirs. Also the environment as it was typed, because krait itself has less of it: sudo
 * clears it, and the C library removes LD_LIBRARY_PATH and the like from a program with file
 * capabilities.
 */
#ifndef HOST_CALLER_H
#define HOST_CALLER_H

#include <sys/types.h>
#include "host/environment.h"
#include "host/users.h"
#include "proc/files/open_as.h"

struct caller {
	bool other; /* sudo has started krait for another user; false: only .env is set */
	uid_t uid;
	gid_t gid;
	gid_vec groups;
	/* the caller's environment; empty: that of krait itself is right */
	struct environment env;
};

/*
 * Finds out who the caller is. With sudo (SUDO_UID set, real user root) the groups come from the
 * nearest ancestor process of that user, else from /etc/group. The environment comes from sudo's
 * own process, else from /etc/passwd. Variables that krait was given after that (`sudo A=b krait
 * ...`) stay. 0, or -errno + message: the caller can't be found out, and nothing may be run.
 */
_must_use_ int caller_find(struct caller *c);
void caller_fini(struct caller *c);

/* For a child before exec: becomes the caller. @caller is a struct caller *. 0 or -errno. */
int caller_become(void *caller);

/*
 * Returns with whose rights a file is opened for the caller. Call it only if .other is set. Borrows
 * .groups.
 */
struct opener caller_opener(const struct caller *c);

/*
 * The path (heap) of the caller's cache directory by the XDG specification: $XDG_CACHE_HOME/krait
 * or ~/.cache/krait. NULL: there is none.
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
