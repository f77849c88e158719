/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out from the instructions of a function how it is unwound. Every way through the function
 * is followed from its start. An instruction gets a rule only if all ways to it agree, and only if
 * each end of the function proves the rule: there the stack pointer must be where it was at the
 * start. docs/decisions/0011 says why this can't be wrong.
 */
#ifndef UNWIND_X86_X86_FLOW_H
#define UNWIND_X86_X86_FLOW_H

#include "base/vec.h"
#include "unwind/x86/x86_state.h"
#include "unwind/rows/rows.h"

/* A piece of executable memory that holds functions, and what is known of its bytes. */
struct code_region {
	const uint8_t *bytes;
	uint32_t start, end; /* offsets (address - rows' base); end exclusive */
	/*
	 * 16 bits for each byte of the code: at first 0 or CODE_*; x86_discover.c adds further bits
	 */
	uint16_t *info;
	/* x86_discover.c sets these: no function begins between offsets .bare and .bare_end */
	uint32_t bare, bare_end;
	uint64_t budget; /* how many instructions may still be examined, so that time is bounded */
	/* Tells whether a function begins at offset @key, which is outside of this region. */
	bool (*is_start)(void *ctx, uint32_t key);
	/*
	 * Reads @n bytes at offset @key, if they are in memory that is never written. Returns how
	 * many bytes were read. May be NULL.
	 */
	size_t (*read)(void *ctx, int64_t key, void *ret, size_t n);
	/* Tells whether the function at offset @key never returns. May be NULL. */
	bool (*never_returns)(void *ctx, uint32_t key);
	/*
	 * Called if a function whose analysis succeeded calls the function at offset @key, or takes
	 * its address. Returns 0, or an error that ends the analysis of all functions. May be NULL.
	 */
	int (*calls)(void *ctx, uint32_t key);
	void *ctx;
	/*
	 * true: a jump to the address in a register leads to another function, and the stack is as
	 * at the jumping function's start (LLVM's preserve_none, which saves nothing for the
	 * caller)
	 */
	bool tail_jumps;
};
#define CODE_START 0x8000 /* code_region.info: a function begins at this byte */
/*
 * code_region.info: it is certain that a function begins at this byte, so the function's rules are
 * used even if it never ends
 */
#define CODE_CERTAIN 0x4000

/*
 * An instruction: where it begins and ends (exclusive), what is known before it, and the rule that
 * holds at it.
 */
struct code_visit {
	uint32_t key, end;
	const struct code_state *st;
	struct unwind_rule rule;
};
typedef int code_visit_fn(const struct code_visit *v, void *arg);

/*
 * Calls @fn for all instructions of the function at offset @start, in order of address. If @fn
 * returns something else than 0, makes no more calls and returns that. Returns -ENOMEM if memory
 * runs out. Sets *@why to NULL or, if nothing is known of the function, to the reason. In the
 * latter case @fn isn't called. @guess: it isn't certain that a function begins at @start. A
 * guessed function is believed only if it calls nothing.
 */
_must_use_ int code_flow_visit(struct code_region *r, uint32_t start, bool guess, code_visit_fn *fn,
			       void *arg, const char **why);

/* Does what code_flow_visit() does, and appends the function's ranges and their rules to @ret. */
_must_use_ int code_flow(struct code_region *r, uint32_t start, bool guess, unwind_range_vec *ret,
			 const char **why);

/*
 * Returns where the padding (no operations, traps) at offset @key ends, at the latest where a
 * function begins. Returns @key itself if there is no padding.
 */
uint32_t code_flow_padding_end(const struct code_region *r, uint32_t key);

/* Tells whether the instruction at offset @key was examined, for any function. */
bool code_flow_seen(const struct code_region *r, uint32_t key);

/*
 * Both search from offset @key on. code_flow_seen_end() returns the first byte that belongs to no
 * examined instruction; code_flow_next_seen() the first examined instruction, or the end of the
 * region.
 */
uint32_t code_flow_seen_end(const struct code_region *r, uint32_t key);
uint32_t code_flow_next_seen(const struct code_region *r, uint32_t key);

#endif
