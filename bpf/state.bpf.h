/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the walkers know and the few things they ask of the world. Walk state lives in a per-CPU
 * map value: the verifier treats values loaded from it as unknown, so one frame's code is verified
 * once however deep a stack is, and groups of frames are global functions without arguments (5.10
 * allows scalars only). The same walkers are compiled for the host (tests/host), where the four
 * functions of the seam read a memory image or a live process.
 */
#ifndef BPF_STATE_H
#define BPF_STATE_H

#include "records.h"
#include "check.h"

#ifdef __bpf__
#define walk_inline static __attribute__((always_inline)) inline
#define walk_global __attribute__((noinline))
/* Keeps the compiler from proving (and so removing) a bound that only the verifier needs. */
#define opaque(x)   asm volatile("" : "+r"(x))
#define walk_unroll _Pragma("unroll")
#else
#define walk_inline static inline
#define walk_global
#define opaque(x) ((void)0)
#define walk_unroll
#endif

#define GROUP_FRAMES 4 /* frames per call of walk_group() */
#define FRAME_BYTES  PY_FRAME_BYTES
#define OBJECT_BYTES 104 /* of a PyFrameObject, from f_back: f_lasti is up to 96 behind it (3.6) */
#define BLOCK_BYTES  4096
#define TEXT_BYTES   256
#define SLACK	     256 /* behind every buffer: the largest access past a masked offset */

enum inner {
	INNER_PROVED,	/* they lead to `outer`, or there is nothing to prove */
	INNER_UNPROVED, /* not found to lead there yet */
	INNER_DROPPED,	/* the walk began again at `outer`, which isn't found to lead on yet */
	INNER_FOUND,	/* the same at a frame of which it isn't shown yet that a loop runs it */
};

/*
 * Has the innermost frame not run an instruction yet, so that what it says of its caller has to be
 * proved?
 */
enum fresh {
	FRESH_NOT, /* it has, or its callers are proved */
	FRESH,	   /* no caller was met yet */
	/* Called by the generator that was resumed last; callers further out aren't proved yet. */
	FRESH_RESUMED,
};

/* What was found of the sampled thread's PyThreadState. */
enum walk_thread { THREAD_UNKNOWN, THREAD_NONE, THREAD_STATE };

/* <= 3.11: is that the interpreter's current one? */
enum walk_current { CURRENT_UNKNOWN, CURRENT_NO, CURRENT_YES };

#define MEMO_CODES  64
#define MEMO_FILES  8
#define SENT_STACKS 128
#define PROOF_SETS  512
#define PROOF_WAYS  2
#define HASH_BUDGET (512 << 10) /* bytes of names and line tables per sample: about 0.3 ms */

/*
 * Interrupts are off while a sample is taken: 0.5 ms at most. A code object that no cache has takes
 * 0.5 to 1 us to prove and as much to send. Behind PROVE_LEAST frames, or HASH_LEAST bytes,
 * PROVE_NS may be spent on proving (not less where frames took long: where a machine is busy they
 * alone take 0.3 ms, and deep stacks lacked their outermost functions); sending ends after SEND_NS.
 * The least numbers hold on the slowest machine too.
 */
#define SAMPLE_NS   500000
#define PROVE_LEAST 192 /* frames */
#define PROVE_NS    130000
#define PROVE_LATE  16	       /* code objects that are proved after that all the same */
#define HASH_LEAST  (64 << 10) /* of HASH_BUDGET */
#define SEND_NS	    300000
#define SEND_LEAST  16 /* code objects */

/*
 * The check of a code object, as long as nothing says that it could be another: no code object was
 * made since (3.12+), its function has the same version (3.11).
 */
struct proof {
	__u64 key, check;
};

/* What load_near() looks for; a power of two of them, for bounded(). */
enum near_kind { NEAR_CODE, NEAR_NAME, NEAR_TABLE, NEAR_MAX = 4 };

#define NEAR_BYTES    1024
#define SHARED_PLACES 256

/* Of a code object or a file name, in this sample. */
struct memo {
	__u64 addr, check, sample;
};

/* 3.12: of an interpreter's loops, by build_of(): from the _PyCFrame to the loop's own frame. */
struct shim_memo {
	__u64 build, offset;
	__u64 seen; /* how often, SHIM_SEEN at most */
};

#define SHIM_MEMOS 64
#define SHIM_SEEN  16 /* wrong ones that don't make it forget the offset */

struct walk {
	struct proc_key proc;
	struct py_where where;
	__u32 space;	       /* slot of what is known of its mappings */
	__u64 space_before_ns; /* as in struct proc_entry */
	__u64 tp;	       /* thread pointer of the sampled thread */
	__u64 sp;	       /* its user stack pointer, 0 = not known */
	__u64 tstate;	       /* its PyThreadState */
	__u64 interp;	       /* that one's PyInterpreterState */
	__u64 listed;	       /* search_list(): over the thread states met */
	__u32 gil_word;	       /* tstate_gil */
	__s32 gil_locked;      /* if gil_read: what the GIL says, */
	__u64 gil_holder;      /* and of whom */
	__u8 gil_requested;
	__u8 gil_read;	 /* gil_locked and gil_holder are known */
	__u8 thread;	 /* enum walk_thread */
	__u8 current;	 /* enum walk_current */
	__u64 frame;	 /* next frame to read, 0 = end of the chain */
	__u64 outer;	 /* 3.11, 3.12: innermost frame of the next C evaluation loop further out */
	__u64 mark;	 /* a frame that was met before: meeting it again is a circle */
	__u64 hash;	 /* over the frames so far: the stack's id */
	__u64 proc_hash; /* of proc: where it begins */
	__u64 block_start, block_end; /* what block[] holds of the target */
	__u64 lone;		      /* frame last read from outside of it */
	__u64 sample;		      /* counts walks */
	__u64 began_ns;		      /* walk_clock() when it began */
	__u64 near[NEAR_MAX]; /* whose NEAR_BYTES of the target block[] holds, of each kind */
	__u64 met[NEAR_MAX];  /* where the last one was that they didn't hold */
	__u64 shared[SHARED_PLACES]; /* where in an earlier sample several were, by their place */
	struct memo codes[MEMO_CODES], files[MEMO_FILES];
	__u64 sent[SENT_STACKS]; /* ids of stacks that were sent, by their low bits */
	struct proof proofs[PROOF_SETS * PROOF_WAYS];
	__u64 made_hash;	      /* over proc_hash and codes_made */
	__u32 codes_made;	      /* code objects so far; 0 = not known */
	__u64 acc, acc_addr, acc_len; /* hash_bytes(): accumulator and what to add */
	__u64 callers_end;	      /* where w->nearest ends */
	__u64 resumed;		   /* frame of the generator that was resumed last, 0 = none runs */
	__u64 nearest;		   /* the caller next to it in the data stack, 0 = there is none */
	__u64 caller, caller_code; /* meet_fresh(): frame and code object to judge */
	__u64 chunk, stack_top;	   /* 3.11, 3.12: of the data stack */
	__u64 found;		   /* find_running(); INNER_FOUND: where the walk began again */
	struct shim_memo shims[SHIM_MEMOS];
	__u64 loop;	     /* 3.11: _PyCFrame of the innermost evaluation loop that counts, */
	__u64 outer_loop;    /* and of the next one further out */
	__u16 loop_previous; /* offset of _PyCFrame.previous */
	__u8 extent;	     /* enum extent: what of the thread is taken */
	__u8 user_mode;	     /* the event met the thread in user mode */
	__u32 groups;	     /* evaluation loops in walk_addrs */
	__u32 n;	     /* frames in walk_out */
	__u8 outcome, done;
	__u8 closed;  /* 3.11+: the last frame was the outermost of its C evaluation loop */
	__u8 urgent;  /* user space is to look at this sample at once */
	__u8 waits;   /* 3.9: the last frame isn't run by any evaluation loop */
	__u8 near_on; /* up to 3.10: block[] is free for near[] */
	/* near[] was read because of shared[], and has served one object so far. */
	__u8 lonely[NEAR_MAX];
	__u8 fresh;	  /* enum fresh */
	__u8 entered;	  /* find_running(): something is only just being entered */
	__u8 broken;	  /* enum walk_outcome: why the innermost loop's frames aren't shown */
	__u8 inner;	  /* enum inner: 3.11, 3.12: the innermost loop's frames */
	__u8 proved_late; /* code objects of PROVE_LATE */
	__u8 limited;	  /* compute_in_time(): what proving takes counts */
	__u32 proving_ns; /* of PROVE_NS that is spent */
	struct absent_range
		absent[ABSENT_MAX]; /* what couldn't be read in this sample; addr 0: nothing */
	__u32 users;		    /* walk_take() */
	__u16 slot;		    /* enum walk_slot: whose state this is */
	__u16 steps;	  /* frames visited, shims included: bounds a chain that runs in a circle */
	__u32 hashed;	  /* bytes of HASH_BUDGET that are spent */
	__u32 staged;	  /* send_code(): bytes in the staging buffer */
	__u32 copied;	  /* bytes of SEND_BUDGET that are spent, */
	__u16 codes_sent; /* and code objects of SEND_CODES */
	__u16 got;	  /* load_near(): bytes that are there */
	/*
	 * Up to a page of the data stack, or near[]; from LONE_FRAME and LONE_OBJECT on what is
	 * read by itself.
	 */
	__u8 block[2 * BLOCK_BYTES];
	__u8 block_slack[SLACK];
	__u8 object[256]; /* thread state, function, code object that is sent */
	__u8 object_slack[SLACK];
	__u8 text[TEXT_BYTES];
	__u8 text_slack[SLACK];
};

/* Where a frame outside of the block is kept in walk.block. */
#define LONE_FRAME (BLOCK_BYTES + 1024)

struct walk_out {
	struct rec_stack head;
	struct wire_frame frame[ABI_MAX_FRAMES];
};

/* The Python frames of one C evaluation loop (3.11+). */
struct walk_group {
	__u64 addr; /* of its shim, which lies in the loop's C frame; 0 = 3.11 */
	__u32 last; /* index of its outermost Python frame */
	__u32 reserved;
};

/*
 * Addresses in the target: of the frames, for what is only needed at the first sight of a code
 * object, and of the evaluation loops' own, to find them among the native frames.
 */
struct walk_addrs {
	__u64 frame[ABI_MAX_FRAMES];
	struct walk_group group[ABI_MAX_FRAMES];
};

/*
 * The seam: what the programs and the host do each in their own way. read_user(): 0, or negative
 * and @dst is zeroed or unchanged.
 */
walk_inline long read_user(void *dst, __u32 n, __u64 addr);
walk_inline __u64 walk_clock(void); /* nanoseconds; stands still where nothing is in a hurry */
walk_inline struct walk *walk_state(__u32 slot);
walk_inline struct walk_out *walk_out(__u32 slot);
walk_inline struct walk_addrs *walk_addrs(__u32 slot);
walk_inline const struct py_layout *walk_layout(__u32 index);

/*
 * Of the sampled process; NULL also if there is no @w, so that one check serves for both. (A macro:
 * not every program that includes this has walk_layout().)
 */
#define layout_of(w) ((w) ? walk_layout((w)->where.layout) : NULL)

/*
 * One load each. Of `*(__u64 *)&bytes[i]` clang makes eight byte loads, because it knows how the
 * array is aligned; together with their shifts they cost more than the rest of a frame (measured:
 * 30 ns of 225). The BPF machine loads unaligned words.
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

/* @i as an index below @n, a power of two: masked, in a form that the compiler can't take away. */
walk_inline __u64 bounded(__u64 i, __u64 n)
{
	i &= n - 1;
	opaque(i);
	return i & (n - 1);
}

/* Loads from a buffer at an offset that came from the target or a layout: masked, never past it. */
walk_inline __u64 block_u64(const struct walk *w, __u32 off)
{
	return load_u64(w->block + bounded(off, 2 * BLOCK_BYTES));
}

walk_inline __u32 block_u32(const struct walk *w, __u32 off)
{
	return load_u32(w->block + bounded(off, 2 * BLOCK_BYTES));
}

walk_inline __u8 block_u8(const struct walk *w, __u32 off)
{
	return w->block[bounded(off, 2 * BLOCK_BYTES)];
}

walk_inline __u64 object_u64(const struct walk *w, __u32 off)
{
	return load_u64(w->object + bounded(off, 256));
}

walk_inline __u8 object_u8(const struct walk *w, __u32 off)
{
	return w->object[bounded(off, 256)];
}

walk_inline __u32 object_u32(const struct walk *w, __u32 off)
{
	return load_u32(w->object + bounded(off, 256));
}

/* Notes that @n bytes at @addr couldn't be read. */
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
