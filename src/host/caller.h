/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is behind this run of krait, where that isn't the user it runs as: `sudo krait record -- cmd`
 * runs cmd as the user who typed it, with that user's groups and environment, and its files are
 * theirs. And the environment as it was typed, of which less is left in krait itself: sudo clears
 * it, and the C library strips LD_LIBRARY_PATH and the like from a program with file capabilities.
 */
#ifndef HOST_CALLER_H
#define HOST_CALLER_H

#include <sys/types.h>
#include "host/environment.h"
#include "host/users.h"
#include "proc/open_as.h"

struct caller {
	bool other; /* krait was started by sudo; else the rest but env isn't set */
	uid_t uid;
	gid_t gid;
	gid_vec groups;
	struct environment env; /* empty: krait's own is right */
};

/*
 * Finds out. With sudo (SUDO_UID set, real user root): groups from the nearest ancestor process of
 * that user, else from /etc/group; environment from sudo's own process, else made from
 * /etc/passwd; variables that were given to krait after that (`sudo A=b krait ...`) stay. 0, or
 * -errno + message: then who it was can't be told, and nothing is to be run.
 */
_must_use_ int caller_find(struct caller *c);
void caller_fini(struct caller *c);

/* For a child before exec: becomes the caller. @caller: struct caller *. 0 or -errno. */
int caller_become(void *caller);

/* Who opens a file for them if .other. Borrows the groups. */
struct opener caller_opener(const struct caller *c);

/* Where XDG says that the caller's cache is: $XDG_CACHE_HOME/krait, ~/.cache/krait. NULL: nowhere. */
char *caller_cache_dir(const struct caller *c);

/*
 * Between these two, files are opened, made and renamed as the caller, so that they are theirs and
 * nothing is overwritten that they couldn't. Does nothing if the caller is krait's own user.
 * 0 or -errno + message.
 */
_must_use_ int caller_enter(const struct caller *c);
void caller_leave(const struct caller *c);

#endif
