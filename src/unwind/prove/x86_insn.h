/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes one x86-64 instruction: its length, the general registers that it may change, and exactly
 * what it does if it moves the stack pointer or saves registers. Encodings: Intel SDM volume 2,
 * chapter 2 and appendix A; AMD APM volume 3 (XOP). Bytes are hostile.
 */
#ifndef UNWIND_PROVE_X86_INSN_H
#define UNWIND_PROVE_X86_INSN_H

#include "base/util.h"

/* Hardware numbers of general registers; as bits: 1 << number. */
enum x86_reg {
	X86_AX,
	X86_CX,
	X86_DX,
	X86_BX,
	X86_SP,
	X86_BP,
	X86_SI,
	X86_DI,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_REGS = 16,
	X86_NO_REG = 16, /* no base: absolute, relative to rip, another segment, or 32 bits wide */
};

enum x86_kind {
	X86_PLAIN,    /* changes only .writes, and .stores bytes at .base */
	X86_RET,      /* that pops no arguments */
	X86_TRAP,     /* ud2, hlt, int3: nothing follows */
	X86_JUMP,     /* to .target */
	X86_BRANCH,   /* to .target, or not */
	X86_CALL,     /* to .target */
	X86_JUMP_GOT, /* to the address in a word at a fixed place: another function */
	X86_JUMP_ANY, /* to any address: a table */
	X86_CALL_ANY,
	X86_PUSH, /* .reg, or X86_NO_REG: something else */
	X86_POP,  /* .reg, or X86_NO_REG: the flags */
	X86_LEAVE,
	/* On 64 bits: */
	X86_MOVE,     /* .reg = .from */
	X86_EXCHANGE, /* .reg and .from */
	X86_LOAD,     /* .reg = what is at .base + .disp */
	X86_STORE,    /* .reg to that place */
	X86_LEA,      /* .reg = .base + .disp */
	X86_LEA_RIP,  /* .reg = address of the next instruction + .disp */
	X86_ADD,      /* .reg += .imm */
	X86_AND,      /* .reg &= .imm, negative */
	X86_SUB_REG,  /* .reg -= .from */
};

struct x86_insn {
	uint8_t len;
	uint8_t kind; /* enum x86_kind */
	uint8_t reg, from;
	uint8_t base;	 /* of the operand in memory; X86_NO_REG also if it has an index */
	uint8_t stores;	 /* X86_PLAIN: bytes that a general instruction writes there */
	uint16_t writes; /* registers that may change, by .kind's own effect too */
	int32_t disp;
	int64_t imm; /* also .target, from the next instruction on */
};

/*
 * Decodes the first of @n bytes. False: too short, or an instruction that ordinary programs don't
 * execute (privileged, obsolete, 16-bit control flow, APX, or unknown).
 */
_must_use_ bool x86_decode(const uint8_t *bytes, size_t n, struct x86_insn *ret);

#endif
