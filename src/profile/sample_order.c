/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts the samples of a recording that doesn't fit in memory. A first pass over the log of samples
 * counts the samples of each group (10 s of time). Then groups are read, summed and sorted, at a
 * time as many of them as have WINDOW samples together. A group with more samples is read in parts,
 * by ranges of stacks. See sample_order.h.
 */
#include <errno.h>
#include <stdlib.h>
#include "profile/sample_order.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "profile/rank.h"
#include "profile/samplelog.h"
#include "profile/sums.h"
#include "profile/tables.h"

#define BUCKET_NS (10 * (int64_t)NSEC_PER_MSEC)
#define GROUP_NS  (10 * (int64_t)NSEC_PER_SEC)
#define WINDOW	  (1u << 16)

struct group {
	/*
	 * .number: which 10 s of time the group is, from 1, or 0 for samples without a time; .n:
	 * the number of its samples
	 */
	uint64_t number, n;
};

struct sort_key {
	uint64_t group;
	int64_t time_ns;
	uint32_t stack, labels; /* ranks of the sample's stack and label set */
	uint32_t entry;
};

struct sorter {
	struct profile *p;
	enum profile_times times;
	uint32_t *stack_rank, *labels_rank;
	/* ranks of the first and the last stack whose samples are being summed up now */
	uint32_t first_rank, last_rank;
	struct map counts;
	VEC(struct group) groups;
	struct sums sums;
	VEC(struct sort_key) keys;
	/*
	 * by rank of the stack: how many samples with that stack are in the group that is being
	 * read in parts; NULL: no group was read in parts so far
	 */
	uint32_t *per_stack;
	int (*fn)(void *arg, const struct profile_sample *s);
	void *arg;
};

static uint64_t group_of(const struct sorter *s, int64_t time_ns)
{
	return time_ns < 0 || s->times == PROFILE_TIMES_NONE ? 0
							     : (uint64_t)(time_ns / GROUP_NS) + 1;
}

/* group_first_ns() and group_last_ns() return the range of times that a group covers. */
static int64_t group_first_ns(uint64_t group)
{
	return group ? (int64_t)(group - 1) * GROUP_NS : -1;
}

static int64_t group_last_ns(const struct sorter *s, uint64_t group)
{
	int64_t next;

	if (!group)
		return s->times == PROFILE_TIMES_NONE ? INT64_MAX : -1;
	return __builtin_mul_overflow((int64_t)group, GROUP_NS, &next) ? INT64_MAX : next - 1;
}

static int count_group(void *arg, const struct profile_sample *sample)
{
	struct sorter *s = arg;
	uint64_t group = group_of(s, sample->time_ns), *n = map_get(&s->counts, group);

	if (n) {
		++*n;
		return 0;
	}
	return map_put(&s->counts, group, 1) ? err_set(-ENOMEM, "out of memory for sorting samples")
					     : 0;
}

static int by_number(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int find_groups(struct sorter *s)
{
	int r = profile_each(s->p, count_group, s);

	if (r)
		return r;
	map_foreach(slot, &s->counts) {
		if (vec_push(&s->groups, (struct group){slot->key, slot->value}))
			return err_set(-ENOMEM, "out of memory for sorting samples");
	}
	if (s->groups.n)
		qsort(s->groups.v, s->groups.n, sizeof(*s->groups.v), by_number);
	return 0;
}

static int add_to_window(void *arg, const struct profile_sample *sample)
{
	struct sorter *s = arg;
	struct sums_key key = {sample->stack, sample->labels, sample->time_ns};
	uint32_t rank = s->stack_rank[sample->stack];

	if (rank < s->first_rank || rank > s->last_rank)
		return 0;
	if (s->times == PROFILE_TIMES_NONE)
		key.time_ns = -1;
	else if (s->times == PROFILE_TIMES_10MS && key.time_ns >= 0)
		key.time_ns -= key.time_ns % BUCKET_NS;
	return sums_add(&s->sums, &key, sample->values);
}

static int by_key(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->labels != y->labels)
		return x->labels < y->labels ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/*
 * Calls .fn for the sums of samples in the groups from @first to @last whose stacks are between
 * .first_rank and .last_rank.
 */
static int do_window(struct sorter *s, uint64_t first, uint64_t last)
{
	struct profile_sample sample;
	size_t n;
	int r;

	sums_clear(&s->sums);
	r = samplelog_each(profile_log(s->p), group_first_ns(first), group_last_ns(s, last),
			   add_to_window, s);
	n = s->sums.n;
	if (r || !n)
		return r;
	if (vec_reserve(&s->keys, n))
		return err_set(-ENOMEM, "out of memory for sorting samples");
	for (size_t i = 0; i < n; i++) {
		const struct sums_key *e = &sums_at(&s->sums, i)->key;

		s->keys.v[i] = (struct sort_key){group_of(s, e->time_ns), e->time_ns,
						 s->stack_rank[e->stack], s->labels_rank[e->labels],
						 (uint32_t)i};
	}
	qsort(s->keys.v, n, sizeof(*s->keys.v), by_key);
	for (size_t i = 0; i < n && !r; i++) {
		sums_sample(&s->sums, sums_at(&s->sums, s->keys.v[i].entry), &sample);
		r = s->fn(s->arg, &sample);
	}
	return r;
}

static int count_stack(void *arg, const struct profile_sample *sample)
{
	struct sorter *s = arg;

	s->per_stack[s->stack_rank[sample->stack]]++;
	return 0;
}

/*
 * Does what do_window() does, for a group of more than WINDOW samples. The group is done in parts,
 * each with as many stacks as fit.
 */
static int do_parts(struct sorter *s, uint64_t group)
{
	uint32_t n_stacks = (uint32_t)profile_n_stacks(s->p), next;
	int r;

	if (!s->per_stack)
		s->per_stack = calloc((size_t)n_stacks + 1, sizeof(*s->per_stack));
	if (!s->per_stack)
		return err_set(-ENOMEM, "out of memory for sorting samples");
	memset(s->per_stack, 0, ((size_t)n_stacks + 1) * sizeof(*s->per_stack));
	r = samplelog_each(profile_log(s->p), group_first_ns(group), group_last_ns(s, group),
			   count_stack, s);
	for (uint32_t first = 1; first <= n_stacks && !r; first = next) {
		uint64_t n = s->per_stack[first];

		for (next = first + 1; next <= n_stacks && n + s->per_stack[next] <= WINDOW; next++)
			n += s->per_stack[next];
		s->first_rank = first;
		s->last_rank = next - 1;
		if (n)
			r = do_window(s, group, group);
	}
	s->first_rank = 0;
	s->last_rank = UINT32_MAX;
	return r;
}

static int do_all(struct sorter *s)
{
	size_t next;
	int r = find_groups(s);

	for (size_t i = 0; i < s->groups.n && !r; i = next) {
		uint64_t n = s->groups.v[i].n;

		for (next = i + 1; next < s->groups.n && n + s->groups.v[next].n <= WINDOW; next++)
			n += s->groups.v[next].n;
		r = n > WINDOW ? do_parts(s, s->groups.v[i].number)
			       : do_window(s, s->groups.v[i].number, s->groups.v[next - 1].number);
	}
	return r;
}

int profile_each_sum(struct profile *p, enum profile_times times,
		     int (*fn)(void *arg, const struct profile_sample *s), void *arg)
{
	struct sorter s = {.p = p, .times = times, .last_rank = UINT32_MAX, .fn = fn, .arg = arg};
	int r = profile_rank_stacks(p, &s.stack_rank);

	sums_init(&s.sums, profile_meta(p)->n_values);
	map_init(&s.counts);
	if (!r)
		r = profile_rank_labels(p, &s.labels_rank);
	if (!r)
		r = do_all(&s);
	free(s.stack_rank);
	free(s.labels_rank);
	free(s.per_stack);
	vec_fini(&s.groups);
	vec_fini(&s.keys);
	sums_fini(&s.sums);
	map_fini(&s.counts);
	return r;
}
