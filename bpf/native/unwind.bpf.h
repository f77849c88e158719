/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwinds the native stack of the sampled thread, innermost frame first, into native_out. For each
 * frame a rule (abi/unwind.h) says where the registers of its caller are. The C stack is read in
 * blocks of up to a page. The addresses of the evaluation loops' own frames (struct walk_addrs)
 * show which native frame runs which Python frames. Only arch.bpf.h depends on the architecture.
 */
#ifndef BPF_NATIVE_UNWIND_H
#define BPF_NATIVE_UNWIND_H

#include "native/ahead.bpf.h"
#include "native/lookup.bpf.h"

#define NATIVE_GROUP_FRAMES 8 /* how many frames one call of native_group() unwinds */

/*
 * Unwinding ends when the sample has taken this long, if NATIVE_LEAST frames have been unwound.
 * This is a part of SAMPLE_NS. With cold caches 2,000 frames take 0.6 to 0.8 ms.
 */
#define NATIVE_NS    420000
#define NATIVE_LEAST 512

/*
 * Reads the C stack at @addr into n->block. The first read of an unwinding begins at @addr, and
 * later reads begin where the page of @addr does. A read ends with the page. Returns -1 if the
 * memory can't be read.
 */
walk_global int load_stack(__u32 slot, __u64 addr)
{
	struct native *n = native_state(slot);
	struct walk *w = walk_state(slot);
	__u64 start, len;

	if (!n || !w)
		return -1;
	start = n->block_len ? addr & ~(__u64)(STACK_BLOCK - 1) : addr & ~7ull;
	len = STACK_BLOCK - (start & (STACK_BLOCK - 1));
	opaque(len);
	if (len > STACK_BLOCK)
		return -1;
	n->block_len = 0;
	if (read_user(n->block, (__u32)len, start)) {
		note_absent(w, ABSENT_NATIVE, start, len);
		return -1;
	}
	n->block_start = start;
	n->block_len = len;
	return 0;
}

/*
 * Returns the word at @addr of the C stack. If it can't be read or isn't aligned, ends the
 * unwinding with an outcome and returns 0.
 */
walk_inline __u64 stack_u64(struct native *n, __u64 addr)
{
	__u64 at = addr - n->block_start;

	if (addr & 7) {
		native_end(n, NATIVE_NO_PROGRESS);
		return 0;
	}
	if (at >= n->block_len) {
		if (load_stack(n->slot, addr)) {
			native_end(n, NATIVE_STACK_FAULT);
			return 0;
		}
		at = addr - n->block_start;
	}
	return load_u64(n->block + bounded(at, STACK_BLOCK));
}

/*
 * Does leaf[] have the value of @reg in this frame? In the innermost frame, leaf[] has the values
 * of all registers. In the innermost frame's caller, leaf[] is taken to have the values of the
 * registers that a call may change. The caller's rule needs such a register only if the innermost
 * function doesn't change that register. Assembly may have such functions: OpenSSL's
 * aesni_gcm_encrypt() doesn't change rax. gdb assumes the same.
 */
walk_inline bool is_in_leaf(const struct native *n, __u8 reg)
{
	return reg < UNWIND_REGS && (n->innermost || (n->second && CALLER_SAVED >> reg & 1));
}

/* Returns the value of register @reg in the frame that is unwound. */
walk_inline __u64 reg_value(struct native *n, __u8 reg)
{
	if (reg == REG_SP)
		return n->regs.sp;
	if (reg == REG_FP)
		return n->regs.fp;
	if (reg == REG_BX)
		return n->regs.bx;
	if (is_in_leaf(n, reg))
		return n->leaf[bounded(reg, UNWIND_REGS)];
	native_end(n, NATIVE_NO_REGISTER);
	return 0;
}

/* Returns the canonical frame address of the frame that is unwound. */
walk_inline __u64 frame_address(struct native *n, const struct unwind_rule *rule)
{
	__u64 base = reg_value(n, rule->reg), cfa = base + (__s64)rule->off;

	if (rule->cfa == UNWIND_PLT)
		cfa = n->regs.sp + 8 + ((n->regs.pc & 15) >= (__u32)rule->off ? 8 : 0);
	else if (rule->cfa == UNWIND_INDEXED)
		cfa += 8 * reg_value(n, rule->index);
	if (rule->cfa == UNWIND_DEREF || rule->cfa == UNWIND_INDEXED)
		cfa = stack_u64(n, cfa) + (__s64)rule->off2;
	return cfa;
}

/*
 * Returns the caller's value of a register. @slot says where the value is saved, in units of 8
 * bytes from @base. @now is the register's value in this frame.
 */
walk_inline __u64 saved(struct native *n, __u64 base, __s16 slot, __u64 now)
{
	if (slot == UNWIND_SAME)
		return now;
	if (slot == UNWIND_LOST)
		return 0;
	return stack_u64(n, base + (__s64)slot * 8);
}

/*
 * Notes which Python frames the current native frame runs. Python frames that one C evaluation loop
 * runs are a group. Each group has an address that lies in that loop's C frame. If the next group's
 * address lies between this frame's stack pointer and @cfa, the current native frame is that loop.
 */
walk_inline void own_group(struct native *n, struct walk *w, struct walk_out *out,
			   struct walk_addrs *addrs, __u64 cfa)
{
	__u32 g = n->group, i;
	__u64 at;

	if (g >= w->groups)
		return;
	g = bounded(g, ABI_MAX_FRAMES);
	at = addrs->group[g].addr;
	/*
	 * on 3.11 a group (the Python frames of one evaluation loop) has no address of its own, so
	 * the address of its loop's _PyCFrame is taken
	 */
	if (!at)
		at = n->loop;
	if (!at || at >= cfa)
		return;
	n->group = g + 1;
	if (at < n->regs.sp)
		/*
		 * the address of the next group of Python frames lies below this frame, so no frame
		 * further out contains it
		 */
		return;
	i = bounded(addrs->group[g].last, ABI_MAX_FRAMES);
	out->frame[i].flags |= (n->n) << FRAME_OWNER_SHIFT;
	n->hash = check_mix(n->hash, (__u64)i << 32 | n->n);
	if (n->loop == at)
		n->loop = stack_u64(n, at + w->loop_previous);
	if (n->leaf_only)
		native_end(n, NATIVE_LEAF);
}

/*
 * Goes on from a signal's frame to the code that the signal interrupted. The pc of that code is the
 * address of an instruction, not a return address. That code may run on another stack.
 */
walk_inline void unwind_signal(struct native *n, const struct unwind_rule *rule)
{
	__u64 at = n->regs.sp + (__s64)rule->off;

	n->regs.fp = stack_u64(n, at + SIGNAL_FP);
	n->regs.bx = stack_u64(n, at + SIGNAL_BX);
	n->regs.pc = stack_u64(n, at + SIGNAL_PC);
#ifdef SIGNAL_LR
	n->regs.lr = stack_u64(n, at + SIGNAL_LR);
#endif
	n->regs.sp = stack_u64(n, at + SIGNAL_SP);
	n->exact = 1;
	n->innermost = n->second = 0;
}

/*
 * Goes on to the caller of the current frame by @rule. If that isn't possible, ends the unwinding.
 */
walk_inline void native_up(struct native *n, struct walk *w, struct walk_out *out,
			   struct walk_addrs *addrs, const struct unwind_rule *rule)
{
	__u64 cfa, pc, fp, bx;

	if (rule->cfa == UNWIND_SIGNAL) {
		unwind_signal(n, rule);
		return;
	}
	cfa = frame_address(n, rule);
	if (n->done)
		return;
	if (cfa < n->regs.sp + !n->innermost || cfa - n->regs.sp > UNWIND_MAX_FRAME) {
		native_end(n, NATIVE_NO_PROGRESS);
		return;
	}
	own_group(n, w, out, addrs, cfa);
	if (n->done)
		return;
	bx = saved(n, rule->slots & UNWIND_BX_FROM_FP ? n->regs.fp : cfa, rule->bx, n->regs.bx);
	fp = saved(n, rule->slots & UNWIND_FP_FROM_FP ? n->regs.fp : cfa, rule->fp, n->regs.fp);
	pc = rule->slots & UNWIND_RA_IN_INDEX ? reg_value(n, rule->index)
					      : saved(n, cfa, rule->ra, n->regs.lr);
	if (n->done)
		return;
	n->regs = (struct unwind_regs){.pc = code_address(pc), .sp = cfa, .fp = fp, .bx = bx};
	n->exact = 0;
	n->second = n->innermost;
	n->innermost = 0;
	if (!pc) /* the C library sets the return address of a thread's first frame to 0 */
		native_end(n, NATIVE_WHOLE);
}

/* Tells whether the frame is the first frame of its thread. */
walk_inline bool is_outermost(struct native *n, const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_END ||
	       (rule->cfa == UNWIND_CLONE && !reg_value(n, REG_RESULT) && !n->done);
}

/*
 * Adds a frame, whose address @at lies in its function. Usually @at is the beginning of an unwind
 * row, so that samples in one function share a stack. If lines are to be shown, or if the code has
 * no rule and so may hold several functions, @at is the address of the instruction.
 */
walk_inline void push_native(struct native *n, struct native_out *no, __u64 at)
{
	__u32 i = no->head.n_kernel + n->n;

	if (i >= ABI_MAX_KERNEL + 1 + ABI_MAX_NATIVE)
		return;
	no->pc[i] = at;
	n->n++;
	n->hash = check_mix(n->hash, at);
}

/*
 * Returns the rule of @row, which is NULL if no row was found. If there is no rule, ends the
 * unwinding with an outcome and returns NULL.
 */
walk_inline const struct unwind_rule *rule_of(struct native *n, struct native_memo *row)
{
	const struct unwind_rule *rule = row ? unwind_rule_at(row->value & UNWIND_RULE_MASK) : 0;

	if (rule && rule->cfa != UNWIND_UNKNOWN)
		return rule;
	if (row) {
		/*
		 * the row is looked up again next time, because a rule may come soon:
		 * docs/decisions/0011
		 */
		row->epoch = 0;
		native_end(n, NATIVE_NO_RULE);
	}
	return 0;
}

/*
 * Simulates the instruction at the program counter. Returns 0 if trampolines don't have this
 * instruction.
 */
walk_global int native_ahead_once(__u32 slot)
{
	struct native *n = native_state(slot);

	return n && run_ahead(&n->regs, n->leaf);
}

/*
 * If the innermost frame is a trampoline, sets n->regs to the registers a few instructions later
 * and returns 1.
 */
walk_global int native_ahead(__u32 slot)
{
	const struct native *n = native_state(slot);
	__u64 from;

	if (!n)
		return 0;
	from = n->regs.pc;
	for (int i = 0; i < AHEAD_MAX; i++)
		if (!native_ahead_once(slot))
			break;
	return n->regs.pc != from;
}

walk_inline void native_step(struct native *n, struct native_out *no, struct walk *w,
			     struct walk_out *out, struct walk_addrs *addrs)
{
	__u64 at = n->regs.pc - 1 +
		   /* computed without a branch, because the verifier follows each branch */
		   n->exact;
	const struct unwind_rule *rule;
	struct native_memo *row;

	row = find_row(n, at);
	rule = rule_of(n, row);
	push_native(n, no, rule && !n->instructions ? at - row->into : at);
	if (!rule && n->innermost && native_ahead(w->slot)) {
		n->done = 0;
		row = find_row(n, n->regs.pc);
		rule = rule_of(n, row);
	}
	if (!rule)
		return;
	if (n->leaf_only && w->n && (row->value & UNWIND_EVAL) && !w->groups)
		/* up to 3.10 each evaluation loop runs one Python frame */
		native_end(n, NATIVE_LEAF);
	else if (is_outermost(n, rule))
		native_end(n, NATIVE_WHOLE);
	else
		native_up(n, w, out, addrs, rule);
}

/* Unwinds up to NATIVE_GROUP_FRAMES frames. Returns 1 if the unwinding is over. */
walk_global int native_group(__u32 slot)
{
	struct native *n = native_state(slot);
	struct native_out *no = native_out(slot);
	struct walk *w = walk_state(slot);
	struct walk_out *out = walk_out(slot);
	struct walk_addrs *addrs = walk_addrs(slot);

	if (!n || !no || !w || !out || !addrs)
		return 1;
	for (int i = 0; i < NATIVE_GROUP_FRAMES; i++) {
		if (n->done)
			return 1;
		if (n->n >= ABI_MAX_NATIVE) {
			native_end(n, NATIVE_TRUNCATED);
			return 1;
		}
		native_step(n, no, w, out, addrs);
	}
	if (n->n >= NATIVE_LEAST && !n->done && walk_clock() - w->began_ns > NATIVE_NS)
		native_end(n, NATIVE_LATE);
	return n->done;
}

#define NATIVE_GROUPS 16 /* how many times one call of native_groups() calls native_group() */

/* Unwinds up to NATIVE_GROUPS * NATIVE_GROUP_FRAMES frames. Returns 1 if the unwinding is over. */
walk_global int native_groups(__u32 slot)
{
	for (int i = 0; i < NATIVE_GROUPS; i++)
		if (native_group(slot))
			return 1;
	return 0;
}

/*
 * Unwinds the native stack from n->regs on, which the caller has set. @w's Python frames have been
 * walked.
 */
walk_inline void walk_native(struct native *n, struct walk *w)
{
	n->n = n->group = 0;
	n->hash = 0;
	n->slot = w->slot;
	n->done = 0;
	w->hashed = 0;
	n->outcome = NATIVE_WHOLE;
	n->block_start = n->block_len = 0;
	n->loop = w->loop;
	n->exact = n->innermost = 1;
	n->second = 0;
	for (int i = 0; i < ABI_MAX_NATIVE / (NATIVE_GROUP_FRAMES * NATIVE_GROUPS) + 1; i++)
		if (native_groups(n->slot))
			break;
}

/*
 * Extends the id of @w's stack, which covers its Python frames, to the native and the kernel's
 * frames. n->hash is the hash over the native and the kernel's frames. @n_kernel is the number of
 * kernel frames. The id also depends on how both walks ended, because the record of the stack says
 * this.
 */
walk_inline void identify_stack(struct walk *w, const struct native *n, __u32 n_kernel)
{
	if (!n->n && !n_kernel) {
		if (!w->n)
			w->hash = 0;
		return;
	}
	if (!w->n)
		w->hash = check_mix(w->proc_hash, w->outcome);
	w->hash = check_mix(check_mix(w->hash, n->hash),
			    (__u64)n->space.version << 32 | n->n << 8 | n->outcome) |
		  1;
}

#endif
