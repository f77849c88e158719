/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening files with somebody else's rights, for a moment and in one thread. */
#ifndef PROC_OPEN_AS_H
#define PROC_OPEN_AS_H

#include <sys/types.h>
#include "base/util.h"
#include "proc/owner.h"

/* Who opens. */
struct opener {
	bool as_is;  /* krait itself, with all its rights */
	bool has_id; /* else krait's own user, without capabilities */
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
};

/* As @owner; root has all rights. Borrows the groups. */
struct opener opener_of(const struct proc_owner *owner);
/* The same where krait can become another user; else its own, without capabilities. */
struct opener opener_if_root(const struct proc_owner *owner);

/*
 * Calls @open_it(@dir, @path) as @u, without krait's capabilities. What it returns; -errno where krait
 * can't become @u.
 */
_must_use_ int open_as(const struct opener *u, int (*open_it)(int dir, const char *path), int dir,
		       const char *path);

#endif
