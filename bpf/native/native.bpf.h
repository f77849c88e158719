/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state that unwinding of one native stack needs, and the buffer for its results. */
#ifndef BPF_NATIVE_NATIVE_H
#define BPF_NATIVE_NATIVE_H

#include "state.bpf.h"

#define NATIVE_MEMOS 1024
#define STACK_BLOCK  4096

/*
 * Remembers the unwind row of the code at .pc. The row is valid as long as the version of the
 * mappings is .version. (Rules never change.) Once a second, when .epoch (a time in seconds) is no
 * longer the present one, the row is looked up again, because only looking it up marks its table as
 * used.
 */
struct native_memo {
	__u64 pc;
	__u32 version, value;
	__u32 into; /* how many bytes .pc lies after the beginning of the row */
	__u32 epoch;
};

struct native {
	__u64 saved[SAVED_REGS]; /* buffer for the user registers as the kernel saved them */
	struct unwind_regs regs; /* registers in the frame that is unwound next */
	__u64 leaf[UNWIND_REGS]; /* all registers in the innermost frame, by DWARF number */
	__u64 hash;		 /* hash over the addresses of the frames so far */
	__u64 woken_ns; /* when user space was last woken because rows or mappings were missing */
	/*
	 * 3.11: _PyCFrame of the innermost evaluation loop for which no native frame was found yet
	 */
	__u64 loop;
	__u64 found_pc;		      /* native_lookup() looks up the row of this address */
	__u64 block_start, block_len; /* which part of the C stack is in block[] */
	struct unwind_space space; /* mappings of this process as they were when the sample began */
	struct native_memo memos[NATIVE_MEMOS];
	/*
	 * native_lookup() sets these: value of the row, and bytes from the row's beginning to
	 * .found_pc
	 */
	__u32 found, found_into;
	__u32 epoch; /* value of unwind_epoch, a time in seconds, when the sample began; not 0 */
	__u32 n;
	/*
	 * index of the next group of Python frames (all frames that one C evaluation loop runs) for
	 * which no native frame was found yet
	 */
	__u32 group;
	__u32 slot; /* value of walk.slot */
	__u8 outcome, done;
	/* regs.pc is the address of an instruction that runs, not a return address */
	__u8 exact;
	__u8 leaf_only;	   /* unwinding ends at the evaluation loop of the innermost Python frame */
	__u8 instructions; /* stacks get addresses of instructions, not addresses of unwind rows */
	/* regs are the registers in the innermost frame, so all of leaf[] is valid */
	__u8 innermost;
	__u8 second; /* regs are the registers in the innermost frame's caller */
	/*
	 * native_lookup() sets this: the row may become invalid, so it is looked up again next time
	 */
	__u8 found_guarded;
	__u8 block[STACK_BLOCK];
	__u8 block_slack[SLACK];
};

struct native_out {
	struct rec_native head;
	/* addresses of the kernel's frames, followed by the addresses of native frames */
	__u64 pc[ABI_MAX_KERNEL + 1 + ABI_MAX_NATIVE];
};

/*
 * Functions that each program with the walkers defines for itself; see "The seam" in state.bpf.h.
 */
walk_inline struct native *native_state(__u32 slot);
walk_inline struct native_out *native_out(__u32 slot);
walk_inline struct unwind_table *unwind_table_at(__u32 number);
walk_inline const struct unwind_rule *unwind_rule_at(__u32 number);

walk_inline void native_end(struct native *n, __u8 outcome)
{
	n->outcome = outcome;
	n->done = 1;
}

#endif
