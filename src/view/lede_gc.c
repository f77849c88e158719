/* SPDX-License-Identifier: BSD-2-Clause */
/* The garbage collector as what a reader is told first, and who makes it run; see costs.h. */
#include "view/costs.h"

struct callers {
	const struct costs *c;
	struct map of; /* by caller_key(): index + 1 in .sums */
	VEC(int64_t) sums;
	int64_t most;
	uint32_t best;
};

/*
 * Who made the collector run: the innermost function of the user's code outside of it, else the innermost Python
 * function; 0 if it wasn't called from Python.
 */
static uint32_t who_collects(const struct costs *c, uint32_t stack)
{
	size_t n = 0, i;
	const uint32_t *frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	uint32_t any = 0;

	for (i = n; i > 0; i--) /* a finalizer may collect again: that is the first one's doing */
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

/* A line, or without @by_line a function, that more than half of @all is called from; 0 = there is none. */
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
