/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of costs_lede(). */
#ifndef VIEW_LEDE_H
#define VIEW_LEDE_H

#include "view/costs.h"

/* Functions of importlib are nobody's, but for `import NAME`, which stands for them. */
bool lede_is_importlib(const struct costs *c, uint32_t location);

/* A lambda, a generator expression, a comprehension. */
bool lede_is_nameless(const struct costs *c, uint32_t location);

/*
 * Is the nameless function of one frame written in the function of another, further out? What it takes is that one's:
 * a reader looks for the name and the line there.
 */
bool lede_is_part_of(const struct costs *c, uint32_t nameless, uint32_t outer);

/* Native code or code made at run time. */
static inline bool lede_is_native(const struct costs *c, uint32_t location)
{
	enum frame_kind kind = costs_kind(c, location);

	return kind == KIND_NATIVE || kind == KIND_JIT;
}

/*
 * The trunk: calls from the user's code to what runs most of the rest of it, as `asyncio.run(main())` and
 * `app.run()`. What such a framework takes isn't that line's doing.
 */
struct trunk {
	struct map calls; /* trunk_key() */
};

static inline uint64_t trunk_key(const struct costs *c, uint32_t own, uint32_t callee)
{
	return (uint64_t)c->keys.of[own] << 32 | c->keys.of[callee];
}

/* 0 or -ENOMEM; map_fini(&ret->calls) in any case. */
_must_use_ int trunk_find(const struct costs *c, const struct profile_sum *sums, size_t n,
			  unsigned value, struct trunk *ret);

#endif
