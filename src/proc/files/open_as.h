/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a file with another user's rights, which only the calling thread has, and only for a
 * moment.
 */
#ifndef PROC_FILES_OPEN_AS_H
#define PROC_FILES_OPEN_AS_H

#include <sys/types.h>
#include "base/util.h"
#include "proc/read/owner.h"

/* The rights with which a file is opened. */
struct opener {
	bool as_is; /* files are opened with krait's own rights and all its capabilities */
	/*
	 * files are opened with the rights of .uid, .gid and .groups; false: with the rights of
	 * krait's own user, without capabilities
	 */
	bool has_id;
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
};

/*
 * Returns an opener with the rights of @owner; if @owner is root, an opener with .as_is. The result
 * borrows @owner's groups.
 */
struct opener opener_of(const struct proc_owner *owner);
/*
 * If krait can become other users, returns what opener_of() returns. Otherwise returns an opener
 * with the rights of krait's own user, without capabilities.
 */
struct opener opener_if_root(const struct proc_owner *owner);

/*
 * Calls @open_it(@dir, @path) with the rights of @u and without krait's capabilities. Returns what
 * @open_it returns; -errno if krait can't become @u.
 */
_must_use_ int open_as(const struct opener *u, int (*open_it)(int dir, const char *path), int dir,
		       const char *path);

#endif
