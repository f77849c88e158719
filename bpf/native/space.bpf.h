/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the sampled thread is in native code and in the kernel, and whether what user space knows of
 * its process's mappings still holds (unmap.bpf.h).
 */
#ifndef BPF_SPACE_H
#define BPF_SPACE_H

#include "python/call.bpf.h"
#include "python/frames.bpf.h"
#include "process/proc.bpf.h"

#if defined(__TARGET_ARCH_arm64)
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
	/* Or clang makes the ends of both functions one, which read through a pointer into the context, or not. */
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
/* By DWARF number: ax dx cx bx si di bp sp r8 ... r15. */
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

/* pt_regs begins as the program's context does: 21 words in an order that is ABI. */
walk_inline bool read_saved(struct native *n, const void *at)
{
	struct bpf_perf_event_data *regs = (void *)n->saved;

	if (bpf_probe_read_kernel(n->saved, sizeof(n->saved), at))
		return false;
	LEAF_X86(n, regs);
	return (regs->cs & 0xffff) == 0x33; /* __USER_CS; 0x23 is 32-bit code */
}
#endif

/* The thread's user registers; false where there are none. */
walk_inline bool read_user_regs(struct native *n, struct task_struct *task,
				const struct bpf_perf_event_data *ctx)
{
	if (CTX_USER_MODE(ctx)) {
		read_leaf(n, ctx);
		return true;
	}
	return read_saved(n, saved_regs(task));
}

/* Does what was copied from @now hold for process @key? @before_ns: proc_entry.space_before_ns. */
walk_inline bool space_holds(const struct unwind_space *s, const struct unwind_space *now,
			     const struct proc_key *key, __u64 before_ns)
{
	/* Written by user space at any time: the version is changed first and last. */
	if (s->version != now->version || s->unmaps != s->at_unmaps || s->chunks > SPACE_CHUNKS)
		return false;
	if (s->owner_start_ns == key->start_ns && s->owner_tgid == key->tgid &&
	    s->owner_exec == key->exec_id)
		return true;
	/* Read before the first sample. Only the entry of the image that was adopted leads here. */
	if (!s->owner_start_ns && s->owner_tgid == key->tgid)
		return true;
	return s->read_ns < before_ns;
}

/* Takes over what is known of the mappings of process w->proc; version and chunks are 0 if nothing holds. */
walk_inline void copy_space(struct native *n, const struct walk *w)
{
	const struct unwind_space *s = w->space ? bpf_map_lookup_elem(&spaces, &w->space) : 0;

	if (s) {
		n->space = *s;
		barrier();
		if (space_holds(&n->space, s, &w->proc, w->space_before_ns))
			return;
	}
	n->space.version = n->space.chunks = 0;
}

/* The kernel's frames, if the sample hit it; how many. */
walk_inline __u32 take_kernel(struct bpf_perf_event_data *ctx, struct native_out *no)
{
	long n;

	if (!kernel_stacks || CTX_USER_MODE(ctx))
		return 0;
	n = bpf_get_stack(ctx, no->pc, ABI_MAX_KERNEL * sizeof(__u64), 0);
	if (n < 0 || n > (long)(ABI_MAX_KERNEL * sizeof(__u64)))
		return 0;
	return (__u32)n / sizeof(__u64);
}

/* Hash over the kernel's frames. */
walk_global int hash_kernel(void)
{
	struct native_out *no = native_out();
	struct native *n = native_state();

	if (!no || !n)
		return 0;
	for (__u32 i = 0; i < ABI_MAX_KERNEL; i++) {
		if (i >= no->head.n_kernel)
			break;
		n->hash = check_mix(n->hash, no->pc[i]);
	}
	return 0;
}

/* What is wanted begins with many mappings in a few milliseconds; on a whole machine too many processes do. */
#define WAKE_APART_NS	    (10 * 1000000ull)
#define WAKE_APART_YOUNG_NS (1 * 1000000ull)
#define YOUNG_NS	    (2 * 1000000000ull)

walk_inline bool is_time_to_wake(struct native *n, const struct walk *w)
{
	__u64 now = bpf_ktime_get_ns();
	bool young = !whole_machine && now - w->proc.start_ns < YOUNG_NS;

	if (now - n->woken_ns < (young ? WAKE_APART_YOUNG_NS : WAKE_APART_NS))
		return false;
	n->woken_ns = now;
	return true;
}

/*
 * Is user space to look at once? Where code was met that isn't in the mappings, once for each reading of
 * them; where these don't hold any more or a file's rows are missing, now and then.
 */
walk_inline bool is_urgent(struct native *n, const struct walk *w)
{
	__u32 slot = w->space;
	struct unwind_space *s;

	if (patient)
		return false;
	if (n->outcome == NATIVE_NO_ROWS || n->outcome == NATIVE_NO_SPACE)
		return is_time_to_wake(n, w);
	if (n->outcome != NATIVE_UNMAPPED)
		return false;
	s = slot ? bpf_map_lookup_elem(&spaces, &slot) : 0;
	if (!s || s->asked == s->version)
		return false;
	s->asked = s->version;
	return true;
}

/*
 * Is a collection of the sampled thread's interpreter under way, and C code between this thread's Python frames? Then
 * that may be the collector, which called a finalizer.
 */
walk_inline bool may_be_in_collector(const struct walk *w)
{
	const struct py_layout *l = walk_layout(w->where.layout);
	__u32 collecting = 0;

	if (!l || !l->interp_collecting || w->thread != THREAD_STATE)
		return false;
	if ((l->walk == PY_WALK_OBJECT ? w->n : w->groups) < 2)
		return false;
	return !read_user(&collecting, sizeof(collecting), w->interp + l->interp_collecting) &&
	       collecting;
}

/*
 * Adds the native and the kernel's frames to the stack of @w, whose Python frames were walked, native ones only
 * where @user. Returns enum native_outcome.
 */
walk_inline int add_native(struct bpf_perf_event_data *ctx, bool user)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct walk *w = walk_state();
	struct native *n = native_state();
	struct native_out *no = native_out();

	if (!w || !n || !no)
		return NATIVE_NONE;
	n->n = 0;
	n->hash = 0;
	n->outcome = NATIVE_NONE;
	no->head.n_kernel = take_kernel(ctx, no);
	if (user && native_mode != NATIVE_MODE_NONE && read_user_regs(n, task, ctx)) {
		n->leaf_only = native_mode == NATIVE_MODE_LEAF && !may_be_in_collector(w);
		n->instructions = native_instructions;
		n->epoch = unwind_epoch;
		copy_space(n, w);
		walk_native(n, w);
		w->urgent = is_urgent(n, w);
	}
	if (no->head.n_kernel)
		hash_kernel();
	identify_stack(w, n, no->head.n_kernel);
	return n->outcome;
}

walk_global int take_native(struct bpf_perf_event_data *ctx)
{
	return add_native(ctx, true);
}

walk_global int take_kernel_only(struct bpf_perf_event_data *ctx)
{
	return add_native(ctx, false);
}

#endif
