/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /etc/passwd and /etc/group, read without the C library's name services, which don't work in a
 * statically linked program. Users of a directory service (such as LDAP) aren't in these files, so
 * callers first try another source.
 */
#ifndef HOST_USERS_H
#define HOST_USERS_H

#include <sys/types.h>
#include "base/text/str.h"
#include "base/vec.h"

typedef VEC(gid_t) gid_vec;

struct user {
	gid_t gid;
	char *name, *home, *shell; /* heap strings */
};

/* Finds user @uid in /etc/passwd. 0; -ENOENT: there is no such user; or -errno. Sets no message. */
_must_use_ int users_get(uid_t uid, struct user *ret);
void users_fini(struct user *u);

/* Finds the ids of user @name in /etc/passwd. 0; -ENOENT: there is no such user; or -errno. */
_must_use_ int users_ids(const char *name, uid_t *uid, gid_t *gid);

/* Finds the id of group @name in /etc/group. 0; -ENOENT: there is no such group; or -errno. */
_must_use_ int users_group_id(const char *name, gid_t *ret);

/*
 * Makes this process, which runs as root, run for good as user @uid and group @gid, without further
 * groups. 0 or -errno.
 */
_must_use_ int users_become(uid_t uid, gid_t gid);

/* Appends the ids of the groups that list user @name as a member. 0 or -errno. */
_must_use_ int users_groups(const char *name, gid_vec *ret);

#endif
