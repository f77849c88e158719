/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the calls in the user's code that only lead to the rest of the user's code (the trunk); see
 * lede.h.
 */
#include "view/lede/lede.h"

/*
 * How many calls of a stack are examined, from the outermost inwards, because calls into frameworks
 * are among the outermost ones.
 */
#define CALLS 16
/*
 * a call belongs to the trunk (the calls that start a framework, see lede.h) only if in at least
 * 1/PASSED_ON of all stacks it leads to more of the user's code
 */
#define PASSED_ON 10
/*
 * there is a trunk (calls that start a framework, see lede.h) only if these calls are in at least
 * this many percent of the stacks that have user code
 */
#define TRUNK 80

/* The calls from the user's code to other code in one stack, each once. */
struct calls {
	uint64_t passed[CALLS]; /* the calls that lead to more of the user's code */
	size_t n;
	uint64_t last; /* the call that leads to no more of the user's code; 0: there is none */
};

struct sums {
	struct map passed, last;
	int64_t own; /* value of the stacks that have user code */
};

static void pass(struct calls *calls, uint64_t key)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->passed[i] == key)
			return;
	if (calls->n < CALLS)
		calls->passed[calls->n++] = key;
}

/* Finds the calls of a stack; false if the stack has none of the user's code. */
static bool find_calls(const struct costs *c, uint32_t stack, struct calls *ret)
{
	uint32_t own = 0, callee = 0, native = 0;
	const uint32_t *frames;
	size_t n = 0;

	ret->n = ret->last = 0;
	frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	for (size_t i = n; i-- > 0;) {
		uint32_t frame = costs_frame(c, frames, n, i);

		if (!costs_is_python(c, frame)) {
			if (!native && lede_is_native(c, frame))
				native = frame;
		} else if (costs_is_own(c, frame)) {
			callee = callee ?: native;
			if (own && callee)
				pass(ret, trunk_key(c, own, callee));
			own = frame;
			callee = native = 0;
		} else if (!callee && !lede_is_importlib(c, frame)) {
			callee = frame;
		}
	}
	callee = callee ?: native;
	if (own && callee)
		ret->last = trunk_key(c, own, callee);
	return own;
}

static int add(struct map *m, uint64_t key, int64_t value)
{
	uint64_t *sum = map_get(m, key);

	if (!sum)
		return map_put(m, key, (uint64_t)value);
	costs_sum((int64_t *)sum, value);
	return 0;
}

static int add_stack(const struct costs *c, struct sums *s, uint32_t stack, int64_t value)
{
	struct calls calls;
	int r = 0;

	if (!find_calls(c, stack, &calls))
		return 0;
	costs_sum(&s->own, value);
	for (size_t i = 0; i < calls.n && !r; i++)
		r = add(&s->passed, calls.passed[i], value);
	return r || !calls.last ? r : add(&s->last, calls.last, value);
}

static int choose(const struct costs *c, const struct sums *s, struct map *ret)
{
	int r = 0;

	map_foreach(slot, &s->passed) {
		const uint64_t *last = map_get(&s->last, slot->key);
		double passed = (double)(int64_t)slot->value;
		double in = passed + (last ? (double)(int64_t)*last : 0);

		if (!r && passed * PASSED_ON >= (double)c->all &&
		    100 * in >= TRUNK * (double)s->own)
			r = map_put(ret, slot->key, 1);
	}
	return r;
}

int trunk_find(const struct costs *c, const struct profile_sum *sums, size_t n, unsigned value,
	       struct trunk *ret)
{
	struct sums s = {};
	int r = 0;

	map_init(&ret->calls);
	map_init(&s.passed);
	map_init(&s.last);
	for (size_t i = 0; i < n && !r; i++)
		if (sums[i].values[value] > 0)
			r = add_stack(c, &s, sums[i].stack, sums[i].values[value]);
	r = r ? r : choose(c, &s, &ret->calls);
	map_fini(&s.passed);
	map_fini(&s.last);
	return r;
}
