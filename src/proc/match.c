/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which processes are wanted; see match.h. */
#include "proc/match.h"

#include <fnmatch.h>

#include "base/error.h"
#include "base/system/log.h"
#include "proc/container/container.h"

void proc_match_init(struct proc_match *m)
{
	*m = (struct proc_match){};
	map_init(&m->pids);
}

void proc_match_fini(struct proc_match *m)
{
	vec_fini(&m->comm);
	vec_fini(&m->cgroup);
	vec_fini(&m->container);
	map_fini(&m->pids);
}

int proc_match_add_pid(struct proc_match *m, pid_t tgid)
{
	m->by_pid = true;
	return map_put(&m->pids, (uint64_t)tgid, 1);
}

int proc_match_fork(struct proc_match *m, pid_t parent, pid_t child)
{
	return map_get(&m->pids, (uint64_t)parent) ? map_put(&m->pids, (uint64_t)child, 1) : 0;
}

void proc_match_exit(struct proc_match *m, pid_t tgid)
{
	map_del(&m->pids, (uint64_t)tgid);
}

static bool comm_fits(const struct proc_match *m, const struct proc_facts *f)
{
	vec_foreach(glob, &m->comm)
		if (!fnmatch(*glob, f->comm, 0) || !fnmatch(*glob, f->name, 0))
			return true;
	return !m->comm.n;
}

/* Does @glob match some component of @path? */
static bool component_fits(const char *glob, const char *path)
{
	/*
	 * a component of a cgroup's path is the name of a directory, which has at most NAME_MAX
	 * bytes, and a NUL
	 */
	char one[256];
	size_t n;

	for (; *path; path += n + (path[n] == '/')) {
		n = strcspn(path, "/");
		if (!n || n >= sizeof(one))
			continue;
		memcpy(one, path, n);
		one[n] = '\0';
		if (!fnmatch(glob, one, 0))
			return true;
	}
	return false;
}

static bool cgroup_fits(const struct proc_match *m, const struct proc_facts *f)
{
	vec_foreach(glob, &m->cgroup)
		if (!fnmatch(*glob, f->cgroup, 0) ||
		    (!strchr(*glob, '/') && component_fits(*glob, f->cgroup)))
			return true;
	return !m->cgroup.n;
}

static bool is_wanted(const struct proc_match *m, const char *container)
{
	_cleanup_str_ struct str name = {};

	if (!container || !*container)
		return false;
	vec_foreach(want, &m->container)
		if (**want && str_starts(container, *want))
			return true;
	if (!container_name(container, &name))
		return false;
	vec_foreach(want, &m->container)
		if (streq(str_cstr(&name), *want))
			return true;
	return false;
}

static void say_claim(struct proc_match *m, const struct proc_facts *f)
{
	char whose[64] = "in a directory that krait can't examine";

	if (m->said || !is_wanted(m, f->claim))
		return;
	m->said = true;
	if (f->claim_uid != (uid_t)-1)
		snprintf(whose, sizeof(whose), "in a directory of user %u, who can choose its name",
			 f->claim_uid);
	log_warn("process %d isn't counted as part of the container: its cgroup %s is %s; to "
		 "include it, give the process's number or that cgroup",
		 f->tgid, f->cgroup, whose);
}

static bool container_fits(struct proc_match *m, const struct proc_facts *f)
{
	if (!m->container.n || is_wanted(m, f->container))
		return true;
	say_claim(m, f);
	return false;
}

bool proc_match(struct proc_match *m, const struct proc_facts *f)
{
	if (m->by_pid && !map_get(&m->pids, (uint64_t)f->tgid))
		return false;
	return comm_fits(m, f) && cgroup_fits(m, f) && container_fits(m, f);
}
