/* SPDX-License-Identifier: BSD-2-Clause */
/* Says in words how long the processes of a recording didn't run; see cpu_words.h. */
#include "view/lede/cpu_words.h"

#include "profile/cpu_use.h"

/* if the processes used less than this much of one CPU, the report says so first */
#define LITTLE 0.5
/* if the processes used less than this much of one CPU, the report names no function */
#define HARDLY	   0.1
#define WORTH_WORD 0.05 /* a share of the time that is smaller than this isn't mentioned */

/*
 * A process is named if it waited for a CPU for at least STARVED of its time, and at least
 * STARVED_TIMES times as long as the other processes did on average.
 */
#define STARVED	      0.1
#define STARVED_TIMES 2

/* Sums over the comments on CPU use. */
struct uses {
	uint64_t wall_ms, cpu_ms; /* wall time and CPU time of all processes together */
	unsigned processes;
	/*
	 * .told: how many processes have a comment; .main: for how many of these the main thread's
	 * times are known
	 */
	unsigned told, main;
	struct cpu_use one;	/* the last process for which there is a comment on CPU use */
	struct cpu_use starved; /* the process that has waited longest for a CPU */
	/*
	 * sums over all main threads; of .unknown_ms it isn't known whether the host took the time
	 */
	struct cpu_use sum;
};

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void take_process(struct uses *all, const struct cpu_use *u)
{
	all->told++;
	if (!u->main) {
		all->one = all->main ? all->one : *u;
		return;
	}
	all->sum.wall_ms += u->wall_ms;
	all->sum.ran_ms += u->ran_ms;
	all->sum.queued_ms += u->queued_ms;
	all->sum.waited_ms += u->waited_ms;
	all->sum.unknown_ms += u->unknown_ms;
	if (u->queued_ms > all->starved.queued_ms)
		all->starved = *u;
	all->main++;
	all->one = *u;
}

static void take_all(struct uses *all, struct profile *p)
{
	vec_foreach(text, &profile_meta(p)->comments.list) {
		struct cpu_use u;

		if (!cpu_use_parse(*text, &u))
			continue;
		if (!u.all) {
			take_process(all, &u);
			continue;
		}
		all->wall_ms += u.wall_ms;
		all->cpu_ms += u.cpu_ms;
		all->processes += u.processes;
	}
	all->processes = MAX(all->processes, all->told);
}

static void add_percent(struct str *b, double percent)
{
	if (percent >= 0.05 && percent < 0.95)
		str_addf(b, "%.1f", percent);
	else
		str_addf(b, "%.0f", percent);
}

static void add_share(struct str *b, const char *words, uint64_t part, uint64_t whole)
{
	str_addf(b, "%s ", words);
	add_percent(b, 100 * share(part, whole));
	str_add(b, " %");
}

static void add_starved(struct str *b, const struct uses *all)
{
	const struct cpu_use *u = &all->starved;
	double waited = share(u->queued_ms, u->wall_ms);
	double others = share(all->sum.queued_ms - u->queued_ms, all->sum.wall_ms - u->wall_ms);

	if (all->main < 2 || waited < STARVED || waited < STARVED_TIMES * others)
		return;
	str_addf(b, " (%s, pid %u,", u->name, u->pid);
	add_share(b, "", u->queued_ms, u->wall_ms);
	str_add(b, ")");
}

/* Appends for which shares of their time all main threads together ran and waited. */
static void add_main_threads(struct str *b, const struct uses *all)
{
	const struct cpu_use *sum = &all->sum;

	add_share(b, " ran", sum->ran_ms, sum->wall_ms);
	add_share(b, ", waited for a CPU", sum->queued_ms, sum->wall_ms);
	add_starved(b, all);
	add_share(b, ", for anything else", sum->waited_ms, sum->wall_ms);
	if (share(sum->unknown_ms, sum->wall_ms) < WORTH_WORD)
		return;
	add_share(b, ";", sum->unknown_ms, sum->wall_ms);
	str_add(b, " unknown (waiting, or taken by the machine's host)");
}

/*
 * Tells whether the main thread is the only thread that ran. If so, the main thread's times are
 * also the process's.
 */
static bool is_alone(const struct cpu_use *u)
{
	return u->threads == 1 && u->cpu_ms <= u->ran_ms + u->wall_ms / 200 + 1;
}

static void add_used(struct str *b, const struct uses *all)
{
	double percent = 100.0 * (double)all->cpu_ms / (double)all->wall_ms;

	if (all->processes == 1 && all->told)
		str_add(b, all->one.name);
	else if (all->processes == 1)
		str_add(b, "1 process");
	else
		str_addf(b, "%u processes", all->processes);
	str_add(b, " used ");
	add_percent(b, percent);
	str_add(b, " % of one CPU");
}

static void add_words(struct str *b, const struct uses *all)
{
	if (all->processes == 1 && all->main && is_alone(&all->one)) {
		str_add(b, all->one.name);
		add_main_threads(b, all);
		return;
	}
	add_used(b, all);
	if (!all->main)
		return;
	if (all->processes == 1)
		str_add(b, "; its main thread");
	else if (all->main == all->processes)
		str_add(b, "; on average their main threads");
	else if (all->main == 1)
		str_addf(b, "; the main thread of %s (%u)", all->one.name, all->one.pid);
	else
		str_addf(b, "; on average the main threads of %u of them", all->main);
	add_main_threads(b, all);
}

bool cpu_words_add(struct profile *p, struct str *ret)
{
	struct uses all = {};

	take_all(&all, p);
	if (!all.wall_ms || (double)all.cpu_ms >= LITTLE * (double)all.wall_ms)
		return false;
	add_words(ret, &all);
	return true;
}

bool cpu_words_waits(struct profile *p)
{
	struct uses all = {};

	take_all(&all, p);
	return all.main && (double)all.cpu_ms < HARDLY * (double)all.wall_ms &&
	       all.sum.queued_ms < all.sum.waited_ms + all.sum.unknown_ms;
}
