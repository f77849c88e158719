/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who called the innermost frame, while it hasn't run an instruction yet. 3.11 and 3.12 make a frame current before they
 * note its caller in it, as compilers order it (Python/ceval.c, CALL_PY_EXACT_ARGS; Python/ceval_macros.h,
 * DISPATCH_INLINED): until then `previous` is the caller of the frame that lay there before, who may be running too,
 * further out, or be a C evaluation loop's own frame that something else was written over.
 *
 * Who really called is proved by two things. The nearest frame of the data stack ends where the new one begins. Of generators,
 * which aren't in the data stack, the one resumed last is tstate.exc_info's; it called if it was
 * resumed after that nearest frame was pushed, which its own chain tells. docs/decisions/0015-who-called.md
 */
#ifndef BPF_CALLER_H
#define BPF_CALLER_H

#include "state.bpf.h"

#define FRAME_OWN_BYTES 72 /* FRAME_SPECIALS_SIZE words */
#define GENERATOR_FRAME 32 /* gi_iframe - gi_exc_state */
#define RESUMED_STEPS	16
#define SCAN_FRAMES	16
#define SCANS		16 /* a chunk has 16 KiB, a frame 80 bytes at least */

/* _PyStackChunk: previous, size, top; the first one's first word isn't used. */
#define CHUNK_TOP   16 /* words in use, when another one follows */
#define CHUNK_BYTES 24

/* What is read goes to w->object, not to the stack: callers' are large (512 bytes in all). */

/* Where @frame, one of the data stack's that runs @code, ends; 0 = not readable. */
walk_inline __u64 frame_end(struct walk *w, const struct py_layout *l, __u64 frame, __u64 code)
{
	if (read_user(w->object, 12, code + l->code_stacksize))
		return 0;
	return frame + FRAME_OWN_BYTES + 8 * ((__u64)object_u32(w, 0) + object_u32(w, 8));
}

/* tstate.datastack_chunk and .datastack_top, into w->chunk and w->stack_top. */
walk_inline bool load_data_stack(struct walk *w, const struct py_layout *l)
{
	if (read_user(w->object, 16, w->tstate + l->tstate_datastack_top - 8))
		return false;
	w->chunk = object_u64(w, 0);
	w->stack_top = object_u64(w, 8);
	return true;
}

/* Where the frame below the first one in w->chunk ends; 0 = there is none, 1 = not readable. */
walk_inline __u64 end_below(struct walk *w)
{
	__u64 previous;

	if (read_user(w->object, 8, w->chunk))
		return 1;
	previous = object_u64(w, 0);
	if (!previous)
		return 0;
	if (read_user(w->object, 8, previous + CHUNK_TOP))
		return 1;
	return previous + CHUNK_BYTES + 8 * object_u64(w, 0);
}

/*
 * Frame w->caller, of w->caller_code, is innermost and hasn't run yet: then it is the last on the data stack. 0: it
 * isn't.
 */
walk_global int meet_fresh(void)
{
	struct walk *w = walk_state();
	const struct py_layout *l;
	__u64 top;

	if (!w)
		return 0;
	l = walk_layout(w->where.layout);
	top = w->caller;
	w->fresh = FRESH;
	if (!l || !load_data_stack(w, l) || frame_end(w, l, top, w->caller_code) != w->stack_top ||
	    read_user(w->object, 8, w->tstate + l->tstate_exc_info))
		return 0;
	w->resumed = object_u64(w, 0) + GENERATOR_FRAME;
	if (w->resumed == w->tstate + l->tstate_exc_state + GENERATOR_FRAME)
		w->resumed = 0;
	w->callers_end = top - w->chunk - CHUNK_BYTES > 8 ? top : end_below(w);
	return w->callers_end != 1;
}

/*
 * Is the innermost loop, which isn't set up yet, the thread's only one? Then what it will run is all there is on the
 * data stack; else what its _PyCFrame.previous says is left over.
 */
walk_inline bool is_first_loop(struct walk *w, const struct py_layout *l)
{
	__u64 first;

	if (!load_data_stack(w, l))
		return false;
	if (!w->chunk)
		return true;
	first = w->chunk + CHUNK_BYTES + 8;
	if (end_below(w))
		return false;
	return w->stack_top == first || (!read_user(w->object, 8, first + l->frame_code) &&
					 frame_end(w, l, first, object_u64(w, 0)) == w->stack_top);
}

/* The frame of the data stack, 0 = none, that resumed the generator which was resumed last. */
walk_inline bool resumed_by(const struct py_layout *l, __u64 frame, __u64 *by)
{
	for (int i = 0; i < RESUMED_STEPS; i++) {
		__u8 owner = 0;

		if (read_user(&frame, sizeof(frame), frame + l->frame_back))
			return false;
		if (frame && read_user(&owner, sizeof(owner), frame + l->frame_owner))
			return false;
		if (!owner) {
			*by = frame;
			return true;
		}
	}
	return false;
}

/* Is the nearest frame of the data stack, w->caller, 0 = there is none, behind the frame called from there? */
walk_global int called_by_stacked(void)
{
	struct walk *w = walk_state();
	const struct py_layout *l;
	__u64 by = 0;

	if (!w)
		return 0;
	l = walk_layout(w->where.layout);
	if (!l)
		return 0;
	if (w->callers_end &&
	    (!w->caller || frame_end(w, l, w->caller, w->caller_code) != w->callers_end))
		return 0;
	return w->fresh == FRESH_RESUMED || !w->resumed ||
	       (resumed_by(l, w->resumed, &by) && by != w->caller);
}

/* Can @frame, of @code, be among the callers of a frame that hasn't run yet, next to those that were believed before? */
walk_inline bool is_caller(struct walk *w, __u64 frame, __u64 code, bool stacked)
{
	if (stacked) {
		w->caller = frame;
		w->caller_code = code;
		if (!called_by_stacked())
			return false;
		w->fresh = FRESH_NOT;
		return true;
	}
	if (w->fresh == FRESH && frame != w->resumed)
		return false;
	w->fresh = FRESH_RESUMED;
	return true;
}

/*
 * From w->caller on, which begins a frame: frames lie next to each other up to w->callers_end. 1: w->caller is the last of
 * them, 0 = that can't be told.
 */
walk_global int scan_frames(void)
{
	struct walk *w = walk_state();
	const struct py_layout *l;

	if (!w)
		return 1;
	l = walk_layout(w->where.layout);
	if (!l)
		return 1;
	for (int i = 0; i < SCAN_FRAMES; i++) {
		__u64 end = 0;

		if (w->caller < w->callers_end &&
		    !read_user(w->object, 8, w->caller + l->frame_code))
			end = frame_end(w, l, w->caller, object_u64(w, 0));
		if (end && end == w->callers_end)
			return 1;
		if (end <= w->caller) {
			w->caller = 0;
			return 1;
		}
		w->caller = end;
	}
	return 0;
}

/* Of frame w->caller, which hasn't run and doesn't say it: w->caller is the one that is proved then, 0 = none is. */
walk_global int find_caller(void)
{
	struct walk *w = walk_state();
	const struct py_layout *l;
	__u64 top, by = 0, end = 0;

	if (!w)
		return 0;
	top = w->caller;
	w->caller = 0;
	l = walk_layout(w->where.layout);
	if (!l)
		return 0;
	if (w->resumed) {
		if (!resumed_by(l, w->resumed, &by) ||
		    (by && read_user(w->object, 8, by + l->frame_code)))
			return 0;
		if (by)
			end = frame_end(w, l, by, object_u64(w, 0));
		if (end == w->callers_end && !by == !end) {
			w->caller = w->resumed;
			return 0;
		}
	}
	if (w->callers_end != top || read_user(w->object, 8, w->chunk))
		return 0;
	w->caller = w->chunk + CHUNK_BYTES + (object_u64(w, 0) ? 0 : 8);
	for (int i = 0; i < SCANS; i++)
		if (scan_frames())
			return 0;
	w->caller = 0;
	return 0;
}

/* The chain ends with none of the data stack's. */
walk_inline bool is_first(struct walk *w)
{
	w->caller = 0;
	return !w->callers_end && called_by_stacked();
}

#endif
