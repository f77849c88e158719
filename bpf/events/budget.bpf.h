/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the waits whose stacks are taken, so that taking them costs no more than --wait-budget
 * allows (docs/decisions/0023).
 */
#ifndef BPF_EVENTS_BUDGET_H
#define BPF_EVENTS_BUDGET_H

#include "gil_time.bpf.h"
#include "process/waiting.bpf.h"

/*
 * How much of one CPU's time taking stacks of waits may cost, in millionths. User space sets this
 * limit, and changes it during the recording.
 */
__u32 wait_budget_ppm = 10000;

/*
 * If waits at a site (a system call with the descriptor or lock that it waits for) take this long
 * or longer on average, all their stacks are taken. Otherwise each stack is taken with the chance
 * average / wait_period_ns.
 */
__u64 wait_period_ns;
/*
 * wait_adjusted_ns: when wait_period_ns was last changed. wait_spent_ns: the time that taking
 * stacks has taken since then.
 */
__u64 wait_adjusted_ns, wait_spent_ns;
/*
 * How far the budget is overdrawn by bursts: time spent beyond the budget while all stacks were
 * taken, minus time of the budget that wasn't used later. The budget may be overdrawn by at most
 * the budget of BURST_S seconds. So a short burst of waits, such as a program's start, is recorded
 * whole.
 */
__u64 wait_burst_ns;
#define BURST_S	  10

#define ADJUST_NS (1 << 24) /* changes of wait_period_ns are at least this far apart: 17 ms */
/* after this time wait_period_ns is changed, however little time was spent: 134 ms */
#define ADJUST_MOST (1 << 27)
/* if taking stacks has taken this much time, wait_period_ns is changed before ADJUST_MOST */
#define ADJUST_LEAST (32 * STACK_NS)
/* a wait_period_ns below this becomes 0: the stacks of all waits are taken */
#define PERIOD_LEAST 1000
#define PERIOD_MOST  1000000000
#define FASTER	     16 /* wait_period_ns grows at most by this factor at once */
#define TIMES_MOST   (1024 * WAIT_ONE)
/*
 * A stack counts as at least this much time. Taking it takes less, but user space also handles,
 * keeps and writes its record. So at the default budget records of waits are at most about 50 kB a
 * second.
 */
#define STACK_NS 50000

/* Counts that taking a stack took @ns. */
walk_inline void spend(__u64 ns)
{
	__sync_fetch_and_add(&wait_spent_ns, ns > STACK_NS ? ns : STACK_NS);
}

/*
 * Tells whether the budget may be overdrawn by another @ns, so that no stack is left out. If so,
 * counts this time as spent.
 */
walk_inline bool use_burst(__u64 ns)
{
	if (wait_burst_ns + ns > (__u64)wait_budget_ppm * (1000 * BURST_S))
		return false;
	wait_burst_ns += ns;
	return true;
}

/* Notes that @ns of the budget were left over. */
walk_inline void restore_burst(__u64 ns)
{
	wait_burst_ns -= ns < wait_burst_ns ? ns : wait_burst_ns;
}

/*
 * Changes wait_period_ns so that taking stacks keeps to wait_budget_ppm. If several CPUs change the
 * period at the same time, a part of wait_spent_ns may be lost.
 */
walk_inline void adjust_period(__u64 now)
{
	__u64 ns = now - wait_adjusted_ns, spent = wait_spent_ns, allowed, period = wait_period_ns;

	/* @ns is negative if another CPU changed the period after this CPU had read the clock. */
	if ((__s64)ns < ADJUST_NS || (ns < ADJUST_MOST && spent < ADJUST_LEAST))
		return;
	wait_adjusted_ns = now;
	wait_spent_ns = 0;
	allowed = (ns >> 10) * wait_budget_ppm / 977 + 1; /* 2^10 x 977 is a million */
	if (spent < allowed)
		restore_burst(allowed - spent);
	else if (!period && use_burst(spent - allowed))
		return;
	if (spent > FASTER * allowed)
		spent = FASTER * allowed;
	if (spent < allowed / 2)
		spent = allowed / 2;
	if (period < PERIOD_LEAST)
		period = spent > allowed ? PERIOD_LEAST : 0;
	period = period * ((spent << 10) / allowed) >> 10;
	if (period > PERIOD_MOST)
		period = PERIOD_MOST;
	wait_period_ns = period < PERIOD_LEAST ? 0 : period;
}

/* if a system call's first argument is below this, it may be a descriptor (fs.nr_open) */
#define DESCRIPTORS (1 << 20)

/*
 * Finds the entry of the wait's site (a system call with the descriptor or lock that it waits for).
 * The low 8 bits of a futex's address don't count. Each site can use either of two entries. If both
 * belong to other sites, it shares one of them.
 */
walk_inline void find_site(struct wait_entry *e, const struct call *call)
{
	__u64 h = (__u32)call->number;
	__u32 site, at;

	if (is_gil_futex(e)) {
		e->site = SITE_GIL;
		return;
	}
	if (call->number == CALL_FUTEX)
		h ^= call->arg[0] >> 8 << 10;
	else if (call->number >= 0 && call->arg[0] < DESCRIPTORS)
		h ^= call->arg[0] << 10;
	h *= 0x9e3779b97f4a7c15ull;
	site = (__u32)(h >> 32) | 1;
	at = (__u32)bounded(h >> 60, WAIT_SITES) ?: 1;
	if (e->sites[at].site && e->sites[at].site != site)
		at = (__u32)bounded(at ^ 1, WAIT_SITES) ?: WAIT_SITES - 1;
	if (!e->sites[at].site)
		e->sites[at].site = site;
	e->site = at;
}

walk_inline __u32 draw_mark(void)
{
	return bpf_get_prandom_u32() & (WAIT_STEP - 1);
}

/*
 * Moves .place of site @s (a system call with what it waits for) on by 1 / @times of a step.
 * Returns how many marks it passes: 0, 1 or, if @times is small, 2. Each step has one mark, at a
 * random place in it. So one of @times waits gets its stack taken, evenly over time, but never in
 * step with the program.
 */
walk_inline __u32 marks_passed(struct wait_site *s, __u64 times)
{
	__u32 from = s->place, to = from + (__u32)((__u64)WAIT_STEP * WAIT_ONE / times), n;

	n = from <= s->mark && s->mark < to;
	if (to >= WAIT_STEP) {
		to -= WAIT_STEP;
		s->mark = draw_mark();
		n += s->mark < to;
	}
	s->place = to;
	return n;
}

/*
 * Returns the average length of the latest waits at site @s (a system call with what it waits for);
 * 0: there was none. The latest waits are those of the present window and of the window before it.
 * A window ends when its waits have taken WAIT_WINDOW_NS together, however long ago the window
 * began. So rare long waits are always part of the average.
 */
walk_inline __u64 average_of(const struct wait_site *s)
{
	__u64 n = (__u64)s->recent + s->before;

	return n ? (s->recent_ns + s->before_ns) / n + 1 : 0;
}

/* Counts a wait of @ns at site @s (a system call with what it waits for). */
walk_inline void count_length(struct wait_site *s, __u64 ns)
{
	s->recent++;
	s->recent_ns += ns;
	if (s->recent_ns < WAIT_WINDOW_NS)
		return;
	s->before = s->recent;
	s->before_ns = s->recent_ns;
	s->recent = 0;
	s->recent_ns = 0;
}

/*
 * Chooses whether the stack of this wait is taken, and sets e->times, the number of waits that its
 * record stands for; 0: the stack isn't taken. Until a stack of the thread has been taken, each of
 * its waits is chosen.
 */
walk_inline bool is_chosen(struct wait_entry *e)
{
	struct wait_site *s = &e->sites[bounded(e->site, WAIT_SITES)];
	__u64 period = wait_period_ns, average = average_of(s), times = WAIT_ONE;

	if (e->wait.sample.type == REC_WAIT && average && average < period)
		times = (period << 10) / average;
	if (times > TIMES_MOST)
		times = TIMES_MOST;
	if (times == WAIT_ONE) {
		s->place = 0;
		s->mark = draw_mark();
		e->times = WAIT_ONE;
	} else {
		e->times = (__u32)times * marks_passed(s, times);
	}
	return e->times != 0;
}

/* Called when a long wait is over: makes the wait's record stand for this wait alone. */
walk_inline void stand_alone(struct wait_entry *e)
{
	e->wait.times = WAIT_ONE;
	if (e->times || e->wait.sample.type != REC_WAIT)
		return;
	e->times = WAIT_ONE;
	e->wait.cost_ns = 0;
	e->wait.site = e->site;
	e->wait.flags |= WAIT_LEFT;
	e->wait.waker.tid = 0;
}

#endif
