/* SPDX-License-Identifier: BSD-2-Clause */
/* What x86_insn.c needs to know of opcodes. The tables are in x86_opcodes.c. */
#ifndef UNWIND_X86_X86_OPCODES_H
#define UNWIND_X86_X86_OPCODES_H

#include "unwind/x86/x86_insn.h"

enum x86_form { X86_LEGACY, X86_VEX, X86_EVEX, X86_XOP };

struct x86_decode {
	const uint8_t *bytes;
	size_t n, at;
	bool bad;
	/*
	 * Which legacy prefixes the instruction has. If it has a VEX, EVEX or XOP prefix, that
	 * prefix says the same.
	 */
	bool opsize, addr32, segment, lock;
	uint8_t rep; /* prefix REP or REPNE: 0xf3 or 0xf2; 0 = neither */
	uint8_t rex; /* REX prefix, with the bits W 8, R 4, X 2, B 1; 0: no REX prefix */
	uint8_t form, map, op, vvvv;
	/* fields of the ModRM byte; .ext is .reg without the bit that a prefix adds */
	uint8_t mod, reg, rm, ext;
	uint8_t base;
	bool rip;
	unsigned disp_bytes;
	int32_t disp;
	int64_t imm;
};

/* Flags of an opcode: what follows it, and which registers it may change. */
enum {
	X86_MODRM = 1 << 0,
	X86_IMM8 = 1 << 1,
	X86_IMMZ = 1 << 2,
	X86_IMMV = 1 << 3,
	X86_IMM32 = 1 << 4,
	X86_MOFFS = 1 << 5,
	X86_BAD = 1 << 6,
	X86_BYTE = 1 << 7, /* the operand is a byte: without REX, registers 4 to 7 are ah to bh */
	/* flag: the instruction changes the operand ModRM.rm if that is a register */
	X86_W_RM = 1 << 8,
	X86_W_REG = 1 << 9,
	X86_W_VVVV = 1 << 10,
	/* flag: the instruction changes the register that the opcode's low three bits name */
	X86_W_LOW = 1 << 11,
	X86_IMM16 = 1 << 12,
	/* number of the first bit of X86_W(), which has one bit for each register */
	X86_W_SHIFT = 16,
};
/* flag: the instruction changes @reg, one of X86_AX to X86_R11 */
#define X86_W(reg) (1u << (X86_W_SHIFT + (reg)))

uint32_t x86_opcode_flags(const struct x86_decode *d);
/* Corrects @flags, which x86_opcode_flags() has given, once ModRM is also known. */
uint32_t x86_group_flags(const struct x86_decode *d, uint32_t flags);
void x86_effect(const struct x86_decode *d, uint32_t flags, struct x86_insn *ret);

#endif
