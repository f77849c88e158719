/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes a recording is about, and whether they are still there. */
#include <errno.h>
#include <signal.h>

#include "base/error.h"
#include "cli/session.h"
#include "proc/proc.h"

static int add_tree(struct session *s, pid_t pid)
{
	pid_vec tree = {};
	int r = s->options->no_children ? vec_push(&tree, pid) : proc_tree(pid, &tree);

	for (size_t i = 0; !r && i < tree.n; i++) {
		r = sampler_add_root(s->sampler, tree.v[i]);
		if (!r)
			r = map_put(&s->match.pids, tree.v[i], 1);
	}
	s->match.by_pid = true;
	vec_fini(&tree);
	return r;
}

/* One process that was asked for by number. At least one of its tree must be Python. */
static int add_target(struct session *s, pid_t pid)
{
	int r = add_tree(s, pid), any = 0;

	if (r)
		return r;
	map_foreach(p, &s->match.pids) {
		int is = collect_examine(s->collect, p->key);

		if ((is == -ENOTSUP || is == -EPERM) && (pid_t)p->key == pid)
			return is;
		any |= is == 1;
	}
	if (!any)
		return err_set(-EINVAL,
			       "process %d isn't running Python, nor is a child of it; "
			       "`krait record` without -p shows which processes are",
			       pid);
	return 0;
}

/* The whole machine: the processes there are, so that no sample of theirs waits for an answer. */
static int examine_all(struct session *s)
{
	pid_vec all = {};
	int r = proc_list(&all);

	for (size_t i = 0; !r && i < all.n; i++)
		(void)!collect_examine(s->collect, all.v[i]);
	vec_fini(&all);
	return r;
}

int session_add_targets(struct session *s)
{
	int r = 0;

	if (s->options->cmd)
		return add_tree(s, s->spawn.pid);
	if (!s->options->pids.n)
		return examine_all(s);
	for (size_t i = 0; !r && i < s->options->pids.n; i++)
		r = add_target(s, s->options->pids.v[i]);
	return r;
}

/* True once every process of -p has ended (a number that is used again isn't that process). */
bool session_targets_ended(struct session *s)
{
	if (!s->match.by_pid || s->options->cmd)
		return false;
	map_foreach(p, &s->match.pids) {
		if (!kill((pid_t)p->key, 0) || errno != ESRCH)
			return false;
		proc_match_exit(&s->match, (pid_t)p->key);
	}
	return true;
}
