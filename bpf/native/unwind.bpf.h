/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwinds the native stack of the sampled thread, innermost frame first, into native_out. For each
 * frame a rule says where its caller's registers are (abi/unwind.h). The C stack is read in blocks
 * of up to a page. The addresses of the evaluation loops' own frames (struct walk_addrs) show which
 * native frame runs which Python frames. Only arch.bpf.h depends on the architecture.
 */
#ifndef BPF_NATIVE_H
#define BPF_NATIVE_H

#include "native/ahead.bpf.h"
#include "python/code.bpf.h"
#include "native/search.bpf.h"
#include "state.bpf.h"

#define NATIVE_GROUP_FRAMES 8 /* how many frames one call of native_group() unwinds */

/*
 * A part of SAMPLE_NS: from NATIVE_LEAST frames on, unwinding ends this long after the sample's
 * beginning. With cold caches 2,000 frames take 0.6 to 0.8 ms.
 */
#define NATIVE_NS    420000
#define NATIVE_LEAST 512

#define NATIVE_MEMOS 1024
#define STACK_BLOCK  4096

/*
 * The row of the code at .pc. It holds while the mappings have this version; rules never change.
 * The row is looked up again when the epoch changes, once a second: that marks its table as used.
 */
struct native_memo {
	__u64 pc;
	__u32 version, value;
	__u32 into; /* how many bytes pc is after the beginning of the row */
	__u32 epoch;
};

struct native {
	__u64 saved[SAVED_REGS]; /* scratch: the user registers as the kernel saved them */
	struct unwind_regs regs; /* registers in the frame that is unwound next */
	__u64 leaf[UNWIND_REGS]; /* all registers in the innermost frame, by DWARF number */
	__u64 hash;		 /* hash over the addresses so far */
	__u64 woken_ns;		 /* when user space was last woken because rows were missing */
	/* 3.11: _PyCFrame of the innermost evaluation loop whose native frame isn't found yet */
	__u64 loop;
	__u64 found_pc;		      /* for native_lookup(): the address to look up */
	__u64 block_start, block_len; /* which part of the C stack block[] holds */
	struct unwind_space space; /* mappings of this process as they were when the sample began */
	struct native_memo memos[NATIVE_MEMOS];
	/*
	 * native_lookup() sets these: value of the row, and bytes from the row's beginning to
	 * .found_pc
	 */
	__u32 found, found_into;
	__u32 epoch; /* unwind_epoch as it is now; not 0 */
	__u32 n;
	/*
	 * next group of Python frames (of one evaluation loop) whose native frame isn't found yet
	 */
	__u32 group;
	__u32 slot; /* value of walk.slot */
	__u8 outcome, done;
	__u8 exact;	   /* regs.pc is the address of an instruction, not a return address */
	__u8 leaf_only;	   /* unwinding ends at the evaluation loop of the innermost Python frame */
	__u8 instructions; /* the addresses of instructions are noted, not those of rows */
	__u8 innermost;	   /* regs are those in the innermost frame, so that all of leaf[] holds */
	__u8 second;	   /* regs are those in the innermost frame's caller */
	__u8 found_guarded; /* native_lookup() sets this: the row holds for this one look-up */
	__u8 block[STACK_BLOCK];
	__u8 block_slack[SLACK];
};

struct native_out {
	struct rec_native head;
	/* addresses: those of kernel frames, then those of native ones */
	__u64 pc[ABI_MAX_KERNEL + 1 + ABI_MAX_NATIVE];
};

/* What each user of the walkers defines for itself, as in state.bpf.h. */
walk_inline struct native *native_state(__u32 slot);
walk_inline struct native_out *native_out(__u32 slot);
walk_inline struct unwind_table *unwind_table_at(__u32 number);
walk_inline const struct unwind_rule *unwind_rule_at(__u32 number);

walk_inline void native_end(struct native *n, __u8 outcome)
{
	n->outcome = outcome;
	n->done = 1;
}

/* Returns the number of the chunk that has the mapping of @pc. */
walk_inline __u32 space_chunk_of(const struct native *n, __u64 pc)
{
	__u32 number = n->space.chunk[0];

	for (__u32 i = 1; i < SPACE_CHUNKS; i++) {
		const struct space_chunk *c;

		if (i >= n->space.chunks)
			break;
		c = (const void *)unwind_chunk_at(n->space.chunk[i]);
		if (!c || c->start[0] > pc)
			break;
		number = n->space.chunk[i];
	}
	return number;
}

/*
 * Finds the table of the code at @pc, and its offset in the table's code. Returns 0 or an outcome.
 */
walk_inline __u8 find_mapping(const struct native *n, __u64 pc, __u32 *table, __u32 *key)
{
	const struct space_chunk *c;
	__u64 off;
	__u32 i;

	if (!n->space.chunks || pc >= SPACE_UNUSED)
		return n->space.chunks ? NATIVE_UNMAPPED : NATIVE_NO_SPACE;
	c = (const void *)unwind_chunk_at(space_chunk_of(n, pc));
	if (!c)
		return NATIVE_NO_SPACE;
	i = bounded(search_space(c, pc), SPACE_MAPPINGS);
	off = pc - c->start[i];
	if (off >= (__u64)c->map[i].pages << 12)
		return NATIVE_UNMAPPED;
	*table = c->map[i].table;
	*key = c->map[i].key + (__u32)off;
	return 0;
}

/* Goes one level down: from chunk n->found to the value of its entry for @key. */
walk_inline bool descend(struct native *n, __u32 key)
{
	const struct unwind_chunk *c = unwind_chunk_at(n->found);
	__u32 i;

	if (!c)
		return false;
	i = bounded(search_chunk(c, key), UNWIND_FANOUT);
	n->found = c->value[i];
	n->found_into = key - c->key[i];
	return true;
}

/*
 * Are the @bytes of code at @start still those that its rows were made from? The process may change
 * them at any time.
 */
walk_inline bool guard_holds(__u32 slot, __u64 start, __u32 bytes, __u64 check)
{
	struct walk *w = walk_state(slot);

	if (!w)
		return false;
	w->acc = 0;
	w->acc_addr = start;
	w->acc_len = bytes;
	return !hash_bytes(slot) && w->acc == check;
}

/* Sets n->found to the value of the row for n->found_pc. Returns 0 or an outcome. */
walk_global int native_lookup(__u32 slot)
{
	struct native *n = native_state(slot);
	struct unwind_table *t;
	__u32 table = 0, key = 0;
	__u8 r;

	if (!n)
		return NATIVE_NO_SPACE;
	r = find_mapping(n, n->found_pc, &table, &key);
	if (r)
		return r;
	t = unwind_table_at(table);
	if (!t || !t->depth)
		return NATIVE_NO_ROWS;
	/* only if it differs: a write would take the cache line from other CPUs */
	if (t->used != n->epoch)
		t->used = n->epoch;
	n->found_guarded = t->guarded != 0;
	if (t->guarded && !guard_holds(slot, n->found_pc - key, t->guarded, t->check))
		return NATIVE_NO_ROWS;
	n->found = t->root;
	_Static_assert(UNWIND_LEVELS == 3, "");
	if (!descend(n, key) || (t->depth > 1 && !descend(n, key)) ||
	    (t->depth > 2 && !descend(n, key)))
		return NATIVE_NO_ROWS;
	return 0;
}

/* The row for the code at @pc. NULL, and an outcome set: there is none. */
walk_inline struct native_memo *find_row(struct native *n, __u64 pc)
{
	struct native_memo *memo = &n->memos[bounded(pc ^ pc >> 10, NATIVE_MEMOS)];
	int r;

	if (memo->pc == pc && memo->version == n->space.version && memo->epoch == n->epoch)
		return memo;
	n->found_pc = pc;
	r = native_lookup(n->slot);
	if (r) {
		native_end(n, r);
		return 0;
	}
	memo->pc = pc;
	memo->version = n->space.version;
	memo->epoch = n->found_guarded ? 0 : n->epoch;
	memo->value = n->found;
	memo->into = n->found_into;
	return memo;
}

/* Reads @addr's page from @addr on. If the walk comes from another page, reads all of it. */
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

/* The word at @addr of the C stack; 0 and an outcome set if it can't be read. */
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
 * Does leaf[] hold this frame's value of @reg? It does in the innermost frame. In its caller, it
 * does for registers that a call may change: if a rule needs one, the callee is code that doesn't
 * change it, such as assembly (OpenSSL's aesni_gcm_encrypt() and rax). gdb does the same.
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
 * The caller's value of a register. @slot: where it is saved, in units of 8 bytes from @base. @now:
 * the register's value in this frame.
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
 * The current frame reaches from the stack pointer to @cfa. If the evaluation loop of the next
 * group of Python frames lies in it, this frame becomes that group's native frame.
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
	if (!at) /* on 3.11 the group has no address: the loop's _PyCFrame is taken */
		at = n->loop;
	if (!at || at >= cfa)
		return;
	n->group = g + 1;
	if (at < n->regs.sp)
		return; /* it lies below this frame, so no native frame holds it */
	i = bounded(addrs->group[g].last, ABI_MAX_FRAMES);
	out->frame[i].flags |= (n->n) << FRAME_OWNER_SHIFT;
	n->hash = check_mix(n->hash, (__u64)i << 32 | n->n);
	if (n->loop == at)
		n->loop = stack_u64(n, at + w->loop_previous);
	if (n->leaf_only)
		native_end(n, NATIVE_LEAF);
}

/*
 * Goes on from a signal's frame to the code that it interrupted. That code's pc is exact, and its
 * stack may be another one.
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

/* Goes on to the caller of the current frame by @rule, or ends the walk if that isn't possible. */
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

/* Tells whether the frame is the first one of its thread. */
walk_inline bool is_outermost(struct native *n, const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_END ||
	       (rule->cfa == UNWIND_CLONE && !reg_value(n, REG_RESULT) && !n->done);
}

/*
 * Adds a frame by an address in its function. Mostly that is the beginning of its row, so that
 * samples in one function share a stack. It is the instruction's address if lines are to be shown,
 * and in code without a rule, where several functions may lie.
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

/* The rule of @row (NULL: no row was found). NULL, and an outcome set: there is no rule. */
walk_inline const struct unwind_rule *rule_of(struct native *n, struct native_memo *row)
{
	const struct unwind_rule *rule = row ? unwind_rule_at(row->value & UNWIND_RULE_MASK) : 0;

	if (rule && rule->cfa != UNWIND_UNKNOWN)
		return rule;
	if (row) {
		row->epoch = 0; /* a rule may come soon: docs/decisions/0011 */
		native_end(n, NATIVE_NO_RULE);
	}
	return 0;
}

/* Simulates one instruction of a trampoline. 0: the innermost frame is at none. */
walk_global int native_ahead_once(__u32 slot)
{
	struct native *n = native_state(slot);

	return n && run_ahead(&n->regs, n->leaf);
}

/*
 * If the innermost frame is a trampoline, sets n->regs to those a few instructions later and
 * returns 1.
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
	__u64 at = n->regs.pc - 1 + n->exact; /* no branch, as the verifier follows each */
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

#define NATIVE_GROUPS 16 /* how many groups one call of native_groups() unwinds */

/* Unwinds up to NATIVE_GROUPS groups of frames. Returns 1 if the unwinding is over. */
walk_global int native_groups(__u32 slot)
{
	for (int i = 0; i < NATIVE_GROUPS; i++)
		if (native_group(slot))
			return 1;
	return 0;
}

/* Unwinds from n->regs (set by the caller) until the end; @w's Python frames have been walked. */
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
 * Extends the id of @w's stack to all of its frames: n->hash covers the native and the kernel's
 * frames, of which there are @n_kernel. How both walks ended is part of the id, as it is of the
 * stack's record.
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
