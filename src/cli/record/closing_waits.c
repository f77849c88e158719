/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing lines about waits: how long threads waited, and what for. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "cli/record/closing_lines.h"

#define STATES_NAMED 3

static double budget_percent(const struct session *s)
{
	uint32_t ppm = s->options->wait_budget_ppm;

	return ppm ? ppm / 10000.0 : 1;
}

static int longer_first(const void *a, const void *b)
{
	const struct collect_waited *x = a, *y = b;

	return x->ns < y->ns ? 1 : -(x->ns > y->ns);
}

static void add_sum(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	_cleanup_str_ struct str most = {}, open = {};
	struct collect_waited waited[COLLECT_STATES];
	unsigned n = st->n_waited;
	uint64_t sum = 0;

	memcpy(waited, st->waited, sizeof(waited));
	qsort(waited, n, sizeof(*waited), longer_first);
	for (unsigned i = 0; i < n; i++) {
		sum += waited[i].ns;
		if (i < STATES_NAMED)
			str_addf(&most, "%s%s %.1f s", i ? ", " : "", waited[i].state,
				 summary_seconds(waited[i].ns));
	}
	if (st->open_waits)
		str_addf(&open, "; %llu of them still waited at the end, for %.1f s",
			 (ull)st->open_waits, summary_seconds(st->open_ns));
	if (n)
		closing_line(c, LOG_NOTE, "threads waited %.1f s in all: %s%s%s",
			     summary_seconds(sum), str_cstr(&most), n > STATES_NAMED ? ", ..." : "",
			     str_cstr(&open));
}

/*
 * Two sums of waits disagree if they differ by more than APART_PERCENT, and by more than
 * APART_THREAD_NS for each thread. A smaller difference may come from switches whose times are
 * inexact.
 */
#define APART_PERCENT	0.1
#define APART_THREAD_NS 20000

/*
 * Adds a line that says whether the recorded waits, in sum, agree with the kernel's own accounting
 * of the threads.
 */
static void add_check(struct closing *c)
{
	const struct collect_accounts *a = &c->m->collect.accounts;
	uint64_t apart = a->switches_ns > a->kernel_ns ? a->switches_ns - a->kernel_ns
						       : a->kernel_ns - a->switches_ns;
	double percent = summary_percent(apart, a->kernel_ns);

	if (!a->threads)
		return;
	closing_note(c, percent > APART_PERCENT && apart > a->threads * APART_THREAD_NS,
		     "the waits of %llu threads add up to %.3f s as krait measured them, and to "
		     "%.3f s in the kernel's own accounting: they differ by %.3f %%",
		     (ull)a->threads, summary_seconds(a->switches_ns),
		     summary_seconds(a->kernel_ns), percent);
}

#define MATTERS_PERCENT	  10.0
#define THROTTLED_PERCENT 1.0

/*
 * Adds a line for each control group that its CPU quota throttled. The line also says how long the
 * group's threads were ready to run, and how much of this time may be due to the quota.
 */
static void add_throttled(const struct session *s, struct closing *c)
{
	vec_foreach(t, &s->throttled) {
		size_t threads;
		uint64_t ready;

		/* checked first, because session_throttle_ready() goes through the whole profile */
		if (summary_percent(t->ns, c->m->wall_ns) < THROTTLED_PERCENT)
			continue;
		ready = session_throttle_ready(s, t->path, &threads);
		if (!ready)
			continue;
		closing_note(c, true,
			     "control group %s had used up its CPU quota for %.1f s (all CPUs "
			     "together); its threads were ready to run for %.1f s, of which up to "
			     "%.0f %% are due to that",
			     t->path, summary_seconds(t->ns), summary_seconds(ready),
			     MIN(100.0, summary_percent((double)t->ns * threads, ready)));
	}
}

/*
 * Adds a line about how long threads were ready to run but had no CPU, if that is a considerable
 * part of their time.
 */
static void add_ready(const struct session *s, struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	const struct event *cpu = session_events_cpu(&s->events);
	double ready = summary_seconds(st->accounts.ready_ns);
	double stolen = summary_seconds(st->accounts.stolen_ns);
	double ran = cpu ? summary_seconds(st->sources[cpu - s->events.v].weight)
			 : summary_seconds(c->m->wall_ns);

	if (access("/proc/self/schedstat", F_OK)) {
		closing_note(
			c, true,
			"this kernel doesn't count how long threads are ready to run without "
			"a CPU (CONFIG_SCHED_INFO): that time counts as waiting, or is missing");
		return;
	}
	closing_note(c, summary_percent(ready, ready + ran) > MATTERS_PERCENT,
		     "threads were ready to run for %.1f s, but had no CPU%s", ready,
		     cpu && ready > ran ? ": longer than they ran" : "");
	add_throttled(s, c);
	if (stolen)
		closing_note(c, summary_percent(stolen, stolen + ran) > MATTERS_PERCENT,
			     "for %.2f s threads had a CPU, but the machine's host or an interrupt "
			     "used it",
			     stolen);
}

/*
 * When the recording began, some threads waited already. Adds lines that say for how many of them
 * that first wait is missing.
 */
static void add_unread(const struct session *s, struct closing *c)
{
	const struct session_unread *u = &s->unread;

	if (u->all)
		closing_line(c, LOG_WARN,
			     "waits that had begun before the recording are missing: threads "
			     "couldn't be read; -v says why");
	if (u->late)
		closing_line(c, LOG_WARN,
			     "%u thread%s waited already when the recording began, and that wait "
			     "is missing: reading all would have taken too long",
			     u->late, u->late == 1 ? "" : "s");
	if (u->full)
		closing_line(c, LOG_WARN,
			     "%u thread%s waited already when the recording began, and that wait "
			     "is missing: the kernel's table had no room",
			     u->full, u->full == 1 ? "" : "s");
}

void closing_add_waits(const struct session *s, struct closing *c)
{
	uint64_t all = c->m->kernel.counters[COUNT_WAITS];
	uint64_t left = MIN(all, c->m->kernel.counters[COUNT_WAITS_LEFT]);
	uint64_t unseen = c->m->kernel.counters[COUNT_WAIT_UNSEEN];

	if (!session_events_wait(&s->events))
		return;
	add_sum(c);
	add_unread(s, c);
	if (unseen)
		closing_note(c, false,
			     "the kernel didn't report the end of %llu wait%s; how long %s was "
			     "computed from the threads' CPU time",
			     (ull)unseen, unseen == 1 ? "" : "s",
			     unseen == 1 ? "it lasted" : "they lasted");
	if (left)
		closing_note(
			c, true,
			"the total time that threads waited is exact, but where they waited is "
			"an estimate: stacks were taken for %.1f %% of %llu waits, chosen at "
			"random; stacks of all waits would cost more than %g %% of a CPU "
			"(--wait-budget)",
			summary_percent(all - left, all), (ull)all, budget_percent(s));
	add_ready(s, c);
	add_check(c);
}
