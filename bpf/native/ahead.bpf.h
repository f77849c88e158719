/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwinds threads that were interrupted in a trampoline of libffi (callbacks of ctypes, cffi).
 * Trampolines have no unwind rows. Rows made for them couldn't be relied on, because their memory
 * may stay writable. But a trampoline only has a few instructions and then jumps to a function that
 * has rows. So the instructions at the program counter are simulated up to the first instruction
 * that trampolines don't have, and the stack is unwound from there (docs/decisions/0012). The
 * simulation changes only pc, sp and r10. What these instructions store lies below the frames that
 * are unwound, so the stores are left out.
 */
#ifndef BPF_NATIVE_AHEAD_H
#define BPF_NATIVE_AHEAD_H

#include "native/arch.bpf.h"
#include "state.bpf.h"

/* how many instructions are simulated; a thread executes 11 in a trampoline of libffi 3.5 */
#define AHEAD_MAX 16

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
walk_inline bool run_ahead(struct unwind_regs *regs, __u64 *leaf)
{
	return false;
}
#else
#define LEAF_R10 10

/*
 * Tells whether @code begins with the low @n bytes of @bytes. The lowest byte comes first in
 * memory.
 */
walk_inline bool is_code(__u64 code, __u64 bytes, __u32 n)
{
	return (code ^ bytes) << (64 - 8 * n) == 0;
}

/* Returns the word at @at of the target, or 0 if it can't be read. (No code is at address 0.) */
walk_inline __u64 ahead_u64(__u64 at)
{
	__u64 v = 0;

	return read_user(&v, sizeof(v), at) ? 0 : v;
}

/*
 * Simulates instruction @code. Returns its length; 0: the instruction is a jump, or this function
 * doesn't know it.
 */
walk_inline __u32 run_plain(struct unwind_regs *regs, __u64 *r10, __u64 code)
{
	/* address of the instruction's operand disp32(%rip) */
	__u64 operand = regs->pc + 7 + (__s32)(code >> 24);

	if (is_code(code, 0xfa1e0ff3, 4) || /* endbr64 */
	    is_code(code, 0x2414894c, 4))   /* mov %r10,(%rsp) */
		return 4;
	if (is_code(code, 0x082454894c, 5)) /* mov %r10,8(%rsp) */
		return 5;
	if (is_code(code, 0x0824548b4c, 5)) { /* mov 8(%rsp),%r10 */
		*r10 = 0;
		return 5;
	}
	if (is_code(code, 0x10ec8348, 4)) { /* sub $16,%rsp */
		regs->sp -= 16;
		return 4;
	}
	if (is_code(code, 0x10c48348, 4)) { /* add $16,%rsp */
		regs->sp += 16;
		return 4;
	}
	if (is_code(code, 0x158d4c, 3)) { /* lea disp32(%rip),%r10 */
		*r10 = operand;
		return 7;
	}
	if (is_code(code, 0x158b4c, 3)) { /* mov disp32(%rip),%r10 */
		*r10 = ahead_u64(operand);
		return 7;
	}
	return 0;
}

/* Returns where the jump @code at @pc leads; @pc if @code isn't a jump that trampolines have. */
walk_inline __u64 jump_target(__u64 pc, __u64 r10, __u64 code)
{
	if (is_code(code, 0x25ff, 2)) /* jmp *disp32(%rip) */
		return ahead_u64(pc + 6 + (__s32)(code >> 16));
	if (is_code(code, 0xe2ff41, 3)) /* jmp *%r10 */
		return r10;
	if (is_code(code, 0xe9, 1)) /* jmp disp32 */
		return pc + 5 + (__s32)(code >> 8);
	if (is_code(code, 0xeb, 1)) /* jmp disp8 */
		return pc + 2 + (__s8)(code >> 8);
	return pc;
}

/*
 * Simulates the instruction at the program counter on @regs and on @leaf, which has all registers.
 * Returns false if trampolines don't have this instruction.
 */
walk_inline bool run_ahead(struct unwind_regs *regs, __u64 *leaf)
{
	__u64 *r10 = &leaf[LEAF_R10], code = ahead_u64(regs->pc), next;
	__u32 n = run_plain(regs, r10, code);

	next = n ? regs->pc + n : jump_target(regs->pc, *r10, code);
	if (next == regs->pc)
		return false;
	regs->pc = next;
	return true;
}
#endif

#endif
