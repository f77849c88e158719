/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whether a report names the garbage collector first, and finds out which code makes the
 * collector run; see costs.h.
 */
#include <errno.h>

#include "view/lede/lede.h"

struct callers {
	const struct costs *c;
	struct map of; /* from caller_key() to 1 + index in .sums */
	VEC(int64_t) sums;
	int64_t most;
	uint32_t best;
};

/*
 * Returns the location that made the collector run: the innermost function of the user's code that
 * called the collector, otherwise the innermost Python function that did; 0 if it wasn't called
 * from Python.
 */
static uint32_t who_collects(const struct costs *c, uint32_t stack)
{
	size_t n = 0, i;
	const uint32_t *frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	uint32_t any = 0;

	/*
	 * begins at the outermost frame of the collector, because a finalizer may start another
	 * collection
	 */
	for (i = n; i > 0; i--)
		if (costs_kind(c, costs_frame(c, frames, n, i - 1)) == KIND_GC)
			break;
	for (; i < n; i++) {
		uint32_t frame = costs_frame(c, frames, n, i);

		if (!costs_is_python(c, frame))
			continue;
		if (costs_is_own(c, frame))
			return frame;
		any = any ?: frame;
	}
	return any;
}

static int add_caller(struct callers *callers, uint32_t location, bool by_line, int64_t value)
{
	const struct costs *c = callers->c;
	uint32_t line = by_line ? (uint32_t)profile_get_location(c->p, location)->line : 0;
	uint64_t key = (uint64_t)c->keys.of[location] << 32 | line,
		 *at = map_get(&callers->of, key);
	int64_t *sum;

	if (!at && (map_put(&callers->of, key, callers->sums.n) || vec_push(&callers->sums, 0)))
		return -ENOMEM;
	sum = &callers->sums.v[at ? *at : callers->sums.n - 1];
	costs_sum(sum, value);
	if (*sum > callers->most) {
		callers->most = *sum;
		callers->best = location;
	}
	return 0;
}

/*
 * Finds the line (without @by_line, the function) whose calls of the collector took more than half
 * of @all; *ret is 0 if there is none.
 */
static int find_caller(const struct costs *c, const struct profile_sum *sums, size_t n,
		       unsigned value, bool by_line, int64_t all, uint32_t *ret)
{
	struct callers callers = {.c = c};
	int r = 0;

	map_init(&callers.of);
	for (size_t i = 0; i < n && !r; i++) {
		uint32_t location = sums[i].values[value] > 0 && costs_is_gc(c, sums[i].stack)
					    ? who_collects(c, sums[i].stack)
					    : 0;

		if (location)
			r = add_caller(&callers, location, by_line, sums[i].values[value]);
	}
	*ret = callers.most > all / 2 ? callers.best : 0;
	map_fini(&callers.of);
	vec_fini(&callers.sums);
	return r;
}

/* a function with more than this percentage of all time isn't worth naming as a cause */
#define NEARLY_ALL 80

/*
 * A function of the user's own code that calls the collector, directly or through other functions.
 */
struct around {
	/*
	 * .sum: value of all stacks that contain the function; .gc: value of those among them that
	 * also contain the collector
	 */
	int64_t sum, gc;
	size_t last; /* number, from 1, of the last stack in which the function was found */
	uint32_t location;
};

struct arounds {
	const struct costs *c;
	struct map of; /* key of a function -> index in .list */
	VEC(struct around) list;
};

static int add_around(struct arounds *a, uint32_t location, size_t stack, int64_t value, bool gc)
{
	uint64_t key = a->c->keys.of[location], *at = map_get(&a->of, key);
	struct around *one;

	if (!at && (map_put(&a->of, key, a->list.n) ||
		    vec_push(&a->list, (struct around){.location = location})))
		return -ENOMEM;
	one = &a->list.v[at ? *at : a->list.n - 1];
	if (one->last == stack)
		return 0;
	one->last = stack;
	costs_sum(&one->sum, value);
	costs_sum(&one->gc, gc ? value : 0);
	return 0;
}

/*
 * Adds the functions of @stack to @a, innermost first. Nameless functions count for the function
 * that contains them.
 */
static int add_arounds(struct arounds *a, const struct profile_sum *sum, size_t stack,
		       unsigned value)
{
	bool gc = costs_is_gc(a->c, sum->stack);
	size_t n = 0;
	const uint32_t *frames = sum->stack ? profile_get_stack(a->c->p, sum->stack, &n) : NULL;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		uint32_t frame = costs_frame(a->c, frames, n, i);

		if (costs_is_python(a->c, frame) && costs_is_own(a->c, frame) &&
		    !lede_is_nameless(a->c, frame))
			r = add_around(a, frame, stack, sum->values[value], gc);
	}
	return r;
}

/*
 * Finds the innermost of the user's functions whose calls, direct or not, lead to more than half of
 * @all; *ret is 0 if there is none.
 */
static int find_around(const struct costs *c, const struct profile_sum *sums, size_t n,
		       unsigned value, int64_t all, uint32_t *ret)
{
	struct arounds a = {.c = c};
	int64_t least = INT64_MAX;
	int r = 0;

	*ret = 0;
	map_init(&a.of);
	for (size_t i = 0; i < n && !r; i++)
		if (sums[i].values[value] > 0)
			r = add_arounds(&a, &sums[i], i + 1, value);
	vec_foreach(one, &a.list) {
		if (r || one->gc <= all / 2 || one->gc >= least ||
		    100.0 * (double)one->sum > NEARLY_ALL * (double)c->all)
			continue;
		least = one->gc;
		*ret = one->location;
	}
	map_fini(&a.of);
	vec_fini(&a.list);
	return r;
}

int lede_gc(const struct costs *c, const struct profile_sum *sums, size_t n, unsigned value,
	    int64_t without, struct lede *ret)
{
	struct lede gc = {.gc = true, .value = c->kinds[KIND_GC]};
	int r;

	if (gc.value <= without)
		return 0;
	r = find_caller(c, sums, n, value, true, gc.value, &gc.caller);
	if (!r && !gc.caller) {
		r = find_caller(c, sums, n, value, false, gc.value, &gc.caller);
		if (!r && !gc.caller)
			r = find_around(c, sums, n, value, gc.value, &gc.caller);
		gc.by_function = gc.caller;
	}
	if (r)
		return r;
	if (ret->own && gc.caller && !gc.by_function && !costs_is_own(c, gc.caller)) {
		ret->collects = gc.caller;
		ret->collects_value = gc.value;
	} else {
		*ret = gc;
	}
	return 0;
}
