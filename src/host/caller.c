/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the user who called sudo, and that user's environment; see caller.h. */
#include "host/caller.h"

#include <grp.h>
#include <limits.h>
#include <sys/auxv.h>
#include "base/error.h"
#include "host/environment.h"
#include "host/rights.h"
#include "host/uvx.h"
#include "proc/read/owner.h"
#include "proc/proc.h"

#define MAX_ANCESTORS 64

/*
 * Reads a number from environment variable @variable, which sudo has set. Returns false if it isn't
 * a number.
 */
static bool number_from(const char *variable, unsigned int *ret)
{
	const char *text = getenv(variable);
	char *end;
	unsigned long n;

	if (!text || !*text || *text < '0' || *text > '9')
		return false;
	n = strtoul(text, &end, 10);
	if (*end || n >= UINT_MAX)
		return false;
	*ret = n;
	return true;
}

/*
 * Reads the line of /proc/PID/status that begins with @name, and returns the rest of the line in
 * @line. Returns false if there is no such line.
 */
static bool status_line(pid_t pid, const char *name, char *line, size_t size)
{
	char path[64];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, size, f))
		if (str_starts(line, name)) {
			memmove(line, line + strlen(name), strlen(line + strlen(name)) + 1);
			return true;
		}
	return false;
}

static pid_t parent_of(pid_t pid)
{
	char line[64];

	return status_line(pid, "PPid:", line, sizeof(line)) ? atoi(line) : 0;
}

/* Returns the nearest ancestor process for which @test returns true; 0: there is none. */
static pid_t find_ancestor(bool (*test)(pid_t pid, const void *arg), const void *arg)
{
	pid_t pid = getppid();

	for (int i = 0; pid > 1 && i < MAX_ANCESTORS; i++, pid = parent_of(pid))
		if (test(pid, arg))
			return pid;
	return 0;
}

/*
 * Tells whether all three user ids of process @pid are @arg: the real, the effective and the saved
 * one. Returns false for sudo's own process: sudo is setuid, so its ids aren't all @arg. That is
 * right, because the groups of sudo's process are root's.
 */
static bool is_users(pid_t pid, const void *arg)
{
	const uid_t want = *(const uid_t *)arg;
	unsigned int real, effective, saved;
	char line[128];

	return status_line(pid, "Uid:", line, sizeof(line)) &&
	       sscanf(line, "%u %u %u", &real, &effective, &saved) == 3 && real == want &&
	       effective == want && saved == want;
}

static bool is_sudo(pid_t pid, const void *arg)
{
	char line[64];

	return status_line(pid, "Name:", line, sizeof(line)) && streq(line, "\tsudo\n");
}

/*
 * Gets all groups of a process, or fails. A list of groups that was cut off isn't used, because its
 * last number may lack digits.
 */
static int groups_of_process(pid_t pid, gid_vec *ret)
{
	_cleanup_(proc_owner_fini) struct proc_owner owner = {};
	_cleanup_proc_ struct proc proc = PROC_INIT;
	int r = proc_open(&proc, pid);

	if (!r)
		r = proc_owner_read(proc.dirfd, &owner);
	vec_foreach(gid, &owner.groups)
		r = r ? r : vec_push(ret, *gid);
	return r;
}

static int find_groups(struct caller *c)
{
	pid_t pid = find_ancestor(is_users, &c->uid);
	struct user u;
	int r;

	if (pid && !groups_of_process(pid, &c->groups))
		return 0;
	c->groups.n = 0;
	r = users_get(c->uid, &u);
	if (r)
		return 0; /* a user who isn't in /etc/passwd has only the primary group */
	r = users_groups(u.name, &c->groups);
	users_fini(&u);
	return r;
}

static int find_environment(struct caller *c)
{
	struct environment e = {};
	pid_t sudo = find_ancestor(is_sudo, NULL);
	int r = -ESRCH;

	if (sudo)
		r = environment_of_process(&e, sudo);
	if (r)
		r = environment_of_user(&e, c->uid);
	if (!r)
		r = environment_add_own(&e);
	c->env = e;
	return r;
}

int caller_find(struct caller *c)
{
	int r = 0;

	*c = (struct caller){};
	if (getuid() == 0 && number_from("SUDO_UID", &c->uid) && c->uid != 0 &&
	    number_from("SUDO_GID", &c->gid)) {
		c->other = true;
		r = find_groups(c);
		if (!r)
			r = find_environment(c);
	} else if (getauxval(AT_SECURE)) {
		r = environment_original(&c->env);
	}
	if (!r)
		r = uvx_leave(&c->env);
	return r ? err_sys(r, "can't find out who called krait through sudo") : 0;
}

void caller_fini(struct caller *c)
{
	vec_fini(&c->groups);
	environment_fini(&c->env);
}

static const char *caller_getenv(const struct caller *c, const char *name)
{
	return c->env.v.n ? environment_get(&c->env, name) : getenv(name);
}

struct opener caller_opener(const struct caller *c)
{
	return (struct opener){.has_id = true,
			       .uid = c->uid,
			       .gid = c->gid,
			       .groups = c->groups.v,
			       .n_groups = c->groups.n};
}

char *caller_cache_dir(const struct caller *c)
{
	const char *cache = caller_getenv(c, "XDG_CACHE_HOME"), *home = caller_getenv(c, "HOME");
	char *dir = NULL;

	/*
	 * The XDG specification says: "All paths must be absolute. If [one] is relative [...]
	 * ignore it."
	 */
	if (cache && *cache == '/')
		return asprintf(&dir, "%s/krait", cache) < 0 ? NULL : dir;
	if (home && *home == '/')
		return asprintf(&dir, "%s/.cache/krait", home) < 0 ? NULL : dir;
	return NULL;
}

static int set_ids(const struct caller *c)
{
	if (setgroups(c->groups.n, c->groups.v) || setgid(c->gid) || setuid(c->uid))
		return -errno;
	return 0;
}

int caller_become(void *caller)
{
	struct caller *c = caller;
	int r = c->other ? set_ids(c) : 0;

	if (r)
		return r;
	rights_drop_for_child();
	if (c->env.v.n)
		environ = c->env.v.v;
	return 0;
}

int caller_enter(const struct caller *c)
{
	if (!c->other)
		return 0;
	if (setgroups(c->groups.n, c->groups.v) || setegid(c->gid) || seteuid(c->uid)) {
		int r = -errno;

		caller_leave(c);
		return err_sys(r, "can't write files as the user who called sudo");
	}
	return 0;
}

void caller_leave(const struct caller *c)
{
	if (!c->other)
		return;
	/*
	 * Becoming root again always works, because the saved user id is still 0. The supplementary
	 * groups stay those of the caller, which doesn't matter for root.
	 */
	if (seteuid(0) || setegid(0))
		abort();
}
