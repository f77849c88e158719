/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the user registers of the current thread. If the event interrupted user mode, they are in
 * the program's context. Else they are where the kernel saved them on entry.
 */
#ifndef BPF_NATIVE_REGISTERS_H
#define BPF_NATIVE_REGISTERS_H

#include "maps.bpf.h"
#include "native/saved.bpf.h"

/* Returns the saved registers of the current thread. */
walk_inline const void *saved_regs(void)
{
	if (HAS_TASK_REGS)
		return (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return regs_on_stack((void *)bpf_get_current_task());
}

#if defined(__TARGET_ARCH_arm64)
walk_inline __u64 saved_sp(void)
{
	const struct pt_regs___a64 *regs = saved_regs();

	return BPF_CORE_READ(regs, sp);
}

walk_inline void take_regs(struct native *n, __u64 pc)
{
	n->regs = (struct unwind_regs){.pc = pc,
				       .sp = n->leaf[31],
				       .fp = n->leaf[29],
				       .bx = n->leaf[19],
				       .lr = n->leaf[30]};
}

walk_inline void read_leaf(struct native *n, const struct bpf_perf_event_data *ctx)
{
	__u64 pc = ctx->pc;

#pragma unroll
	for (int i = 0; i < 31; i++)
		n->leaf[i] = ctx->regs[i];
	n->leaf[31] = ctx->sp;
	/*
	 * This keeps clang from merging the ends of read_leaf() and read_saved(). The verifier
	 * refuses code that reads the context on one path and a map value on the other.
	 */
	barrier();
	take_regs(n, pc);
}

walk_inline bool read_saved(struct native *n, const void *at)
{
	const struct pt_regs___a64 *regs = at;

	if (bpf_core_read(n->leaf, sizeof(__u64) * 31, &regs->regs))
		return false;
	n->leaf[31] = BPF_CORE_READ(regs, sp);
	take_regs(n, BPF_CORE_READ(regs, pc));
	return true;
}
#else
walk_inline __u64 saved_sp(void)
{
	__u64 sp = 0;

	bpf_probe_read_kernel(&sp, sizeof(sp), saved_regs() + 19 * sizeof(__u64));
	return sp;
}

/* Lists registers by DWARF number: ax dx cx bx si di bp sp r8 ... r15. */
#define LEAF_X86(n, from)                                                                          \
	do {                                                                                       \
		(n)->leaf[0] = (from)->ax;                                                         \
		(n)->leaf[1] = (from)->dx;                                                         \
		(n)->leaf[2] = (from)->cx;                                                         \
		(n)->leaf[3] = (from)->bx;                                                         \
		(n)->leaf[4] = (from)->si;                                                         \
		(n)->leaf[5] = (from)->di;                                                         \
		(n)->leaf[6] = (from)->bp;                                                         \
		(n)->leaf[7] = (from)->sp;                                                         \
		(n)->leaf[8] = (from)->r8;                                                         \
		(n)->leaf[9] = (from)->r9;                                                         \
		(n)->leaf[10] = (from)->r10;                                                       \
		(n)->leaf[11] = (from)->r11;                                                       \
		(n)->leaf[12] = (from)->r12;                                                       \
		(n)->leaf[13] = (from)->r13;                                                       \
		(n)->leaf[14] = (from)->r14;                                                       \
		(n)->leaf[15] = (from)->r15;                                                       \
		(n)->regs = (struct unwind_regs){                                                  \
			.pc = (from)->ip, .sp = (from)->sp, .fp = (from)->bp, .bx = (from)->bx};   \
	} while (0)

walk_inline void read_leaf(struct native *n, const struct bpf_perf_event_data *ctx)
{
	LEAF_X86(n, ctx);
}

/*
 * struct pt_regs begins with the same 21 words as the context of a perf program; their order is
 * ABI.
 */
walk_inline bool read_saved(struct native *n, const void *at)
{
	struct bpf_perf_event_data *regs = (void *)n->saved;

	if (bpf_probe_read_kernel(n->saved, sizeof(n->saved), at))
		return false;
	LEAF_X86(n, regs);
	/* 0x33 is __USER_CS, the code segment of 64-bit code; 32-bit code has 0x23 */
	return (regs->cs & 0xffff) == 0x33;
}
#endif

/*
 * Takes the user registers that the kernel saved when the thread entered the kernel. Returns 0 if
 * there are no user registers.
 */
walk_global int take_saved_regs(__u32 slot)
{
	struct native *n = native_state(slot);

	return n && read_saved(n, saved_regs());
}

#endif
