/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a dump (the stacks of all threads at one moment), from its beginning to its end; see
 * dump.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/self.h"
#include "base/system/log.h"
#include "dump/internal.h"
#include "proc/read/stat.h"
#include "python/heap/heap.h"
#include "python/heap/peek.h"

/*
 * how much CPU time reading the lists of sockets may take; a list of 100,000 connections takes some
 * 50 ms
 */
#define SOCKETS_NS (200 * NSEC_PER_MSEC)

static void on_record(void *ctx, const void *data, size_t n)
{
	struct dump *d = ctx;

	collect_record(d->collect, data, n);
}

static bool wait(void *ctx, const char *what, unsigned done)
{
	const struct dump *d = ctx;

	return d->config.wait(d->config.wait_ctx, what, done);
}

static int make_profile(struct dump *d)
{
	struct profile_meta *m;

	d->profile = profile_new();
	if (!d->profile)
		return err_sys(-ENOMEM, "profile");
	m = profile_meta(d->profile);
	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->n_values = 2;
	m->values[1] = (struct profile_value_type){"threads", "count"};
	m->period_type = m->values[0];
	m->period = 1;
	return 0;
}

static int set_up(struct dump *d)
{
	struct collect_config collect = {.profile = d->profile,
					 .n_sources = 1,
					 .ops = &dump_collect_ops,
					 .ctx = d,
					 .unwind = d->config.native ? &dump_unwind_ops : NULL,
					 .cache = d->config.cache,
					 .kallsyms = d->kallsyms,
					 .interpreter_frames = d->config.interpreter_frames,
					 .end_positions = true,
					 .start_ns = d->start_ns,
					 .texts = d->config.texts,
					 .may_see = d->config.may_see,
					 .wait = d->config.wait ? wait : NULL};
	struct walker_config walker = {.layout = dump_layout,
				       .record = on_record,
				       .ctx = d,
				       .rows = &dump_rows,
				       .leaf = d->config.leaf,
				       .instructions = true};

	d->collect = collect_new(&collect);
	d->walker = walker_new(&walker);
	return d->collect && d->walker ? 0 : err_sys(-ENOMEM, "walkers");
}

/*
 * Opens the kernel program's records of blocked threads. Without them, krait knows only a thread's
 * stack pointer and program counter, from /proc, and can't unwind many native stacks.
 */
static void open_tasks(struct dump *d)
{
	if (tasks_open(&d->tasks) || tasks_want(d->tasks, getpid(), true))
		log_info("%s", err_msg());
}

int dump_open(struct dump **ret, const struct dump_config *config)
{
	struct dump *d = calloc(1, sizeof(*d));
	int r = d ? 0 : err_sys(-ENOMEM, "dump");

	if (r)
		return r;
	d->config = *config;
	d->start_ns = clock_ns(CLOCK_MONOTONIC);
	d->sockets_ns = SOCKETS_NS;
	d->kallsyms = d->config.kernel ? open("/proc/kallsyms", O_RDONLY | O_CLOEXEC) : -1;
	open_tasks(d);
	r = store_init(&d->store);
	r = r ? r : make_profile(d);
	r = r ? r : set_up(d);
	if (r) {
		dump_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

bool dump_close(struct dump *d)
{
	bool freed;

	if (!d)
		return true;
	freed = collect_free(d->collect);
	walker_free(d->walker);
	tasks_close(d->tasks);
	vec_fini(&d->blocked);
	map_fini(&d->by_tid);
	if (d->kallsyms >= 0)
		close(d->kallsyms);
	store_fini(&d->store);
	profile_free(d->profile);
	vec_foreach(l, &d->layouts)
		free(*l);
	vec_foreach(t, &d->targets) {
		proc_close(&t->proc);
		for (size_t i = 0; i < t->n_python; i++) {
			vec_fini(&t->python[i].states);
			py_thread_names_fini(&t->python[i].names);
			map_fini(&t->python[i].by_tid);
		}
		vec_fini(&t->work);
		dump_pypy_close(t->pypy);
	}
	vec_foreach(p, &d->processes)
		vec_fini(&p->threads);
	vec_fini(&d->layouts);
	vec_fini(&d->targets);
	vec_fini(&d->processes);
	free(d);
	return freed;
}

static int denied(pid_t pid, const char *why)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	if (!geteuid())
		return err_set(
			-EPERM,
			"process %d can't be looked at although krait runs as root, as "
			"happens in a container (%s); `krait doctor` says what to run on the host",
			pid, why);
	return err_of("process to dump", number, -EPERM,
		      "process %d can't be looked at without more rights (%s)", pid, why);
}

/*
 * Checks that krait can read the memory of process @pid, in which the stacks lie. Returns 1, or
 * -errno + message.
 */
static int check_readable(const struct dump *d, pid_t pid)
{
	uint64_t word;
	int r = peek(pid, d->found.where[0].interp_head, &word, sizeof(word));

	if (r == -EPERM || r == -EACCES)
		return denied(pid, "the process is another user's, or kernel.yama.ptrace_scope "
				   "lets only its parent read it");
	if (r == -ETIMEDOUT)
		return err_set(
			r,
			"process %d's memory can't be read: a file system or storage that it "
			"comes from doesn't answer",
			pid);
	return r == -ESRCH ? err_set(r, "process %d has ended", pid) : 1;
}

static int check_seen(const struct dump *d, const struct proc *proc)
{
	if (d->config.may_see && !d->config.may_see(proc->dirfd))
		return denied(proc->tgid, "the process is another user's");
	return 0;
}

static int examine(struct dump *d, const struct proc *proc)
{
	_cleanup_free_ char *why = NULL;
	int r = collect_examine(d->collect, proc->tgid);

	if (r == 1)
		return check_readable(d, proc->tgid);
	if (r != -EPERM && r != -EACCES)
		return r;
	why = strdup(err_msg());
	return denied(proc->tgid, why ? why : "");
}

/*
 * Gives the collector (src/collect) a record of the process. In a recording, the kernel program
 * sends such a record for each process that it recognizes.
 */
static void introduce(struct dump *d, const struct target *t)
{
	struct rec_proc rec = {.type = REC_PROC,
			       .state = t->n_python ? PROC_PYTHON : PROC_NATIVE,
			       .proc = t->key,
			       .time_ns = d->start_ns,
			       .where = t->python[0].where};

	collect_record(d->collect, &rec, sizeof(rec));
	if (t->pypy)
		dump_pypy_introduce(d, t);
}

static void note_other(const struct dump *d, struct dump_process *p)
{
	struct collect_stats stats;

	collect_stats(d->collect, &stats);
	if (stats.other.tgid == (uint32_t)p->pid)
		snprintf(p->other, sizeof(p->other), "%s in %s", stats.other.name,
			 stats.other.file);
}

static int add_target(struct dump *d, struct target *t, bool locked)
{
	struct dump_process p = {
		.pid = t->proc.tgid, .locked = locked, .name = "", .cgroup = "", .container = ""};
	const struct py_layout *l = t->n_python ? dump_layout(d, t->python[0].where.layout) : NULL;
	struct proc_stat stat;
	int r = proc_stat_read(t->proc.dirfd, &stat);

	if (r)
		return r;
	p.pypy = t->pypy;
	p.version = l ? l->version : p.pypy ? dump_pypy_version() : 0;
	p.newer = p.version && !heap_is_known(p.version);
	for (size_t i = 1; i < t->n_python; i++)
		p.more[i - 1] = dump_layout(d, t->python[i].where.layout)->version;
	note_other(d, &p);
	if (d->refused == p.pid)
		snprintf(p.not_understood, sizeof(p.not_understood), "%s",
			 collect_not_understood(d->collect));
	if (locked)
		p.name = dump_text(d, stat.comm);
	t->zombie = stat.state == 'Z' || stat.state == 'X';
	t->key = (struct proc_key){.start_ns = proc_stat_start_ns(&stat) + 1,
				   .tgid = (uint32_t)p.pid};
	r = d->tasks ? tasks_want(d->tasks, p.pid, true) : 0;
	r = r ? r : vec_reserve(&d->targets, d->targets.n + 1);
	r = r ? r : vec_push(&d->processes, p);
	if (r)
		return r;
	d->targets.v[d->targets.n++] = *t;
	t->proc = PROC_INIT;
	t->pypy = NULL; /* now the list's */
	if (!locked)
		introduce(d, &d->targets.v[d->targets.n - 1]);
	return 1;
}

/*
 * collect_examine() doesn't understand the Python of process @t. If it is a PyPy whose frames krait
 * can read, prepares that. 1 or -ENOTSUP + message.
 */
static int add_pypy(struct dump *d, struct target *t)
{
	if (dump_pypy_open(d, &t->proc, &t->pypy))
		return 1;
	return err_set(-ENOTSUP, "process %d can't be profiled: %s", t->proc.tgid,
		       collect_not_understood(d->collect));
}

int dump_add(struct dump *d, pid_t pid)
{
	struct target t = {.proc = PROC_INIT};
	int r = proc_open(&t.proc, pid);

	d->found = (struct proc_several){};
	d->refused = 0;
	r = r ? r : check_seen(d, &t.proc);
	r = r ? r : examine(d, &t.proc);
	if (r == -ENOTSUP)
		r = add_pypy(d, &t);
	d->refused = r == -ENOTSUP ? pid : 0;
	for (; t.n_python < d->found.n; t.n_python++)
		t.python[t.n_python].where = d->found.where[t.n_python];
	if (r == 1)
		r = add_target(d, &t, false);
	proc_close(&t.proc);
	dump_pypy_close(t.pypy);
	return r;
}

static int add_unexamined(struct dump *d, pid_t pid, bool locked)
{
	struct target t = {.proc = PROC_INIT};
	int r = proc_open(&t.proc, pid);

	r = r ? r : check_seen(d, &t.proc);
	r = r ? r : add_target(d, &t, locked);
	proc_close(&t.proc);
	return r;
}

int dump_add_other(struct dump *d, pid_t pid)
{
	return add_unexamined(d, pid, false);
}

int dump_add_locked(struct dump *d, pid_t pid)
{
	return add_unexamined(d, pid, true);
}

int dump_read(struct dump *d)
{
	int r = collect_flush(d->collect, false);

	for (size_t i = 0; !r && i < d->targets.n; i++)
		r = dump_list(d, i);
	r = r ? r : dump_threads(d);
	r = r ? r : collect_flush(d->collect, true);
	if (!r)
		dump_take_names(d);
	return r;
}

size_t dump_processes(const struct dump *d, struct dump_process **ret)
{
	*ret = d->processes.v;
	return d->processes.n;
}

struct profile *dump_profile(struct dump *d)
{
	return d->profile;
}
