/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What unwinding needs to know of an architecture: DWARF numbers of the registers that rules name,
 * the number of registers, and where a signal frame keeps them. (ABI: System V x86-64 psABI 3.6.2;
 * AArch64 DWARF; the layouts of struct sigcontext are the kernel's, uapi/asm/sigcontext.h.)
 */
#ifndef BPF_NATIVE_ARCH_H
#define BPF_NATIVE_ARCH_H

#include "records.h"

/* The registers whose values are restored from frame to frame. */
struct unwind_regs {
	__u64 pc, sp, fp, bx, lr;
};

/* a larger C frame isn't believed; by default a whole stack has 8 MiB (ulimit -s) */
#define UNWIND_MAX_FRAME (64ull << 20)

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define UNWIND_REGS 32
#define SAVED_REGS  34
#define REG_FP	    29
#define REG_SP	    31
#define REG_BX	    19
#define REG_RESULT  0 /* DWARF number of the register with the result of a system call */
/*
 * Offsets in aarch64's ucontext. uc_mcontext is at 176. In it regs[31] is at 8, followed by sp and
 * pc.
 */
#define SIGNAL_PC 440
#define SIGNAL_SP 432
#define SIGNAL_FP 416
#define SIGNAL_BX 336
#define SIGNAL_LR 424
/* the registers that a call may change, x0 to x17, as bits by DWARF number */
#define CALLER_SAVED 0x3ffffu
/* bits of an address without a pointer authentication code */
#define CODE_BITS 0x0000ffffffffffffull
#else
#define UNWIND_REGS  16
#define SAVED_REGS   21 /* number of words in struct pt_regs */
#define REG_RESULT   0
#define REG_BX	     3
#define REG_FP	     6
#define REG_SP	     7
#define SIGNAL_PC    168 /* offset of pc in a ucontext: uc_mcontext.gregs begins at 40 */
#define SIGNAL_SP    160
#define SIGNAL_FP    120
#define SIGNAL_BX    128
/*
 * the registers that a call may change (rax, rdx, rcx, rsi, rdi, r8 to r11), as bits by DWARF
 * number
 */
#define CALLER_SAVED 0x0f37u
#define CODE_BITS    (~0ull)
#endif

#define code_address(pc) ((pc)&CODE_BITS)

#endif
