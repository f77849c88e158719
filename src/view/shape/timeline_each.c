/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands out a profile's samples thread by thread, in order of time; see timeline.h. All samples of
 * the profile are read once for each group of threads whose samples fit into a window. A thread
 * with more samples than a window is handed out in parts of time, and all samples are read once for
 * each part.
 */
#include "view/shape/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "profile/rank.h"
#include "profile/sums.h"

#define WINDOW (1u << 19) /* the most samples in memory at a time, which take 32 MiB */
/* resolution of the times in a file, unless the user asks for exact times */
#define STEP_NS	  (10 * (int64_t)NSEC_PER_MSEC)
#define GROUP_NS  (10 * (int64_t)NSEC_PER_SEC)
#define NO_MEMORY err_set(-ENOMEM, "out of memory for sorting samples by thread")

struct key {
	int64_t time_ns;
	/*
	 * index of the thread, rank of the stack (so that neighbours have most frames in common),
	 * index in .sums
	 */
	uint32_t thread, stack, entry;
};

struct group {
	/*
	 * .number: which 10 s of time the group is, from 1, or 0 for samples without a time; .n:
	 * the number of its samples
	 */
	uint64_t number, n;
};

struct walk {
	struct timeline *t;
	const struct timeline_reader *reader;
	void *arg;
	uint32_t *stack_rank;
	/* numbers of the first and last thread whose samples are in memory now */
	uint32_t first, last;
	struct sums sums;
	VEC(struct key) keys;
	/*
	 * from the number of a group (10 s of time) to the number of samples that a thread has in
	 * the group
	 */
	struct map counts;
	VEC(struct group) groups;
	int64_t gap_ns; /* the most time between two samples of a running thread */
	/*
	 * the run (consecutive samples with the same stack) that is being made; if .has_run, it
	 * wasn't handed out yet
	 */
	struct profile_sample run;
	int64_t run_last_ns;
	bool has_run;
};

static int64_t time_of(const struct walk *w, const struct profile_sample *s)
{
	return w->t->times ? s->time_ns : -1;
}

static uint64_t group_of(int64_t time_ns)
{
	return time_ns < 0 ? 0 : (uint64_t)(time_ns / GROUP_NS) + 1;
}

static bool in_window(const struct walk *w, const struct profile_sample *s)
{
	uint32_t thread = w->t->of_labels[s->labels];

	return thread >= w->first && thread <= w->last;
}

static int add_to_window(void *arg, const struct profile_sample *s)
{
	struct walk *w = arg;
	struct sums_key key = {s->stack, s->labels, time_of(w, s)};

	return in_window(w, s) ? sums_add(&w->sums, &key, s->values) : 0;
}

static int by_key(const void *va, const void *vb)
{
	const struct key *a = va, *b = vb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static int end_run(struct walk *w)
{
	bool has = w->has_run;

	w->has_run = false;
	return has ? w->reader->run(w->arg, &w->run, w->run_last_ns) : 0;
}

static int add_to_run(struct walk *w, const struct sums_entry *e)
{
	const struct sums_key *s = &e->key;
	int r;

	if (w->has_run && !w->reader->every_sample && s->stack == w->run.stack &&
	    (s->time_ns < 0) == (w->run.time_ns < 0) && s->time_ns - w->run_last_ns <= w->gap_ns) {
		sums_values(w->run.values, e->values, w->sums.n_values);
		w->run_last_ns = s->time_ns;
		return 0;
	}
	r = end_run(w);
	sums_sample(&w->sums, e, &w->run);
	w->run_last_ns = s->time_ns;
	w->has_run = true;
	return r;
}

/* Sorts the samples that are in memory now. */
static int sort_window(struct walk *w)
{
	size_t n = w->sums.n;

	if (vec_reserve(&w->keys, n + 1))
		return NO_MEMORY;
	w->keys.n = n;
	for (size_t i = 0; i < n; i++) {
		const struct sums_key *s = &sums_at(&w->sums, i)->key;

		w->keys.v[i] = (struct key){s->time_ns, w->t->of_labels[s->labels],
					    w->stack_rank[s->stack], (uint32_t)i};
	}
	qsort(w->keys.v, n, sizeof(*w->keys.v), by_key);
	return 0;
}

static int fill_window(struct walk *w, int64_t first_ns, int64_t last_ns)
{
	int r;

	sums_clear(&w->sums);
	r = profile_each_between(w->t->p, first_ns, last_ns, add_to_window, w);
	return r ? r : sort_window(w);
}

/* Hands out all samples of the threads @first to @last. */
static int do_threads(struct walk *w)
{
	int r = fill_window(w, -1, INT64_MAX);
	size_t at = 0;

	for (uint32_t i = w->first; i <= w->last && !r; i++) {
		r = w->reader->begin(w->arg, &w->t->threads.v[i]);
		for (; !r && at < w->keys.n && w->keys.v[at].thread == i; at++)
			r = add_to_run(w, sums_at(&w->sums, w->keys.v[at].entry));
		if (!r)
			r = end_run(w);
		if (!r)
			r = w->reader->end(w->arg, &w->t->threads.v[i]);
	}
	return r;
}

static int count_group(void *arg, const struct profile_sample *s)
{
	struct walk *w = arg;
	uint64_t group = group_of(time_of(w, s)), *n = map_get(&w->counts, group);

	if (!in_window(w, s))
		return 0;
	if (n) {
		++*n;
		return 0;
	}
	return map_put(&w->counts, group, 1) ? NO_MEMORY : 0;
}

static int by_number(const void *va, const void *vb)
{
	const struct group *a = va, *b = vb;

	return a->number < b->number ? -1 : a->number > b->number;
}

static int find_groups(struct walk *w)
{
	int r;

	map_clear(&w->counts);
	w->groups.n = 0;
	r = profile_each(w->t->p, count_group, w);
	if (r)
		return r;
	map_foreach(slot, &w->counts) {
		if (vec_push(&w->groups, (struct group){slot->key, slot->value}))
			return NO_MEMORY;
	}
	if (w->groups.n)
		qsort(w->groups.v, w->groups.n, sizeof(*w->groups.v), by_number);
	return 0;
}

/*
 * Hands out the samples of one thread in the groups of time (GROUP_NS each) from @first to @last.
 */
static int do_groups(struct walk *w, uint64_t first, uint64_t last)
{
	int64_t first_ns = first ? (int64_t)(first - 1) * GROUP_NS : -1, last_ns;
	int r;

	if (__builtin_mul_overflow((int64_t)last, GROUP_NS, &last_ns) || !w->t->times)
		last_ns = INT64_MAX;
	else
		last_ns--; /* for group 0, whose samples have no time, last_ns becomes -1 */
	r = fill_window(w, first_ns, last_ns);
	for (size_t i = 0; i < w->keys.n && !r; i++)
		r = add_to_run(w, sums_at(&w->sums, w->keys.v[i].entry));
	return r;
}

/* Hands out, part by part, the samples of a thread that has more samples than WINDOW. */
static int do_parts(struct walk *w)
{
	const struct timeline_thread *thread = &w->t->threads.v[w->first];
	size_t next;
	int r = find_groups(w);

	if (!r)
		r = w->reader->begin(w->arg, thread);
	for (size_t i = 0; i < w->groups.n && !r; i = next) {
		uint64_t n = w->groups.v[i].n;

		for (next = i + 1; next < w->groups.n && n + w->groups.v[next].n <= WINDOW; next++)
			n += w->groups.v[next].n;
		r = do_groups(w, w->groups.v[i].number, w->groups.v[next - 1].number);
	}
	if (!r)
		r = end_run(w);
	return r ? r : w->reader->end(w->arg, thread);
}

static int do_all(struct walk *w)
{
	const struct timeline *t = w->t;
	size_t next;
	int r = 0;

	for (size_t i = 0; i < t->threads.n && !r; i = next) {
		uint64_t n = t->threads.v[i].n;

		for (next = i + 1; next < t->threads.n && n + t->threads.v[next].n <= WINDOW;
		     next++)
			n += t->threads.v[next].n;
		w->first = (uint32_t)i;
		w->last = (uint32_t)next - 1;
		r = n > WINDOW ? do_parts(w) : do_threads(w);
	}
	return r;
}

/*
 * Returns the longest time between two samples of a run. Samples of a running thread come once in
 * each period, and their times are exact or in steps of 10 ms. So one and a half times the period,
 * or times 10 ms if that is longer, is enough.
 */
static int64_t gap(struct profile *p)
{
	const struct profile_meta *m = profile_meta(p);
	const char *unit = m->period_type.unit;
	int64_t period_ns = unit && streq(unit, "nanoseconds") ? m->period : 0;

	return MIN(MAX(period_ns, STEP_NS), INT64_MAX / 2) / 2 * 3;
}

int timeline_each(struct timeline *t, const struct timeline_reader *reader, void *arg)
{
	struct walk w = {.t = t, .reader = reader, .arg = arg, .gap_ns = gap(t->p)};
	int r = profile_rank_stacks(t->p, &w.stack_rank);

	sums_init(&w.sums, profile_meta(t->p)->n_values);
	map_init(&w.counts);
	if (!r)
		r = do_all(&w);
	free(w.stack_rank);
	sums_fini(&w.sums);
	map_fini(&w.counts);
	vec_fini(&w.keys);
	vec_fini(&w.groups);
	return r;
}
