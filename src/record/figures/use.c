/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out how much of the recording's time its processes ran and how much they waited. Samples
 * come only while a process runs, so the kernel's own counts are read at the recording's beginning
 * and at its end. If a process was reaped by its parent before the end, only its samples are known.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/map.h"
#include "proc/proc.h"
#include "profile/cpu_use.h"
#include "record/session.h"
#include "record/command/signals.h"

/*
 * If a thread is ready to run, its times are read again until it has run, but for no longer than
 * this many ms.
 */
#define WHOLE_MS 20

/*
 * Two counts are updated only at the kernel's ticks (at least 100 a second): CPU time that the host
 * took, and CPU time of a running thread.
 */
#define TICK_NS (10 * NSEC_PER_MSEC)

/* krait dump is suggested for a process that waits for at least 1/WORTH_LOOKING of the time */
#define WORTH_LOOKING 10

/* the most processes whose times the recording lists; a machine may have thousands */
#define TOLD_MOST 64

void session_use_add(struct session *s, pid_t pid)
{
	struct session_use u = {.pid = pid};

	if (s->tells_use)
		(void)!vec_push(&s->uses.all, u);
}

/*
 * Reads again the times of processes that still exist, where they were incomplete. Returns true if
 * some times are still incomplete.
 */
static bool read_again(struct session *s)
{
	bool left = false;

	vec_foreach(u, &s->uses.all)
		if (u->first.at_ns && !u->first.whole && !run_time_again(u->pid, &u->first))
			left |= !u->first.whole;
	return left;
}

void session_use_begin(struct session *s)
{
	vec_foreach(u, &s->uses.all)
		if (run_time_read(u->pid, &u->first))
			u->first = (struct run_time){};
	for (int ms = 0; ms < WHOLE_MS && read_again(s); ms++)
		usleep(1000);
	s->uses.taken = run_time_taken(&s->uses.taken_ns);
}

static void read_last(struct session_use *u)
{
	struct run_time t;

	if (u->last.at_ns || run_time_read(u->pid, &t) || t.start_ns != u->first.start_ns)
		return;
	for (int ms = 0; !t.whole && ms < WHOLE_MS; ms++) {
		usleep(1000);
		if (run_time_again(u->pid, &t))
			break;
	}
	u->last = t;
}

static struct session_use *find(struct session *s, pid_t pid)
{
	vec_foreach(u, &s->uses.all)
		if (u->pid == pid)
			return u;
	return NULL;
}

void session_use_exit(struct session *s, pid_t pid, uint64_t time_ns)
{
	struct session_use *u = find(s, pid);

	if (u)
		u->exited_ns = time_ns;
}

void session_use_ended(struct session *s, pid_t pid)
{
	struct session_use *u = find(s, pid);

	if (u)
		read_last(u);
}

static pid_t pid_of(const struct profile *p, uint32_t set)
{
	const char *pid = profile_label_text(p, set, "pid");

	return pid ? (pid_t)strtol(pid, NULL, 10) : 0;
}

/*
 * Adds a process that krait first heard of during the recording, if the process also began during
 * it.
 */
static void add_new(struct session *s, pid_t pid)
{
	struct session_use u = {.pid = pid};
	uint64_t ago_ns = clock_ns(CLOCK_MONOTONIC) - s->start_ns;
	uint64_t began_ns = clock_ns(CLOCK_BOOTTIME) - ago_ns;

	if (run_time_read(pid, &u.first) || u.first.start_ns < began_ns)
		return;
	/*
	 * the process began during the recording, so its first times are those of its beginning:
	 * none were used
	 */
	u.first = (struct run_time){.at_ns = s->start_ns + (u.first.start_ns - began_ns),
				    .start_ns = u.first.start_ns,
				    .runs = 1,
				    .whole = true};
	(void)!vec_push(&s->uses.all, u);
}

void session_use_end(struct session *s)
{
	uint64_t taken_ns = 0;

	if (!s->tells_use)
		return;
	for (uint32_t set = 1; set <= profile_n_labels(s->profile); set++) {
		pid_t pid = pid_of(s->profile, set);

		if (pid > 0 && !find(s, pid))
			add_new(s, pid);
	}
	vec_foreach(u, &s->uses.all)
		read_last(u);
	s->uses.taken &= run_time_taken(&taken_ns);
	s->uses.taken_ns = taken_ns - MIN(s->uses.taken_ns, taken_ns);
}

static uint64_t ms(uint64_t ns)
{
	return (ns + NSEC_PER_MSEC / 2) / NSEC_PER_MSEC;
}

static uint64_t since(uint64_t first, uint64_t last)
{
	return last - MIN(first, last);
}

static void split(const struct session *s, const struct session_use *u, struct cpu_use *ret)
{
	/*
	 * Two counts are updated only at the kernel's ticks: CPU time that the host took, and CPU
	 * time of a running thread.
	 */
	uint64_t slack = (s->uses.taken_ns ? TICK_NS : 0) + (u->last.state == 'R' ? TICK_NS : 0) +
			 (u->first.state == 'R' ? TICK_NS : 0);

	ret->ran_ms = ms(since(u->first.ran_ns, u->last.ran_ns));
	ret->queued_ms = ms(since(u->first.queued_ns, u->last.queued_ns));
	/* a thread that never got a CPU hasn't lost any time to the host */
	cpu_use_split(ret, u->last.runs == u->first.runs && u->last.state != 'R'
				   ? 0
				   : ms(s->uses.taken_ns + slack));
}

/*
 * Returns when the main thread ended. perf's report of it has the exact time, but may be lost.
 * krait itself notices the end a little later.
 */
static uint64_t end_of(const struct session_use *u)
{
	return u->exited_ns && u->last.state == 'Z' ? MIN(u->exited_ns, u->last.at_ns)
						    : u->last.at_ns;
}

/*
 * Are the counts at the beginning and at the end those of the same thread? If another thread calls
 * exec, it takes over the main thread's number.
 */
static bool knows_main(const struct session *s, const struct session_use *u)
{
	return s->uses.taken && u->first.whole && u->last.whole && u->first.runs &&
	       u->last.runs >= u->first.runs && u->last.ran_ns >= u->first.ran_ns &&
	       (!u->exited_ns || u->last.state == 'Z');
}

static bool measure(const struct session *s, const struct session_use *u, const char *name,
		    struct cpu_use *ret)
{
	*ret = (struct cpu_use){.pid = (uint32_t)u->pid, .name = name};
	if (!u->last.at_ns)
		return false;
	ret->wall_ms = ms(since(u->first.at_ns, end_of(u)));
	ret->cpu_ms = ms(since(u->first.cpu_ns, u->last.cpu_ns));
	ret->threads = u->last.threads;
	if (ret->wall_ms && knows_main(s, u))
		split(s, u, ret);
	return ret->wall_ms > 0;
}

/* The processes with samples, by pid, and sums over those processes whose times are known. */
struct told {
	struct map names; /* pid -> value of the label `process`, a string of the profile */
	unsigned known;
	uint64_t cpu_ms; /* CPU time of all processes with known times together */
};

static void tell(struct session *s, struct told *t, const struct cpu_use *u)
{
	_cleanup_str_ struct str text = {};

	t->known++;
	t->cpu_ms += u->cpu_ms;
	if (t->known > TOLD_MOST)
		return;
	cpu_use_print(u, &text);
	profile_add_comment(s->profile, CPU_USE, str_cstr(&text));
}

static void tell_process(struct session *s, struct told *t, struct session_use *u)
{
	const uint64_t *label = map_get(&t->names, (uint64_t)u->pid);
	_cleanup_proc_ struct proc p = PROC_INIT;
	_cleanup_free_ char *name = NULL;
	struct cpu_use use;

	/*
	 * A process without samples is listed only if the user asked for it by pid. The command
	 * isn't listed without samples, because it may be any program that starts Python.
	 */
	if (!label && (s->options->cmd || !s->options->pids.n))
		return;
	if (!label && (proc_open(&p, u->pid) || proc_name(&p, &name)))
		return;
	if (!measure(s, u, label ? profile_get_string(s->profile, (uint32_t)*label) : name, &use))
		return;
	if (!label && map_put(&t->names, (uint64_t)u->pid, 0))
		return;
	u->waits = !use.main || use.waited_ms * WORTH_LOOKING >= use.wall_ms;
	tell(s, t, &use);
}

static void find_names(struct session *s, struct told *t)
{
	for (uint32_t set = 1; set <= profile_n_labels(s->profile); set++) {
		pid_t pid = pid_of(s->profile, set);

		if (pid > 0)
			(void)!map_put(&t->names, (uint64_t)pid,
				       profile_label_value(s->profile, set, "process"));
	}
}

/*
 * Adds the figures of all processes together. If the samples stand for more CPU time than known
 * processes have used, the samples' time is taken, because some samples are of processes that are
 * gone.
 */
static void tell_all(struct session *s, const struct told *t, uint64_t sampled_ns)
{
	struct cpu_use all = {.all = true,
			      .wall_ms = ms(s->end_ns - s->start_ns),
			      .cpu_ms = MAX(t->cpu_ms, ms(sampled_ns)),
			      .processes = (uint32_t)t->names.n};
	_cleanup_str_ struct str text = {};

	if (!all.wall_ms || !all.processes || (!sampled_ns && t->known < t->names.n))
		return;
	cpu_use_print(&all, &text);
	profile_add_comment(s->profile, CPU_USE, str_cstr(&text));
}

void session_use_tell(struct session *s, uint64_t sampled_ns)
{
	struct told t = {};

	/*
	 * after condensing, all processes that ended count as a single one; windows (parts of the
	 * recording) that were handed over have taken the samples of some processes with them
	 */
	if (!s->tells_use || s->condensed || s->windows)
		return;
	find_names(s, &t);
	vec_foreach(u, &s->uses.all)
		tell_process(s, &t, u);
	tell_all(s, &t, sampled_ns);
	map_fini(&t.names);
}

/*
 * Returns the process for which krait dump shows where all targets wait: the command, or the only
 * process that was asked for by pid. (krait dump also shows its children.) 0: there is no such
 * process.
 */
static pid_t first_of(const struct session *s)
{
	return s->options->cmd ? s->spawn.pid : s->options->pids.n == 1 ? s->options->pids.v[0] : 0;
}

static bool lives(pid_t pid)
{
	_cleanup_proc_ struct proc p = PROC_INIT;

	return !proc_open(&p, pid) && !proc_has_ended(&p);
}

pid_t session_use_living(struct session *s)
{
	pid_t only = 0, first = first_of(s);
	unsigned n = 0;

	/* the signal that stopped krait has also told the command to end */
	if (s->options->cmd && signals_stop())
		return 0;
	vec_foreach(u, &s->uses.all) {
		if (!u->waits || !lives(u->pid))
			continue;
		only = u->pid;
		n++;
	}
	return n == 1 ? only : n && first && lives(first) ? first : 0;
}
