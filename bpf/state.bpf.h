/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State of the walkers, the code that follows Python frames and native frames. Also declares the
 * few functions through which the walkers read a target's memory, the clock and the maps (the
 * seam). Walk state lies in a per-CPU map value. The verifier treats values loaded from a map as
 * unknown, so it verifies the code for one frame once, however deep a stack is. Groups of frames
 * are walked by global functions, whose arguments are scalars (5.10 allows no others). The same
 * walkers are compiled for the host (tests/host). On the host, the functions of the seam read a
 * memory image or a live process.
 */
#ifndef BPF_STATE_H
#define BPF_STATE_H

#include "records.h"
#include "check.h"

#ifdef __bpf__
#define walk_inline static __attribute__((always_inline)) inline
#define walk_global __attribute__((noinline))
/*
 * A function with a stack of its own, which may take pointers. The verifier checks it again for
 * each call, with what it knows of the arguments of that call.
 */
#define walk_apart static __attribute__((noinline))
/* Keeps the compiler from proving (and so removing) a bound that only the verifier needs. */
#define opaque(x)   asm volatile("" : "+r"(x))
#define walk_unroll _Pragma("unroll")
#else
#define walk_inline static inline
#define walk_global
#define walk_apart static
#define opaque(x)  ((void)0)
#define walk_unroll
#endif

#define GROUP_FRAMES 4 /* how many frames one call of walk_group() walks */
#define FRAME_BYTES  PY_FRAME_BYTES
/*
 * how many bytes of a PyFrameObject are read, from f_back on; f_lasti is up to 96 bytes after
 * f_back (3.6)
 */
#define OBJECT_BYTES 104
#define BLOCK_BYTES  4096
#define OBJECT_ROOM  512
#define TEXT_BYTES   256
/* how many spare bytes are behind every buffer; no access at a masked offset is larger */
#define SLACK 256

/* Do the frames of the innermost evaluation loop really belong to this loop? (3.11, 3.12) */
enum inner {
	INNER_PROVED, /* the innermost loop's frames lead to walk.outer, or need no proof */
	/* the innermost loop's frames haven't been found to lead to walk.outer yet */
	INNER_UNPROVED,
	/*
	 * the innermost loop's frames were dropped, and the walk restarted in the next loop further
	 * out, whose frames aren't proved yet
	 */
	INNER_DROPPED,
	/*
	 * the innermost loop's frames were dropped, and the walk restarted at a frame that no loop
	 * is proved to run
	 */
	INNER_FOUND,
};

/*
 * Do the callers of the innermost frame need a proof? They do while it hasn't run an instruction
 * yet: until then its link to its caller may be left over from another frame (caller.bpf.h).
 */
enum fresh {
	FRESH_NOT, /* the innermost frame has run an instruction, or its callers are proved */
	/*
	 * the innermost frame hasn't run an instruction, and the walk hasn't come to a caller yet
	 */
	FRESH,
	/*
	 * the innermost frame's caller is the generator that was resumed last; it isn't known yet
	 * whether the frames further out are right
	 */
	FRESH_RESUMED,
};

/* What is known of the PyThreadState of the sampled thread. */
enum walk_thread { THREAD_UNKNOWN, THREAD_NONE, THREAD_STATE };

/* Up to 3.11: is the thread's PyThreadState the interpreter's current thread state? */
enum walk_current { CURRENT_UNKNOWN, CURRENT_NO, CURRENT_YES };

#define MEMO_FILES  8
#define SENT_STACKS 128
#define PROOF_SETS  256
#define PROOF_WAYS  4
/* walk.seen: number of its sets, number of indices in each set, and bits of an index */
#define SEEN_SETS 256
#define SEEN_WAYS 3
#define SEEN_BITS 10
/* the most bytes of names and line tables that a sample hashes: about 0.3 ms */
#define HASH_BUDGET (512 << 10)

/*
 * Interrupts are off while a sample is taken, so it may take SAMPLE_NS at most. To prove a code
 * object (to compute its check) takes 0.5 to 1 us if the check is in no cache. To send the code
 * object takes as long. From PROVE_LEAST frames or HASH_LEAST bytes on, proving may take PROVE_NS.
 * The time for reading frames isn't part of PROVE_NS: on a busy machine reading alone takes 0.3 ms,
 * and deep stacks would lack their outermost functions. Sending ends SEND_NS after the sample's
 * beginning. Up to PROVE_LEAST, HASH_LEAST and SEND_LEAST, a sample proves and sends however long
 * that takes.
 */
#define SAMPLE_NS 500000
/* for up to this many frames, the time for proving code objects isn't limited */
#define PROVE_LEAST 192
#define PROVE_NS    130000
#define PROVE_LATE  16 /* how many code objects are proved even after PROVE_NS */
/* for up to this many bytes of HASH_BUDGET, the time for proving code objects isn't limited */
#define HASH_LEAST (64 << 10)
#define SEND_NS	   300000
#define SEND_LEAST 16 /* this many code objects are sent even if SEND_NS is over */

/*
 * The check of a code object, which is kept from sample to sample. The key changes whenever another
 * code object could have the same address: when any code object was made (3.12+), or when the
 * function's version changes (3.11). If neither is known, the check is good for one sample only
 * (walk.seen).
 */
struct proof {
	__u64 key, check;
};

/* Kinds of objects that load_near() reads. Their number is a power of two, for bounded(). */
enum near_kind { NEAR_CODE, NEAR_NAME, NEAR_TABLE, NEAR_MAX = 4 };

#define NEAR_BYTES    1024
#define SHARED_PLACES 256

/* The hash of a file name, which is valid in one sample. */
struct memo {
	__u64 addr, check, sample;
};

/*
 * 3.12: the distance from the _PyCFrame of a C evaluation loop to the loop's own frame, its shim.
 * It is the same for all loops of an interpreter (build_of()).
 */
struct shim_memo {
	__u64 build, offset;
	__u64 seen; /* how often this distance was found, at most SHIM_SEEN */
};

#define SHIM_MEMOS 64
/* how often another distance must be found before it replaces the distance in a shim_memo */
#define SHIM_SEEN 16

struct walk {
	/* the sample that is being taken, unless moment.kept says where it is */
	struct rec_sample rec;
	struct proc_key proc;
	struct py_where where;
	__u32 space;	       /* slot of the process's mappings in map `spaces`; 0: none */
	__u64 space_before_ns; /* copy of proc_entry.space_before_ns */
	__u64 tp;	       /* thread pointer of the thread that is sampled */
	__u64 sp;	       /* user stack pointer of the sampled thread; 0: not known */
	__u64 tstate;	       /* PyThreadState of the sampled thread */
	__u64 interp;	       /* PyInterpreterState that .tstate belongs to */
	union {
		__u64 listed; /* 2.7: search_list() sets this: hash over the listed thread states */
		/* 3.11, 3.12: end of the data stack's present chunk */
		__u64 stack_limit;
	};
	__u32 gil_word;	  /* the word of the thread state at offset py_layout.tstate_gil */
	__s32 gil_locked; /* `locked` of the GIL, if .gil_read */
	__u64 gil_holder; /* `last_holder` of the GIL, if .gil_read */
	__u8 gil_requested;
	__u8 gil_read; /* whether .gil_locked and .gil_holder are known */
	__u8 thread;   /* enum walk_thread: what is known of the thread's state */
	__u8 current;  /* enum walk_current: whether .tstate is the current thread state */
	__u64 frame;   /* the frame that is read next; 0: the chain has ended */
	__u64 outer;   /* 3.11, 3.12: innermost frame of the next evaluation loop further out */
	/*
	 * a frame that this walk has passed; if the walk comes to it again, the chain is a circle
	 */
	__u64 mark;
	/* hash over the frames so far: in the end the stack's id (rec_sample.stack) */
	__u64 hash;
	__u64 proc_hash; /* hash over .proc, with which .hash begins */
	/* range of the target's addresses whose contents block[] has */
	__u64 block_start, block_end;
	__u64 lone;	/* address of the last frame that wasn't in block[] */
	__u64 sample;	/* number of this walk, which tells apart samples */
	__u64 began_ns; /* walk_clock() when this walk began */
	/* when the BPF program began; only set if capture() measures how long samples take */
	__u64 timed_ns;
	/* for each kind of object: address of the NEAR_BYTES bytes that block[] holds */
	__u64 near[NEAR_MAX];
	/*
	 * for each kind of object: address of the NEAR_BYTES bytes with the last object that wasn't
	 * in block[]
	 */
	__u64 met[NEAR_MAX];
	__u64 made_hash;  /* hash over proc_hash, interp and codes_made */
	__u64 proof_key;  /* load_check() uses this: key in .proofs; 0: no check may be kept */
	__u32 codes_made; /* how many code objects the process has made so far; 0: not known */
	/* hash_bytes() uses these: the hash so far; address and number of the bytes to add */
	__u64 acc, acc_addr, acc_len;
	__u64 callers_end; /* find_nearest() looks for the frame that ends at this address */
	__u64 resumed;	   /* frame of the generator that was resumed last; 0: no generator runs */
	__u64 nearest;	   /* last frame of the data stack below the innermost one; 0: none */
	/* meet_fresh() uses these: the frame to judge, and its code object */
	__u64 caller, caller_code;
	/* 3.11, 3.12: present chunk of the data stack, and the data stack's top */
	__u64 chunk, stack_top;
	/*
	 * result of find_running(); with INNER_FOUND the frame at which the walk restarted. Before
	 * the walk, result of see_library().
	 */
	__u64 found;
	/* 3.11, 3.12: _PyCFrame of the innermost evaluation loop that the walk hasn't dropped */
	__u64 loop;
	union {
		/* 3.11, 3.12: _PyCFrame of the next evaluation loop further out */
		__u64 outer_loop;
		/*
		 * 3.14t+: .made_hash with tlbc_generation added; 0: not computed yet in this walk
		 * (copy.bpf.h)
		 */
		__u64 copies_hash;
	};
	__u16 loop_previous; /* offset of the member previous in _PyCFrame */
	__u8 extent;	     /* enum extent: which parts of the stack are taken */
	__u8 user_mode;	     /* whether the event has interrupted the thread in user mode */
	__u32 groups;	     /* how many evaluation loops are in walk_addrs */
	__u32 n;	     /* how many frames are in walk_out */
	__u8 outcome, done;
	/* 3.11+: the frame that was walked last is the outermost of its evaluation loop */
	__u8 closed;
	__u8 urgent; /* whether this sample has to wake user space */
	__u8 waits;  /* 3.9: whether the frame that was walked last is run by no evaluation loop */
	/*
	 * up to 3.10: whether block[] holds the memory whose addresses are in .near, and no frames
	 */
	__u8 near_on;
	/*
	 * for each kind of object: the bytes at near[] were read because their address is in
	 * shared[], and only one object in them has been needed so far
	 */
	__u8 lonely[NEAR_MAX];
	__u8 fresh; /* enum fresh: whether the innermost frame has run an instruction */
	/* find_running() sets this: whether a function, generator or loop is about to be entered */
	__u8 entered;
	__u8 broken; /* enum walk_outcome: why the frames of the innermost loop aren't shown */
	__u8 inner;  /* enum inner: whether the innermost loop's frames are proved (3.11, 3.12) */
	/* how many code objects were proved after PROVE_NS; the most is PROVE_LATE */
	__u8 proved_late;
	__u32 proving_ns; /* how much of PROVE_NS is spent */
	/* for each enum absent_kind: absent memory that couldn't be read; .addr 0: none */
	struct absent_range absent[ABSENT_MAX];
	__u32 users; /* how many walks use this state; walk_take() allows one */
	__u8 slot;   /* enum walk_slot: the slot that has this state */
	__u8 source; /* rec_sample.source */
	/*
	 * how many frames were visited, including evaluation loops' own frames (shims), so that a
	 * walk in a circle ends
	 */
	__u16 steps;
	__u32 hashed; /* how many bytes of HASH_BUDGET are spent */
	__u32 staged; /* send_code() sets this: how many bytes are in the staging buffer */
	__u32 copied; /* how many bytes of SEND_BUDGET are spent */
	/* how many code objects of this sample were sent, of at most SEND_CODES */
	__u16 codes_sent;
	__u16 got; /* load_near() sets this: how many bytes were read */

	/*
	 * A sample uses only a few cache lines of each of the following arrays. So the arrays come
	 * after the members that each sample uses.
	 */
	struct memo files[MEMO_FILES];
	struct shim_memo shims[SHIM_MEMOS];
	/*
	 * addresses of stretches of NEAR_BYTES bytes in which an earlier sample needed several
	 * objects
	 */
	__u64 shared[SHARED_PLACES];
	/*
	 * By code object: indices of the latest frames in walk_out whose code objects were proved,
	 * the last index in the low bits. Some indices are of earlier samples; find_seen()
	 * recognizes these.
	 */
	__u32 seen[SEEN_SETS];
	__u64 sent[SENT_STACKS]; /* ids of stacks that were sent, by the ids' low bits */
	struct proof proofs[PROOF_SETS * PROOF_WAYS];
	/*
	 * Up to a page of the data stack, or copies of the memory at the addresses in .near. Frames
	 * and objects that are read alone go to LONE_FRAME and LONE_OBJECT.
	 */
	__u8 block[2 * BLOCK_BYTES];
	__u8 block_slack[SLACK];
	/*
	 * bytes of a thread state, a function, or a code object that is sent; .text also serves as
	 * the spare bytes (SLACK) behind .object
	 */
	__u8 object[OBJECT_ROOM];
	__u8 text[TEXT_BYTES];
	__u8 text_slack[SLACK];
};

/* offset in walk.block of a frame that is read alone */
#define LONE_FRAME (BLOCK_BYTES + 1024ll)

struct walk_out {
	struct rec_stack head;
	struct wire_frame frame[ABI_MAX_FRAMES];
};

/* The Python frames of one evaluation loop (3.11+). */
struct walk_group {
	/*
	 * address of the loop's own frame (its shim), which lies in the loop's C frame; 0 on 3.11
	 */
	__u64 addr;
	__u32 last; /* index of the outermost Python frame of the loop */
	__u32 reserved;
};

/*
 * Addresses in the target. Addresses of Python frames are needed only when a code object is sent.
 * Addresses of evaluation loops are needed to find the loops among the native frames.
 */
struct walk_addrs {
	__u64 frame[ABI_MAX_FRAMES];
	struct walk_group group[ABI_MAX_FRAMES];
};

/*
 * The seam: functions that the programs and the host implement differently. read_user() returns 0,
 * or a negative number if memory couldn't be read: in that case @dst is zeroed or unchanged.
 */
walk_inline long read_user(void *dst, __u32 n, __u64 addr);
/*
 * Returns nanoseconds. In host tests the clock may stand still, so that no limit of time is
 * reached.
 */
walk_inline __u64 walk_clock(void);
walk_inline struct walk *walk_state(__u32 slot);
walk_inline struct walk_out *walk_out(__u32 slot);
walk_inline struct walk_addrs *walk_addrs(__u32 slot);
walk_inline const struct py_layout *walk_layout(__u32 index);

/*
 * The layout of the sampled process's interpreter, or NULL. The result is also NULL if @w is NULL,
 * so that one check is enough. (It is a macro because not every program that includes this file has
 * walk_layout().)
 */
#define layout_of(w) ((w) ? walk_layout((w)->where.layout) : NULL)

/*
 * Loads a word at once. For `*(__u64 *)&bytes[i]` clang emits eight loads of a byte, because it
 * sees that the array is aligned to bytes only. Those loads and their shifts cost 30 ns of the 225
 * ns that a frame takes (measured). The BPF machine loads unaligned words.
 */
walk_inline __u64 load_u64(const void *p)
{
	opaque(p);
	return *(const __u64 *)p;
}

walk_inline __u32 load_u32(const void *p)
{
	opaque(p);
	return *(const __u32 *)p;
}

/*
 * Returns @i, masked so that it is an index below @n, a power of two. The compiler can't remove the
 * mask.
 */
walk_inline __u64 bounded(__u64 i, __u64 n)
{
	opaque(i);
	return i & (n - 1);
}

/*
 * Loads from a buffer. The offset comes from the target or a layout, so it is masked and never
 * leads past the buffer. (It has 64 bits: to clear the upper half of a sum takes two instructions.)
 */
walk_inline __u64 block_u64(const struct walk *w, __u64 off)
{
	return load_u64(w->block + bounded(off, 2 * BLOCK_BYTES));
}

walk_inline __u32 block_u32(const struct walk *w, __u64 off)
{
	return load_u32(w->block + bounded(off, 2 * BLOCK_BYTES));
}

walk_inline __u8 block_u8(const struct walk *w, __u64 off)
{
	return w->block[bounded(off, 2 * BLOCK_BYTES)];
}

walk_inline __u64 object_u64(const struct walk *w, __u64 off)
{
	return load_u64(w->object + bounded(off, OBJECT_ROOM));
}

walk_inline __u8 object_u8(const struct walk *w, __u64 off)
{
	return w->object[bounded(off, OBJECT_ROOM)];
}

walk_inline __u32 object_u32(const struct walk *w, __u64 off)
{
	return load_u32(w->object + bounded(off, OBJECT_ROOM));
}

/* Notes that @n bytes at @addr couldn't be read because this memory is absent. */
walk_inline void note_absent(struct walk *w, enum absent_kind kind, __u64 addr, __u64 n)
{
	w->absent[kind].addr = addr;
	w->absent[kind].bytes = n;
}

walk_inline void forget_absent(struct walk *w)
{
	for (__u32 i = 0; i < ABSENT_MAX; i++)
		w->absent[i].addr = 0;
}

walk_inline bool lacks_memory(const struct walk *w)
{
	return w->absent[ABSENT_THREAD].addr | w->absent[ABSENT_FRAME].addr |
	       w->absent[ABSENT_CODE].addr | w->absent[ABSENT_NATIVE].addr;
}

walk_inline void walk_end(struct walk *w, __u8 outcome)
{
	w->outcome = outcome;
	w->done = 1;
}

#endif
