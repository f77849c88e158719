/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first pass of x86_flow.c. Finds which instructions a function has, in runs without gaps, and
 * where its jumps lead. This is a pass of its own, because it doesn't need to know the values of
 * registers.
 */
#ifndef UNWIND_X86_X86_DISCOVER_H
#define UNWIND_X86_X86_DISCOVER_H

#include "unwind/x86/x86_flow.h"

#define NOWHERE UINT32_MAX

/* Bits of code_region.info that are set for the first byte of an instruction. */
enum {
	LEN = 0x0f,	/* the instruction's length; 0: no instruction was decoded */
	VISITED = 0x10, /* this instruction belongs to the function that is analysed now */
	LEADER = 0x20,	/* a jump of the function that is analysed now leads to this instruction */
	TOUCHES = 0x40, /* the instruction changes the state of registers or stack */
	SEEN = 0x80,	/* the instruction belongs to some function that was analysed */
};

struct code_run {
	uint32_t start, end;
};

/* A jump through a table. Its targets are .n entries of flow.targets, from index .first on. */
struct code_switch {
	/*
	 * offset of the jump, and of the first instruction that computes the jump's address
	 * (x86_table.h)
	 */
	uint32_t jump, since;
	uint32_t first, n;
};

struct code_block {
	/* offsets of the beginning, the end and the last instruction of the block */
	uint32_t start, end, last;
	uint32_t next[2]; /* indexes in flow.blocks of the blocks that may come next, or NOWHERE */
	/*
	 * if the block ends with a jump through a table: its targets are .n entries of
	 * flow.targets, from index .first on
	 */
	uint32_t first, n;
	bool known, queued;
	/*
	 * whether this block, or a block that comes after it, leaves the function with the stack
	 * balanced
	 */
	bool exits;
	struct code_state st;
};

struct flow {
	struct code_region *r;
	uint32_t start;
	bool guess;
	const char *why;
	/* registers that don't have the caller's value at one of the function's ends */
	uint16_t lost;
	/* how many bytes have the bit LEADER; there are at most as many .blocks */
	uint32_t leaders;
	VEC(uint32_t) todo;
	VEC(struct code_run) runs;
	VEC(struct code_switch) switches;
	VEC(uint32_t) targets; /* offsets to which jumps through tables lead */
	VEC(struct code_block) blocks;
};

static inline uint16_t *flow_info(const struct flow *f, uint32_t key)
{
	return &f->r->info[key - f->r->start];
}

static inline bool flow_decode(struct flow *f, uint32_t key, struct x86_insn *insn)
{
	return x86_decode(f->r->bytes + (key - f->r->start), f->r->end - key, insn);
}

static inline int flow_spend(struct flow *f)
{
	if (!f->r->budget) {
		f->why = "too much code";
		return 0;
	}
	f->r->budget--;
	return 1;
}

/* Returns the offset that a jump leads to; NOWHERE: the jump leads to another function. */
uint32_t flow_target(struct flow *f, uint32_t next, const struct x86_insn *insn);

/* Tells whether @next, the instruction after @insn, can be executed after @insn. */
bool flow_goes_on(const struct flow *f, uint32_t next, const struct x86_insn *insn);

/*
 * Finds the runs of instructions and the jump tables (code_switch) of the function. 0 or -ENOMEM.
 * If they can't be known, .why says why.
 */
_must_use_ int flow_discover(struct flow *f);

#endif
