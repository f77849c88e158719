/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the caller of the innermost frame while that frame hasn't run an instruction yet. 3.11 and
 * 3.12 make a frame current before they store its caller in `previous`, in an order that compilers
 * choose (Python/ceval.c, CALL_PY_EXACT_ARGS; Python/ceval_macros.h, DISPATCH_INLINED). Until then
 * `previous` has the caller of an earlier frame that lay at the same address. That caller may still
 * run, further out. Or it was a C evaluation loop's own frame, and its memory has been overwritten
 * since.
 *
 * There are two candidates for the true caller. The nearest frame of the data stack ends where the
 * new frame begins. The generator that was resumed last isn't in the data stack; tstate.exc_info
 * leads to it. The generator is the caller if it was resumed after the nearest frame was pushed;
 * its chain of callers shows that. docs/decisions/0015-who-called.md
 *
 * In this file, "the new frame" is such an innermost frame that hasn't run an instruction yet.
 */
#ifndef BPF_PYTHON_CALLER_H
#define BPF_PYTHON_CALLER_H

#include "state.bpf.h"

/* size of a frame without its locals and stack: FRAME_SPECIALS_SIZE in bytes */
#define FRAME_OWN_BYTES 72
/* distance of a generator's frame from its exc_state: gi_iframe - gi_exc_state */
#define GENERATOR_FRAME 32
#define RESUMED_STEPS	64
#define SCAN_FRAMES	16
/*
 * how often scan_frames() is called for one chunk, which has 16 KiB; a frame has at least 80 bytes
 */
#define SCANS 16

/*
 * The head of a _PyStackChunk has previous, size and top. In the first chunk, the first word of
 * data isn't used.
 */
/* offset of .top, which has the number of words in use if another chunk follows */
#define CHUNK_TOP   16
#define CHUNK_BYTES 24

/*
 * The functions of this file read into w->object, not to the BPF stack, because their callers use
 * most of its 512 bytes.
 */

/* Returns where @frame of the data stack, which runs @code, ends; 0: the frame isn't readable. */
walk_inline __u64 frame_end(struct walk *w, const struct py_layout *l, __u64 frame, __u64 code)
{
	if (read_user(w->object, 12, code + l->code_stacksize))
		return 0;
	return frame + FRAME_OWN_BYTES + 8 * ((__u64)object_u32(w, 0) + object_u32(w, 8));
}

/*
 * Goes from w->nearest up to w->callers_end, from frame to frame of the data stack, which lie next
 * to each other. 1 = done: w->nearest is the frame that ends at w->callers_end, or 0 if no frame
 * ends there. 0 = this function has to be called again.
 */
walk_global int scan_frames(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);

	if (!l)
		return 1;
	for (int i = 0; i < SCAN_FRAMES; i++) {
		__u64 end = 0;

		if (w->nearest < w->callers_end &&
		    !read_user(w->object, 8, w->nearest + l->frame_code))
			end = frame_end(w, l, w->nearest, object_u64(w, 0));
		if (end && end == w->callers_end)
			return 1;
		if (end <= w->nearest) {
			w->nearest = 0;
			return 1;
		}
		w->nearest = end;
	}
	return 0;
}

/*
 * Sets w->nearest to the frame that ends at w->callers_end, by adding up sizes from the beginning
 * of @chunk. (To look for a frame just below callers_end isn't enough: that frame may be left over,
 * in a part of the last frame that hasn't been used yet.) False: no such frame is found.
 */
walk_inline bool find_nearest(struct walk *w, __u64 chunk)
{
	if (read_user(w->object, 8, chunk))
		return false;
	w->nearest = chunk + CHUNK_BYTES + (object_u64(w, 0) ? 0 : 8);
	for (int i = 0; i < SCANS; i++)
		if (scan_frames(w->slot))
			return w->nearest;
	return false;
}

/*
 * Sets w->resumed to the frame of the generator whose gi_exc_state is at @info. 0: @info is the
 * thread's own exc_state, so no generator runs.
 */
walk_inline void note_resumed(struct walk *w, const struct py_layout *l, __u64 info)
{
	w->resumed = info == w->tstate + l->tstate_exc_state ? 0 : info + GENERATOR_FRAME;
}

/*
 * Sets w->resumed to the frame of the generator that was resumed last. False: the memory that leads
 * to it isn't readable.
 */
walk_inline bool load_resumed(struct walk *w, const struct py_layout *l)
{
	if (read_user(w->object, 8, w->tstate + l->tstate_exc_info))
		return false;
	note_resumed(w, l, object_u64(w, 0));
	return true;
}

/*
 * Sets w->nearest to the frame of the data stack that ends at @end, an address in @chunk. 0: there
 * is no such frame. False: the frame isn't found.
 */
walk_inline bool find_below(struct walk *w, __u64 chunk, __u64 end)
{
	w->nearest = 0;
	w->callers_end = end;
	if (end - chunk - CHUNK_BYTES <= 8) { /* the first frame of the chunk begins at @end */
		if (read_user(w->object, 8, chunk))
			return false;
		chunk = object_u64(w, 0);
		if (!chunk)
			return true;
		if (read_user(w->object, 8, chunk + CHUNK_TOP))
			return false;
		w->callers_end = chunk + CHUNK_BYTES + 8 * object_u64(w, 0);
	}
	return find_nearest(w, chunk);
}

/*
 * Looks at frame w->caller, which runs w->caller_code, is innermost and hasn't run an instruction
 * yet. As long as the thread is in that frame, the frame is the last one of the data stack. Sets
 * w->nearest and w->resumed. Returns MET_FRESH if the thread is in the frame; MET_LEFT if the frame
 * isn't the last one, so the thread has left it; MET_FAULT if memory isn't readable.
 */
enum met { MET_FRESH, MET_LEFT, MET_FAULT };

walk_global int meet_fresh(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l;
	__u64 top;

	if (!w)
		return MET_FAULT;
	l = walk_layout(w->where.layout);
	top = w->caller;
	if (!l || frame_end(w, l, top, w->caller_code) != w->stack_top)
		return MET_LEFT;
	w->fresh = FRESH;
	return load_resumed(w, l) && find_below(w, w->chunk, top) ? MET_FRESH : MET_FAULT;
}

/*
 * Is the innermost loop, which isn't set up yet, the thread's only loop? If it is, the data stack
 * holds at most the frame that this loop will run. If the data stack holds more, the loop only
 * seems to be the thread's only one, because its _PyCFrame.previous is left over.
 */
walk_inline bool is_first_loop(struct walk *w, const struct py_layout *l)
{
	__u64 first;

	if (!w->chunk)
		return true;
	first = w->chunk + CHUNK_BYTES + 8;
	if (read_user(w->object, 8, w->chunk) || object_u64(w, 0))
		return false;
	return w->stack_top == first || (!read_user(w->object, 8, first + l->frame_code) &&
					 frame_end(w, l, first, object_u64(w, 0)) == w->stack_top);
}

/*
 * Sets *@by to the innermost caller of generator @frame that is in the data stack; 0: there is no
 * such caller. False: the caller isn't found.
 */
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

/*
 * Returns when the generator w->resumed was resumed. ABOVE: after the nearest frame was pushed, by
 * that frame or by a generator that it had resumed, so w->resumed is the caller of the innermost
 * frame. NOT_ABOVE: the generator was resumed before the nearest frame was pushed, or no generator
 * runs.
 */
enum above { NOT_ABOVE, ABOVE, NOT_KNOWN };

walk_global int resumed_is_above(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l;
	__u64 by = 0;

	if (!w || !w->resumed)
		return NOT_ABOVE;
	l = walk_layout(w->where.layout);
	if (!l || !resumed_by(l, w->resumed, &by))
		return NOT_KNOWN;
	return by == w->nearest ? ABOVE : NOT_ABOVE;
}

/*
 * Can @frame be a caller of the innermost frame, which hasn't run an instruction yet? The callers
 * between the two frames were accepted before. @stacked: @frame lies in the data stack.
 */
walk_inline bool is_caller(struct walk *w, __u64 frame, bool stacked)
{
	if (!stacked) {
		if (w->fresh == FRESH && frame != w->resumed)
			return false;
		w->fresh = FRESH_RESUMED;
		return true;
	}
	if (frame != w->nearest || (w->fresh == FRESH && resumed_is_above(w->slot) != NOT_ABOVE))
		return false;
	w->fresh = FRESH_NOT;
	return true;
}

/*
 * Returns the caller of the innermost frame, which hasn't run an instruction yet; 0: the caller
 * isn't found.
 */
walk_inline __u64 find_caller(struct walk *w)
{
	int above = resumed_is_above(w->slot);

	return above == ABOVE ? w->resumed : above == NOT_ABOVE ? w->nearest : 0;
}

/*
 * Can the chain of frames end here? Only if the innermost frame, which hasn't run an instruction
 * yet, has no caller in the data stack.
 */
walk_inline bool is_first(struct walk *w)
{
	return !w->nearest && (w->fresh == FRESH_RESUMED || resumed_is_above(w->slot) == NOT_ABOVE);
}

#endif
