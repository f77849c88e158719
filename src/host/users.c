/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /etc/passwd and /etc/group without name services; see users.h. */
#include "host/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

int users_get(uid_t uid, struct user *ret)
{
	_cleanup_fclose_ FILE *f = fopen("/etc/passwd", "re");
	struct passwd *p;

	if (!f)
		return -errno;
	while ((p = fgetpwent(f)))
		if (p->pw_uid == uid)
			break;
	if (!p)
		return -ENOENT;
	*ret = (struct user){p->pw_gid, strdup(p->pw_name), strdup(p->pw_dir), strdup(p->pw_shell)};
	if (ret->name && ret->home && ret->shell)
		return 0;
	users_fini(ret);
	return -ENOMEM;
}

void users_fini(struct user *u)
{
	free(u->name);
	free(u->home);
	free(u->shell);
	*u = (struct user){};
}

int users_ids(const char *name, uid_t *uid, gid_t *gid)
{
	_cleanup_fclose_ FILE *f = fopen("/etc/passwd", "re");
	struct passwd *p;

	if (!f)
		return -errno;
	while ((p = fgetpwent(f)))
		if (streq(p->pw_name, name)) {
			*uid = p->pw_uid;
			*gid = p->pw_gid;
			return 0;
		}
	return -ENOENT;
}

int users_group_id(const char *name, gid_t *ret)
{
	_cleanup_fclose_ FILE *f = fopen("/etc/group", "re");
	struct group *g;

	if (!f)
		return -errno;
	while ((g = fgetgrent(f)))
		if (streq(g->gr_name, name)) {
			*ret = g->gr_gid;
			return 0;
		}
	return -ENOENT;
}

int users_become(uid_t uid, gid_t gid)
{
	return setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ? -errno
											  : 0;
}

int users_groups(const char *name, gid_vec *ret)
{
	_cleanup_fclose_ FILE *f = fopen("/etc/group", "re");
	struct group *g;
	int r;

	if (!f)
		return -errno;
	while ((g = fgetgrent(f)))
		for (char **member = g->gr_mem; *member; member++) {
			if (!streq(*member, name))
				continue;
			r = vec_push(ret, g->gr_gid);
			if (r)
				return r;
		}
	return 0;
}
