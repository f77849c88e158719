/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds waiting threads whose stacks no kernel program has taken. There are two kinds of such
 * waits. Some waits began before sampling: they are added to the map `waits`, and the program that
 * runs at task switches ends them like any other wait. Other waits began when the kernel program
 * had just seen a process for the first time, and krait didn't know yet that this process runs
 * Python.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>

#include "base/error.h"
#include "base/system/log.h"
#include "sampler/internal.h"
#include "sample.skel.h"

/* flag in the state of a task that is ending (include/linux/sched.h) */
#define TASK_DEAD 0x80

void blocked_open(struct sampler *s)
{
	if (tasks_open(&s->tasks))
		log_info("waits that begin before the recording aren't recorded: %s", err_msg());
}

static bool proc_of(const struct sampler *s, uint32_t tgid, struct proc_entry *ret)
{
	return !bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.procs), &tgid, ret);
}

/*
 * Makes the program of tasks.h read the threads of a process, if the process is known to run
 * Python. Returns 1 if it is known to, 0 if not; or -errno.
 */
static int want_python(struct sampler *s, pid_t tgid)
{
	struct proc_entry e;
	int r;

	if (!proc_of(s, (uint32_t)tgid, &e) || e.state != PROC_PYTHON)
		return 0;
	r = tasks_want(s->tasks, tgid, true);
	return r ? r : 1;
}

/* Finds all processes that are known to run Python. */
static int find_pythons(const struct sampler *s, pid_vec *ret)
{
	unsigned most = 2 * bpf_map__max_entries(s->skel->maps.procs);
	int fd = bpf_map__fd(s->skel->maps.procs), r = 0;
	struct proc_entry e;
	uint32_t tgid;

	for (unsigned n = 0; !r && n < most && !bpf_map_get_next_key(fd, n ? &tgid : NULL, &tgid);
	     n++)
		if (proc_of(s, tgid, &e) && e.state == PROC_PYTHON)
			r = vec_push(ret, (pid_t)tgid);
	return r ? err_sys(r, "processes") : 0;
}

/* Does @e describe the process of @task, and has that process not exec'ed since? */
static bool is_image(const struct proc_entry *e, const struct rec_task *task)
{
	if (!e->key.start_ns)
		return e->place.start_code == task->place.start_code &&
		       e->place.start_stack == task->place.start_stack;
	return e->key.start_ns == task->proc.start_ns && e->key.exec_id == task->proc.exec_id;
}

static bool sleeps(const struct rec_task *task)
{
	return task->state && !(task->state & TASK_DEAD) && !task->on_cpu;
}

struct reading {
	struct sampler *s;
	const struct sampler_blocked *to;
};

/*
 * Must the stack of the thread's wait still be read? Sets *@since_ns to when the wait began; 0: it
 * began before sampling. @left_until_ns: see sampler_blocked().
 */
static bool lacks_stack(const struct sampler *s, const struct rec_task *task,
			uint64_t left_until_ns, uint64_t *since_ns)
{
	struct wait_entry e;

	*since_ns = 0;
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.waits), &task->host_tid, &e))
		return task->start_ns < s->skel->bss->began_ns;
	*since_ns = e.wait.since_ns;
	if (e.phase != WAIT_WAITS || e.start_ns != task->start_ns)
		return false;
	if (!e.times)
		return e.wait.since_ns <= left_until_ns;
	return e.wait.sample.type == REC_WAIT && !e.wait.sample.stack &&
	       e.wait.sample.outcome == WALK_PENDING;
}

static void take(void *ctx, const struct rec_task *task)
{
	const struct reading *r = ctx;
	struct proc_entry proc;
	uint64_t since_ns;

	if (sleeps(task) && proc_of(r->s, task->tgid, &proc) && proc.state == PROC_PYTHON &&
	    is_image(&proc, task) && lacks_stack(r->s, task, r->to->left_until_ns, &since_ns))
		r->to->blocked(r->to->ctx, &proc, task, since_ns);
}

static void note_polled(void *ctx, const struct rec_task *task)
{
	const struct reading *r = ctx;
	int fd = sleeps(task) ? r->to->polled(r->to->ctx, task) : -1;

	if (fd >= 0)
		tasks_add_polled(r->s->tasks, task, fd);
}

static void note_asleep(void *ctx, const struct rec_task *task)
{
	if (sleeps(task))
		(void)!map_put(ctx, task->host_tid, task->switches);
}

/*
 * Notes the threads whose wait was just added but that aren't asleep in it any more: the wait of
 * such a thread may have been over before it was added. (If a thread woke up after its wait was
 * added, the program at task switches has seen it.)
 */
static void doubt(struct sampler *s)
{
	struct map asleep = {};
	struct wait_entry e;
	unsigned n = 0;
	uint32_t tid;

	if (!s->added.n)
		return;
	if (tasks_read(s->tasks, note_asleep, &asleep))
		log_info("%s", err_msg());
	while (waits_next(s, &tid, &n, &e)) {
		const uint64_t *switches = map_get(&asleep, tid);

		if (map_get(&s->added, tid) && e.switches && e.phase == WAIT_WAITS &&
		    !(switches && *switches == e.switches))
			(void)!map_put(&s->doubted, tid, 1);
	}
	map_fini(&asleep);
	map_clear(&s->added);
}

static int read_blocked(struct sampler *s, const pid_vec *tgids, struct reading *reading)
{
	int wanted = 0, r = 0;

	for (size_t i = 0; r >= 0 && i < tgids->n; i++) {
		r = want_python(s, tgids->v[i]);
		wanted |= r > 0;
	}
	if (r >= 0 && wanted) {
		r = tasks_read(s->tasks, note_polled, reading);
		r = r ? r : tasks_read(s->tasks, take, reading);
		tasks_forget_polled(s->tasks);
		doubt(s);
	}
	for (size_t i = 0; wanted && i < tgids->n; i++)
		(void)!tasks_want(s->tasks, tgids->v[i], false);
	return MIN(r, 0);
}

/*
 * Returns by how much the scheduler's clock is behind CLOCK_MONOTONIC, computed from entries of map
 * `waits` that the kernel program made; 0: there are no such entries.
 */
static uint64_t clock_behind(const struct sampler *s)
{
	struct wait_entry e;
	unsigned n = 0;
	uint32_t tid;

	while (waits_next(s, &tid, &n, &e))
		if (e.clock_ns && e.left_ns)
			return e.left_ns - e.clock_ns;
	return 0;
}

int sampler_blocked(struct sampler *s, const pid_vec *tgids, const struct sampler_blocked *to)
{
	struct reading reading = {s, to};
	pid_vec all = {};
	int r;

	if (!s->tasks)
		return 0;
	s->clock_behind_ns = tgids ? clock_behind(s) : 0;
	r = tgids ? 0 : find_pythons(s, &all);
	r = r ? r : read_blocked(s, tgids ? tgids : &all, &reading);
	vec_fini(&all);
	return r;
}

bool sampler_reads_blocked(const struct sampler *s)
{
	return s->tasks;
}

bool sampler_still_waits(const struct sampler *s, const struct rec_task *task, uint64_t since_ns)
{
	uint64_t now_ns;

	return lacks_stack(s, task, UINT64_MAX, &now_ns) && now_ns == since_ns;
}

bool sampler_several(struct sampler *s, uint32_t tgid, struct proc_several *ret)
{
	return !bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.several), &tgid, ret) &&
	       ret->n <= ABI_INTERPRETERS;
}

/*
 * Returns when the thread began to wait. If the time isn't known, or sampling has just begun,
 * returns when sampling began.
 */
static uint64_t wait_since(const struct sampler *s, const struct rec_task *task)
{
	uint64_t began_ns = s->skel->bss->began_ns;

	if (!task->off_ns || !s->clock_behind_ns)
		return began_ns;
	return MAX(began_ns, task->off_ns + s->clock_behind_ns);
}

int sampler_add_wait(struct sampler *s, const struct rec_task *task,
		     const struct rec_sample *sample)
{
	uint64_t since_ns = wait_since(s, task);
	struct counted c = {};
	int r;
	struct wait_entry e = {.start_ns = task->start_ns,
			       .delay_ns = task->run_delay,
			       .delay_begin_ns = task->run_delay,
			       .made_before = true,
			       .switches = task->switches,
			       .times = WAIT_ONE,
			       .phase = WAIT_WAITS,
			       .site = WAIT_SITES - 1, /* no other wait's */
			       .sites[WAIT_SITES - 1].site = 1,
			       .call = task->call,
			       .futex = task->call == SYS_futex ? task->arg[0] : 0};

	if (counted_read(sample, &c)) {
		e.left_ns = since_ns;
		e.cpu_ns = c.cpu_ns;
	}
	e.begin_ns = -(e.cpu_ns + e.delay_ns);
	e.wait = (struct rec_wait){.sample = *sample,
				   .since_ns = since_ns,
				   .times = WAIT_ONE,
				   .arg = {task->arg[0], task->arg[1]},
				   .call = task->call,
				   .state = (uint16_t)task->state,
				   .fd = task->fd,
				   .flags = task->wait_flags,
				   .on = task->on};
	e.wait.sample.type = REC_WAIT;
	e.wait.sample.source = (uint8_t)waits_source(s);
	r = waits_put(s, task->host_tid, &e);
	if (r)
		return r;
	return map_put(&s->added, task->host_tid, 1);
}

bool blocked_is_doubted(const struct sampler *s, uint32_t host_tid, const struct wait_entry *e)
{
	return e->switches && e->phase == WAIT_WAITS && map_get(&s->doubted, host_tid);
}
