/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes one x86-64 instruction: its length, the general registers that it may change, and, if it
 * moves the stack pointer or saves registers, exactly what it does. Encodings: Intel SDM volume 2,
 * chapter 2 and appendix A; AMD APM volume 3 (XOP). The bytes may be hostile.
 */
#ifndef UNWIND_X86_X86_INSN_H
#define UNWIND_X86_X86_INSN_H

#include "base/util.h"

/* Hardware numbers of general registers. A set of registers has the bits 1 << number. */
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
	/*
	 * no register; as .base also an address that is absolute, relative to rip, in another
	 * segment, or 32 bits wide
	 */
	X86_NO_REG = 16,
};

enum x86_kind {
	/* only changes the registers in .writes, and writes .stores bytes to memory at .base */
	X86_PLAIN,
	X86_RET,    /* a return that pops no arguments */
	X86_TRAP,   /* ud2, hlt, int3: execution doesn't go on after the instruction */
	X86_JUMP,   /* jumps to .target */
	X86_BRANCH, /* jumps to .target, or goes on to the next instruction */
	X86_CALL,   /* calls .target */
	/* jumps to another function, whose address is in a word at a fixed address */
	X86_JUMP_GOT,
	X86_JUMP_ANY, /* jumps to any address, as from a table */
	X86_CALL_ANY,
	X86_PUSH, /* pushes .reg; X86_NO_REG: pushes something else than a register */
	X86_POP,  /* pops into .reg; X86_NO_REG: pops into the flags */
	X86_LEAVE,
	/* X86_MOVE and all kinds that follow it work on 64 bits. */
	X86_MOVE,     /* .reg = .from */
	X86_EXCHANGE, /* exchanges .reg and .from */
	X86_LOAD,     /* .reg = what is at .base + .disp */
	X86_STORE,    /* .reg is stored at .base + .disp */
	X86_LEA,      /* .reg = .base + .disp */
	X86_LEA_RIP,  /* .reg = address of the next instruction + .disp */
	X86_ADD,      /* .reg += .imm */
	X86_AND,      /* .reg &= .imm, which is negative */
	X86_SUB_REG,  /* .reg -= .from */
};

struct x86_insn {
	uint8_t len;
	uint8_t kind; /* enum x86_kind: what the instruction does */
	uint8_t reg, from;
	/*
	 * base register of the operand in memory; if the operand has an index register, X86_NO_REG
	 */
	uint8_t base;
	/* with X86_PLAIN: how many bytes the instruction writes to its operand in memory */
	uint8_t stores;
	/*
	 * registers that the instruction may change, as bits 1 << number; includes the register
	 * that .kind says
	 */
	uint16_t writes;
	int32_t disp;
	/*
	 * immediate operand. For a jump or call to .target: distance of the target from the next
	 * instruction.
	 */
	int64_t imm;
};

/*
 * Decodes the instruction that begins with the first of @n bytes. False: @n is too small, or the
 * instruction is one that ordinary programs don't execute (privileged, obsolete, 16-bit control
 * flow, APX, or unknown).
 */
_must_use_ bool x86_decode(const uint8_t *bytes, size_t n, struct x86_insn *ret);

#endif
