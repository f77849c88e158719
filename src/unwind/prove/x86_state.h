/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of registers and the stack at an instruction of a function, relative to what they were when
 * it was called: the effect of x86-64 instructions on it, and the rule that follows.
 */
#ifndef UNWIND_PROVE_X86_STATE_H
#define UNWIND_PROVE_X86_STATE_H

#include "unwind/prove/x86_insn.h"
#include "unwind.h" /* abi */

enum code_kind {
	CODE_ANY,   /* nothing is known */
	CODE_ENTRY, /* what the caller had in .base, a register: rbx or rbp */
	CODE_CFA,   /* CFA + .off; the CFA is rsp before the call */
	CODE_BASE, /* .off from where an instruction at .base put the stack pointer: realigned, alloca() */
};

struct code_value {
	uint32_t kind; /* enum code_kind */
	uint32_t base;
	int64_t off;
};

/* A word of the stack that holds something known. */
struct code_slot {
	struct code_value at; /* CODE_CFA or CODE_BASE */
	struct code_value value;
};

/* rbx, rbp, and the frame's address; beyond that words are forgotten. */
#define CODE_SLOTS 6

struct code_state {
	struct code_value reg[X86_REGS]; /* rsp is never CODE_ANY */
	struct code_slot slot[CODE_SLOTS];
	uint32_t slots;
};

/* A function's start. */
void code_state_init(struct code_state *st);

/* @insn at @key is executed; NULL, or why nothing can be known behind it. */
const char *code_state_step(struct code_state *st, const struct x86_insn *insn, uint32_t key);

/* Nothing is known of @reg any more. */
void code_state_forget(struct code_state *st, uint8_t reg);

/* @st becomes what holds in both; *changed if that is less. NULL, or why they contradict each other. */
const char *code_state_join(struct code_state *st, const struct code_state *other, bool *changed);

/* May the function return here, or go on with another one in its place? */
bool code_state_balanced(const struct code_state *st);

/* Has @reg, rbx or rbp, the caller's value? */
bool code_state_has_entry(const struct code_state *st, uint8_t reg);

/* The rule that leads to the caller, UNWIND_UNKNOWN if there is none. @lost: registers that aren't kept. */
void code_state_rule(const struct code_state *st, uint16_t lost, struct unwind_rule *ret);

/*
 * For tests: what @rule (of another source) says the CFA is, as an offset from what it is: 0 = the
 * same. False: it can't be told.
 */
bool code_state_judge(const struct code_state *st, const struct unwind_rule *rule, int64_t *ret);

/* For tests: is the caller's @reg, rbx or rbp, at @slot (of an unwind_rule)? True also if that can't be told. */
bool code_state_holds(const struct code_state *st, uint8_t reg, int16_t slot);

#endif
