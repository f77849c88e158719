/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a function is unwound, from its instructions: every way through it is followed from its start, and a
 * rule is given only where all ways agree, and which is proven at each of its ends: there the stack
 * pointer must be where it was at the start. Why this can't be wrong: docs/decisions/0011.
 */
#ifndef UNWIND_PROVE_X86_FLOW_H
#define UNWIND_PROVE_X86_FLOW_H

#include "base/vec.h"
#include "unwind/prove/x86_state.h"
#include "unwind/rows/rows.h"

/* A piece of executable memory that holds functions, and what is known of its bytes. */
struct code_region {
	const uint8_t *bytes;
	uint32_t start, end; /* keys, of .bytes[0] and behind the last */
	uint16_t *info;	     /* for each byte, zero or CODE_* at first; see x86_flow.c */
	/* x86_flow.c's: no function begins behind the first, up to the second. */
	uint32_t bare, bare_end;
	uint64_t budget; /* instructions that may still be looked at: bounds the time */
	/* Does a function begin at @key, outside of this region? */
	bool (*is_start)(void *ctx, uint32_t key);
	/* Or NULL. Bytes of memory that is never written, at @key; how many of @n there are. */
	size_t (*read)(void *ctx, int64_t key, void *ret, size_t n);
	/* Or NULL. Is the function at @key one that never returns? */
	bool (*never_returns)(void *ctx, uint32_t key);
	/* Or NULL. A function that is understood calls what is at @key, or has its address. 0 or what ends it all. */
	int (*calls)(void *ctx, uint32_t key);
	void *ctx;
	/*
	 * Jumps to where a register says call the next function, with the stack as at the start (LLVM's preserve_none: it
	 * saves nothing for who calls it).
	 */
	bool tail_jumps;
};
#define CODE_START   0x8000 /* a function begins there */
#define CODE_CERTAIN 0x4000 /* for sure: one without an end is believed */

/*
 * What is known before each instruction of the function at @start (within @r), and its rule; in order of
 * address. @end: exclusive, of the instruction.
 */
struct code_visit {
	uint32_t key, end;
	const struct code_state *st;
	struct unwind_rule rule;
};
typedef int code_visit_fn(const struct code_visit *v, void *arg);

/*
 * Calls @fn for all of them; what it returns, if not 0, ends that and is returned. -ENOMEM. *why: NULL, or
 * why nothing is known of the function: then it isn't called. @guess: that a function begins there is a guess; it is
 * believed only if the function calls nothing.
 */
_must_use_ int code_flow_visit(struct code_region *r, uint32_t start, bool guess, code_visit_fn *fn,
			       void *arg, const char **why);

/* Appends to @ret the function's ranges. The rest as above. */
_must_use_ int code_flow(struct code_region *r, uint32_t start, bool guess, unwind_range_vec *ret,
			 const char **why);

/* Behind the padding at @key, up to where a function begins: no operations, traps. @key itself where there is none. */
uint32_t code_flow_padding_end(const struct code_region *r, uint32_t key);

/* Has an instruction at @key been looked at, for any function? */
bool code_flow_seen(const struct code_region *r, uint32_t key);

/* The first byte from @key on that belongs to none that has; the first instruction that has, or the end. */
uint32_t code_flow_seen_end(const struct code_region *r, uint32_t key);
uint32_t code_flow_next_seen(const struct code_region *r, uint32_t key);

#endif
