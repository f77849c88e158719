/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Binary search in the chunks of abi/unwind.h, without branches: the verifier sees one path however
 * many entries there are, and the processor has nothing to predict.
 */
#ifndef BPF_SEARCH_H
#define BPF_SEARCH_H

#include "state.bpf.h"

/* Returns chunk @number; part of the seam of native/unwind.bpf.h. */
walk_inline const struct unwind_chunk *unwind_chunk_at(__u32 number);

/* Returns all ones if a <= b, else 0, without a branch; a and b are below 1 << 63. */
walk_inline __u64 not_above(__u64 a, __u64 b)
{
	return (__u64)((__s64)(a - b - 1) >> 63);
}

/*
 * Index of the last entry of @c whose key isn't above @key. (The first entry's key never is above
 * it.)
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
