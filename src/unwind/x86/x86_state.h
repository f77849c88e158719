/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Describes what is known of registers and stack at an instruction, relative to their values at the
 * function's start. Applies the effects of x86-64 instructions to that state, and makes unwind
 * rules from it.
 */
#ifndef UNWIND_X86_X86_STATE_H
#define UNWIND_X86_X86_STATE_H

#include "unwind/x86/x86_insn.h"
#include "unwind.h" /* this is abi/unwind.h */

enum code_kind {
	CODE_ANY,   /* nothing is known of the value */
	CODE_ENTRY, /* the value that rbx or rbp (.base) had in the caller */
	CODE_CFA,   /* the value is CFA + .off, where the CFA is the value of rsp before the call */
	/*
	 * the value is .off plus the stack pointer that the instruction at offset .base set, in a
	 * function that realigns its stack or calls alloca()
	 */
	CODE_BASE,
};

struct code_value {
	uint32_t kind; /* enum code_kind: what is known of the value */
	uint32_t base;
	int64_t off;
};

/* A word of the stack whose value is known. */
struct code_slot {
	struct code_value at; /* the place of the word: a value of kind CODE_CFA or CODE_BASE */
	struct code_value value;
};

/*
 * How many words of the stack a state can remember: enough for rbx, rbp and the frame's address.
 * Further words aren't remembered.
 */
#define CODE_SLOTS 6

struct code_state {
	/* values of the registers, by register number; the value of rsp is never CODE_ANY */
	struct code_value reg[X86_REGS];
	struct code_slot slot[CODE_SLOTS];
	uint32_t slots;
};

/* Sets @st to the state at the beginning of a function. */
void code_state_init(struct code_state *st);

/*
 * Applies the effect of instruction @insn, which is at offset @key. Returns NULL, or why nothing
 * can be known after it.
 */
const char *code_state_step(struct code_state *st, const struct x86_insn *insn, uint32_t key);

/* Forgets the value of register @reg. */
void code_state_forget(struct code_state *st, uint8_t reg);

/*
 * Reduces @st to what both states say. Sets *@changed if @st said more before. Returns NULL, or why
 * the states contradict each other.
 */
const char *code_state_join(struct code_state *st, const struct code_state *other, bool *changed);

/*
 * Is the stack pointer as at the function's start, so that the function may return or jump to
 * another function at this instruction?
 */
bool code_state_balanced(const struct code_state *st);

/* Tells whether @reg, rbx or rbp, has the caller's value. */
bool code_state_has_entry(const struct code_state *st, uint8_t reg);

/*
 * Makes the rule that leads from state @st to the caller, UNWIND_UNKNOWN if there is no such rule.
 * @lost: registers that the function doesn't preserve.
 */
void code_state_rule(const struct code_state *st, uint16_t lost, struct unwind_rule *ret);

/*
 * For tests: sets *@ret to the distance between the CFA by @rule, which comes from another source,
 * and the CFA by @st. False: the distance isn't known.
 */
bool code_state_judge(const struct code_state *st, const struct unwind_rule *rule, int64_t *ret);

/*
 * For tests: is the caller's value of @reg, rbx or rbp, saved at @slot (unwind_rule.bx or .fp)? If
 * that isn't known, also returns true.
 */
bool code_state_holds(const struct code_state *st, uint8_t reg, int16_t slot);

#endif
