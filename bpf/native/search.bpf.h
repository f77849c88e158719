/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does a binary search in the chunks of abi/unwind.h, without branches. So the verifier sees one
 * path, however many entries there are, and the processor has nothing to predict.
 */
#ifndef BPF_NATIVE_SEARCH_H
#define BPF_NATIVE_SEARCH_H

#include "state.bpf.h"

/* Returns chunk @number. Each program that includes this file defines this function. */
walk_inline const struct unwind_chunk *unwind_chunk_at(__u32 number);

/*
 * Returns a word with all bits set if a <= b, else 0, without a branch; a and b are below 1 << 63.
 */
walk_inline __u64 not_above(__u64 a, __u64 b)
{
	return (__u64)((__s64)(a - b - 1) >> 63);
}

/*
 * Returns the index of the last entry of @c whose key isn't above @key. (The key of the first entry
 * never is above @key.)
 */
walk_inline __u32 search_chunk(const struct unwind_chunk *c, __u32 key)
{
	__u64 pos = 0;

	walk_unroll for (__u32 step = UNWIND_FANOUT / 2; step; step /= 2) pos =
		bounded(pos + (step & not_above(c->key[bounded(pos + step, UNWIND_FANOUT)], key)),
			UNWIND_FANOUT);
	return pos;
}

walk_inline __u32 search_space(const struct space_chunk *c, __u64 pc)
{
	__u64 pos = 0;

	walk_unroll for (__u32 step = SPACE_MAPPINGS / 2; step; step /= 2) pos =
		bounded(pos + (step & not_above(c->start[bounded(pos + step, SPACE_MAPPINGS)], pc)),
			SPACE_MAPPINGS);
	return pos;
}

#endif
