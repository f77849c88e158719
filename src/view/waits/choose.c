/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the group of threads whose waits a report is about; see threads.h. */
#include "view/waits/threads.h"

uint32_t waits_top(const struct waits *w, uint32_t group, uint32_t after, int64_t *ns)
{
	uint32_t best = 0;

	*ns = 0;
	map_foreach(slot, &w->states) {
		uint32_t state = (uint32_t)slot->key;
		int64_t sum = (int64_t)slot->value;

		if (slot->key >> 32 != group || state == after || sum < *ns ||
		    (sum == *ns && state < best))
			continue;
		best = state;
		*ns = sum;
	}
	return best;
}

/*
 * Returns how long a group ran or waited, not counting waits for a time or for whatever event comes
 * next (.passive).
 */
static int64_t busy(const struct waits_group *g)
{
	return waits_whole(g) - g->passive;
}

/*
 * Returns the group, other than @but, that was busy for the longest time. With @main only groups of
 * main threads are considered.
 */
static uint32_t busiest(const struct waits *w, bool main, uint32_t but)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < w->groups.n; i++) {
		const struct waits_group *g = &w->groups.v[i], *b;

		if (i == but || (main && !g->main))
			continue;
		b = best == UINT32_MAX ? NULL : &w->groups.v[best];
		if (!b || busy(g) > busy(b) ||
		    (busy(g) == busy(b) && waits_whole(g) > waits_whole(b)))
			best = i;
	}
	return best;
}

/* Tells whether the group mostly waited for work, for a time, or for other threads. */
static bool waits_for_others(const struct waits *w, uint32_t group)
{
	const struct waits_group *g = &w->groups.v[group];
	const struct waits_word *word;
	int64_t top;
	uint32_t state = waits_top(w, group, WAITS_ANY, &top);

	word = waits_word(profile_get_string(w->c->p, state));
	return g->idle > waits_whole(g) || (word && word->others && top >= waits_whole(g) / 2);
}

/*
 * a group of threads counts only if it ran for at least 1/COUNTS of the time for which the thread
 * with the most time ran and waited
 */
#define COUNTS 100

bool waits_only_idle(const struct waits_group *g)
{
	return g->idle / 10 > waits_whole(g);
}

bool waits_others_run(const struct waits *w, uint32_t group)
{
	int64_t longest = 0, cpu = 0;

	for (uint32_t i = 0; i < w->groups.n; i++) {
		longest = MAX(longest, w->groups.v[i].longest);
		if (i != group)
			cpu = MAX(cpu, w->groups.v[i].cpu);
	}
	return cpu > 0 && cpu >= longest / COUNTS;
}

/*
 * Tells whether group @other is more important to a reader than group @main. That is so if @main
 * had no work for most of its time, which is @all, and @other waited although it had work.
 */
static bool works_more(const struct waits_group *main, const struct waits_group *other, int64_t all)
{
	return main->idle > waits_whole(main) && other->wait && !waits_only_idle(other) &&
	       busy(other) > busy(main) && busy(other) >= waits_whole(other) / 2 &&
	       busy(other) >= all / COUNTS;
}

uint32_t waits_choose(const struct waits *w, uint32_t *ret_main)
{
	uint32_t main = busiest(w, true, UINT32_MAX), other;
	const struct waits_group *g;
	int64_t all;

	*ret_main = main;
	other = busiest(w, false, main);
	if (main == UINT32_MAX || other == UINT32_MAX || !waits_for_others(w, main))
		return main == UINT32_MAX ? other : main;
	g = &w->groups.v[main];
	all = waits_whole(g);
	costs_sum(&all, g->idle);
	if (works_more(g, &w->groups.v[other], all))
		return other;
	/* if other threads do little, the main thread doesn't wait for them */
	return busy(&w->groups.v[other]) >= all / 2 ? other : main;
}
