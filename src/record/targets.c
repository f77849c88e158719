/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which processes are recorded, and whether they still exist. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "proc/proc.h"
#include "record/command/command_file.h"
#include "record/session.h"
#include "record/command/signals.h"

static int add_tree(struct session *s, pid_t pid, pid_vec *tree)
{
	int r = proc_asked(pid, s->options->no_children, tree);

	for (size_t i = 0; !r && i < tree->n; i++) {
		r = sampler_add_root(s->sampler, tree->v[i]);
		r = r ? r : proc_match_add_pid(&s->match, tree->v[i]);
	}
	return r;
}

static bool has_ended(pid_t pid)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;

	return proc_open(&proc, pid) || proc_has_ended(&proc);
}

/*
 * Examines process @pid and its descendants (@tree). Returns 0 if one of these processes is wanted:
 * it is Python, or will be once its program is loaded. Returns -ENOTSUP or -EPERM if @pid itself
 * can't be profiled, else the first reason found.
 */
static int examine_tree(struct session *s, pid_t pid, const pid_vec *tree)
{
	_cleanup_free_ char *why = NULL;
	bool any = false;
	int r = -EINVAL;

	for (size_t i = 0; i < tree->n; i++) {
		int is = collect_examine(s->collect, tree->v[i]);

		if ((is == -ENOTSUP || is == -EPERM) && tree->v[i] == pid)
			return is;
		if (is == 1 || is == -EAGAIN)
			session_use_add(s, tree->v[i]);
		/* A process that hangs counts as wanted: krait examines it when it goes on. */
		any |= is == 1 || is == -EAGAIN || is == -ETIMEDOUT || (!is && s->options->all);
		if (is < 0 && is != -ESRCH && !why) {
			why = strdup(err_msg());
			r = is;
		}
	}
	if (any)
		return 0;
	if (why)
		return err_set(r, "%s", why);
	s->advice = s->options->no_children ? SESSION_ADVICE_CHILDREN : SESSION_ADVICE_ANOTHER;
	return err_set(r, "process %d isn't running Python%s", pid,
		       s->options->no_children ? "" : ", nor is a child of it");
}

/* Adds a process that the user named by its number, and its children, as targets. */
static int add_target(struct session *s, pid_t pid)
{
	pid_vec tree = {};
	int r = add_tree(s, pid, &tree);

	if (!r && has_ended(pid))
		r = err_set(-ESRCH, "process %d has ended already; its parent hasn't noticed yet",
			    pid);
	if (!r)
		r = examine_tree(s, pid, &tree);
	vec_fini(&tree);
	return rights_to_see(&s->rights, pid, r);
}

/*
 * Called if the whole machine is recorded: examines all processes, so that none of their samples
 * has to wait for that.
 */
static int examine_all(struct session *s)
{
	pid_vec all = {};
	int r = proc_list(&all);

	for (size_t i = 0; !r && i < all.n; i++)
		if (collect_examine(s->collect, all.v[i]) == 1)
			session_use_add(s, all.v[i]);
	vec_fini(&all);
	return r;
}

/*
 * Tells the kernel programs about the executable that the command will run, so that even its first
 * samples have Python frames.
 */
static void teach_command(struct session *s)
{
	const char *search = environment_get(&s->caller.env, "PATH") ?: getenv("PATH");
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	if (caller_enter(&s->caller))
		return;
	fd = command_file_open(s->options->cmd[0], search, path);
	caller_leave(&s->caller);
	if (fd >= 0 && collect_teach(s->collect, fd, path))
		log_info("can't prepare the kernel programs for %s before it runs", path);
}

int session_add_targets(struct session *s)
{
	pid_vec tree = {};
	int r = 0;

	if (s->options->cmd) {
		teach_command(s);
		spawn_await_seen(&s->spawn);
		session_use_add(s, s->spawn.pid);
		r = add_tree(s, s->spawn.pid, &tree);
		vec_fini(&tree);
		return r;
	}
	if (!s->options->pids.n)
		return examine_all(s);
	for (size_t i = 0; !r && i < s->options->pids.n; i++)
		r = add_target(s, s->options->pids.v[i]);
	return r;
}

static void drop_if_ended(struct session *s, uint32_t tgid)
{
	if (!map_get(&s->match.pids, tgid) || !has_ended((pid_t)tgid))
		return;
	session_use_ended(s, (pid_t)tgid);
	proc_match_exit(&s->match, (pid_t)tgid);
	sampler_remove_root(s->sampler, tgid);
}

void session_exit(struct session *s, uint32_t tgid, uint32_t tid)
{
	if (!s->match.by_pid || !map_get(&s->match.pids, tgid))
		return;
	/* A process's first thread may end before its other threads. */
	if (tid == tgid || map_put(&s->exits, tgid, 1))
		drop_if_ended(s, tgid);
}

void session_exits(struct session *s)
{
	map_foreach(p, &s->exits)
		drop_if_ended(s, (uint32_t)p->key);
	map_clear(&s->exits);
}

/*
 * The least time between two checks whether targets have ended. perf reports an end at once, but
 * this report may be lost.
 */
#define ENDED_APART_NS (50 * NSEC_PER_MSEC)

bool session_targets_ended(struct session *s, uint64_t now_ns)
{
	if (!s->match.by_pid || s->options->cmd)
		return false;
	if (s->match.pids.n && now_ns < s->ended_ns)
		return false;
	s->ended_ns = now_ns + ENDED_APART_NS;
	map_foreach(p, &s->match.pids) {
		if (!has_ended((pid_t)p->key))
			return false;
		session_use_ended(s, (pid_t)p->key);
		proc_match_exit(&s->match, (pid_t)p->key);
	}
	return true;
}

/*
 * The command's other processes may end this long after the command, for example because they see
 * that a pipe is closed.
 */
#define ENDING_MS 100
#define LOOK_MS	  10

static int ascending(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * Finds processes of the command that are still running. A daemon's last fork may come after the
 * command's end; perf has reported it by now.
 */
static void find_going(const struct session *s, pid_vec *ret)
{
	ret->n = 0;
	sideband_drain(s->sideband);
	map_foreach(p, &s->match.pids)
		if ((pid_t)p->key != s->spawn.pid && !has_ended((pid_t)p->key))
			(void)!vec_push(ret, (pid_t)p->key);
}

void session_daemons(struct session *s, pid_vec *ret)
{
	if (!s->options->cmd || !spawn_ended(&s->spawn) || signals_stop())
		return;
	find_going(s, ret);
	for (int ms = 0; ret->n && ms < ENDING_MS; ms += LOOK_MS) {
		usleep(LOOK_MS * 1000);
		find_going(s, ret);
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), ascending);
}
