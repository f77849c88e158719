/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a function is unwound, from its instructions. Every way through it is followed from its
 * start. A rule is given only where all ways agree, and only if it is proven at each end of the
 * function: there the stack pointer must be where it was at the start. Why this can't be wrong:
 * docs/decisions/0011.
 */
#ifndef UNWIND_PROVE_X86_FLOW_H
#define UNWIND_PROVE_X86_FLOW_H

#include "base/vec.h"
#include "unwind/prove/x86_state.h"
#include "unwind/rows/rows.h"

/* A piece of executable memory that holds functions, and what is known of its bytes. */
struct code_region {
	const uint8_t *bytes;
	uint32_t start, end; /* keys of .bytes[0], and of the byte after the last */
	uint16_t *info;	     /* for each byte; zero or CODE_* at first; see x86_flow.c */
	/* For x86_flow.c: no function begins after .bare, before .bare_end. */
	uint32_t bare, bare_end;
	uint64_t budget; /* instructions that may still be examined: bounds the time */
	/* Does a function begin at @key, outside of this region? */
	bool (*is_start)(void *ctx, uint32_t key);
	/*
	 * Or NULL. Reads memory that is never written, at @key; returns how many of @n bytes there
	 * are.
	 */
	size_t (*read)(void *ctx, int64_t key, void *ret, size_t n);
	/* Or NULL. Does the function at @key never return? */
	bool (*never_returns)(void *ctx, uint32_t key);
	/*
	 * Or NULL. Called if a function that is understood calls the one at @key, or takes its
	 * address. 0, or an error that ends everything.
	 */
	int (*calls)(void *ctx, uint32_t key);
	void *ctx;
	/*
	 * A jump to the address in a register calls the next function, with the stack as at the
	 * start (LLVM's preserve_none, which saves nothing for the caller).
	 */
	bool tail_jumps;
};
#define CODE_START   0x8000 /* a function begins there */
#define CODE_CERTAIN 0x4000 /* it is certain: believed even without an end */

/*
 * An instruction of the function at @start (within @r): what is known before it, and its rule.
 * @end: exclusive.
 */
struct code_visit {
	uint32_t key, end;
	const struct code_state *st;
	struct unwind_rule rule;
};
typedef int code_visit_fn(const struct code_visit *v, void *arg);

/*
 * Calls @fn for all instructions, in order of address. What it returns, if not 0, ends the calls
 * and is returned. -ENOMEM. *why: NULL, or why nothing is known of the function: then @fn isn't
 * called. @guess: it isn't certain that a function begins there; then the function is believed only
 * if it calls nothing.
 */
_must_use_ int code_flow_visit(struct code_region *r, uint32_t start, bool guess, code_visit_fn *fn,
			       void *arg, const char **why);

/* Appends the function's ranges to @ret. Otherwise as above. */
_must_use_ int code_flow(struct code_region *r, uint32_t start, bool guess, unwind_range_vec *ret,
			 const char **why);

/*
 * The end of the padding (no operations, traps) at @key, at most where a function begins. @key
 * itself if there is none.
 */
uint32_t code_flow_padding_end(const struct code_region *r, uint32_t key);

/* Has an instruction at @key been examined, for any function? */
bool code_flow_seen(const struct code_region *r, uint32_t key);

/*
 * From @key on: the first byte that belongs to no examined instruction; the first examined
 * instruction, or the end.
 */
uint32_t code_flow_seen_end(const struct code_region *r, uint32_t key);
uint32_t code_flow_next_seen(const struct code_region *r, uint32_t key);

#endif
