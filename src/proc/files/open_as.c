/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Becomes another user for opening files; see open_as.h. The thread changes its ids by system
 * calls, because the C library's functions would change the ids of krait's workers as well. Only
 * the ids with which files are accessed are changed.
 */
#include "proc/files/open_as.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/nomem.h"
#include "base/vec.h"

typedef VEC(gid_t) group_vec;

struct saved {
	cap_t caps;
	int uid, gid;
	group_vec groups;
};

static int save_groups(group_vec *ret)
{
	int n = getgroups(0, NULL);

	if (n < 0 || vec_reserve(ret, (size_t)n + 1))
		return err_nomem();
	n = getgroups(n, ret->v);
	ret->n = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -errno : 0;
}

static int clear_effective(void)
{
	cap_t caps = cap_get_proc();
	int r = !caps							    ? err_nomem()
		: cap_clear_flag(caps, CAP_EFFECTIVE) || cap_set_proc(caps) ? -EPERM
									    : 0;

	if (caps)
		cap_free(caps);
	return r;
}

/*
 * setfsuid() and setfsgid() return the former id, whether they succeed or not. With -1, which isn't
 * an id, they change nothing and return the present id.
 */
static int set_ids(const struct opener *u)
{
	if (syscall(SYS_setgroups, u->n_groups, u->groups))
		return -errno;
	setfsgid(u->gid);
	setfsuid(u->uid);
	return (uid_t)setfsuid(-1) == u->uid && (gid_t)setfsgid(-1) == u->gid ? 0 : -EPERM;
}

static void leave(struct saved *s, bool has_id)
{
	struct opener before = {.uid = (uid_t)s->uid,
				.gid = (gid_t)s->gid,
				.groups = s->groups.v,
				.n_groups = s->groups.n};

	/*
	 * The capabilities are set before and after the ids, because changing the ids also changes
	 * the capabilities for files (capabilities(7)).
	 */
	if (cap_set_proc(s->caps) || (has_id && (set_ids(&before) || cap_set_proc(s->caps))))
		abort();
	cap_free(s->caps);
	vec_fini(&s->groups);
}

static int enter(const struct opener *u, struct saved *s)
{
	int r;

	*s = (struct saved){.caps = cap_get_proc(), .uid = setfsuid(-1), .gid = setfsgid(-1)};
	r = !s->caps ? err_nomem() : u->has_id ? save_groups(&s->groups) : 0;
	if (r) {
		if (s->caps)
			cap_free(s->caps);
		vec_fini(&s->groups);
		return r;
	}
	r = u->has_id ? set_ids(u) : 0;
	if (!r)
		r = clear_effective();
	if (r)
		leave(s, u->has_id);
	return r;
}

struct opener opener_of(const struct proc_owner *owner)
{
	return (struct opener){.has_id = true,
			       .as_is = !owner->uid,
			       .uid = owner->uid,
			       .gid = owner->gid,
			       .groups = owner->groups.v,
			       .n_groups = owner->groups.n};
}

struct opener opener_if_root(const struct proc_owner *owner)
{
	return geteuid() ? (struct opener){} : opener_of(owner);
}

int open_as(const struct opener *u, int (*open_it)(int dir, const char *path), int dir,
	    const char *path)
{
	struct saved s;
	int fd, r = u->as_is ? 0 : enter(u, &s);

	if (r)
		return r;
	fd = open_it(dir, path);
	if (!u->as_is)
		leave(&s, u->has_id);
	return fd;
}
