/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the parts of costs_lede(), which finds what the first sentence of a report says. */
#ifndef VIEW_LEDE_LEDE_H
#define VIEW_LEDE_LEDE_H

#include "view/costs/costs.h"

/*
 * Tells whether @location is in a function of importlib. False for a frame called `import NAME`,
 * which stands for all these functions together.
 */
bool lede_is_importlib(const struct costs *c, uint32_t location);

/* Tells whether @location is in a lambda, a generator expression or a comprehension. */
bool lede_is_nameless(const struct costs *c, uint32_t location);

/*
 * Tells whether the nameless function at @nameless is written inside the function at @outer. If so,
 * its time counts for the outer function, whose name and line readers look for.
 */
bool lede_is_part_of(const struct costs *c, uint32_t nameless, uint32_t outer);

/* Tells whether @location is in native code, or in code made at run time. */
static inline bool lede_is_native(const struct costs *c, uint32_t location)
{
	enum frame_kind kind = costs_kind(c, location);

	return kind == KIND_NATIVE || kind == KIND_JIT;
}

/*
 * The trunk: the calls by which the user's code starts a framework that then runs most of the rest
 * of the user's code, such as `asyncio.run(main())` and `app.run()`. The framework's own time isn't
 * counted for the line with such a call.
 */
struct trunk {
	struct map calls; /* the calls that start a framework, by trunk_key() */
};

static inline uint64_t trunk_key(const struct costs *c, uint32_t own, uint32_t callee)
{
	return (uint64_t)c->keys.of[own] << 32 | c->keys.of[callee];
}

/*
 * Finds the trunk of the stacks in @sums: the calls that start a framework. 0 or -ENOMEM. Call
 * map_fini(&ret->calls) in any case.
 */
_must_use_ int trunk_find(const struct costs *c, const struct profile_sum *sums, size_t n,
			  unsigned value, struct trunk *ret);

#endif
