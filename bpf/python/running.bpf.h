/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the thread's innermost frame when its innermost evaluation loop may name a wrong one. 3.11
 * and 3.12 publish an evaluation loop's _PyCFrame before they fill it (Python/ceval.c,
 * _PyEval_EvalFrameDefault); until then the _PyCFrame holds what an earlier loop left there. The
 * last frame of the data stack and the generator that was resumed last show the innermost frame
 * even then. On 3.12 a loop's own frame (its shim), next to its _PyCFrame, shows which frames
 * belong to the loop. docs/decisions/0015-who-called.md
 */
#ifndef BPF_PYTHON_RUNNING_H
#define BPF_PYTHON_RUNNING_H

#include "python/caller.bpf.h"

#define OWNED_BY_GENERATOR 1 /* enum _frameowner: the frame is a generator's */
#define EXC_PREVIOUS	   8 /* offset of _PyErr_StackItem.previous_item */
/* how many bytes of C stack an evaluation loop's own C frame takes at most */
#define EVAL_BYTES 4096
#define NOT_FOUND  (~0ull) /* value of w->found: no loop was found */

/*
 * Returns a number that identifies an interpreter. All evaluation loops of an interpreter have the
 * same layout on the C stack.
 */
walk_inline __u64 build_of(const struct walk *w)
{
	return w->proc_hash ^ w->interp;
}

/*
 * 3.12: returns the memo for this interpreter: it has the distance from a loop's _PyCFrame to the
 * loop's own frame (its shim).
 */
walk_inline struct shim_memo *shim_of(struct walk *w)
{
	return &w->shims[bounded(check_mix(0, build_of(w)) >> 58, SHIM_MEMOS)];
}

/*
 * Is @offset the distance from a loop's _PyCFrame to the loop's own frame (its shim)? All loops of
 * a build have the same distance, which this function learns. A frame that was left over can't
 * displace a distance that was found more often.
 */
walk_inline bool is_shim_offset(struct walk *w, __u64 offset)
{
	struct shim_memo *m = shim_of(w);

	if (m->build != build_of(w) || (m->offset != offset && !m->seen)) {
		if (offset + EVAL_BYTES >= 2 * EVAL_BYTES)
			return false;
		*m = (struct shim_memo){.build = build_of(w), .offset = offset};
		return true;
	}
	if (m->offset != offset)
		m->seen--;
	else if (m->seen < SHIM_SEEN)
		m->seen++;
	return m->offset == offset;
}

/* Tells whether @frame, in the data stack, has run an instruction. */
walk_inline bool has_run(struct walk *w, const struct py_layout *l, __u64 frame)
{
	return !read_user(w->object, FRAME_BYTES, frame) &&
	       (__s64)(object_u64(w, l->frame_lasti) - object_u64(w, l->frame_code) -
		       l->code_adaptive) >= 0;
}

/* Sets w->resumed to the generator that was resumed before the one that w->resumed is now. */
walk_inline bool load_resumed_before(struct walk *w, const struct py_layout *l)
{
	if (read_user(w->object, 8, w->resumed - GENERATOR_FRAME + EXC_PREVIOUS))
		return false;
	note_resumed(w, l, object_u64(w, 0));
	return true;
}

/*
 * Is generator w->resumed just being entered? Its caller is stored in its frame when it is entered,
 * and removed when it is left (Objects/genobject.c, gen_send_ex2(); Python/bytecodes.c,
 * YIELD_VALUE). So the generator is being entered as long as its frame has no caller. On 3.12, if a
 * loop begins with the generator, the generator's caller is the loop's own frame. Then the
 * generator is still being entered until it is that loop's current frame. 3.11 stores the caller
 * too early to show that. (Cython's generators have no such frame.)
 */
walk_inline bool is_entered(struct walk *w, const struct py_layout *l)
{
	__u64 back;

	if (!w->resumed || read_user(w->object, FRAME_BYTES, w->resumed) ||
	    object_u8(w, l->frame_owner) != OWNED_BY_GENERATOR)
		return false;
	back = object_u64(w, l->frame_back);
	if (!back || l->frame_is_entry)
		return !back;
	return back == w->loop + shim_of(w)->offset &&
	       !read_user(w->object, 8, w->loop + l->cframe_current_frame) &&
	       object_u64(w, 0) != w->resumed;
}

/*
 * Returns the thread's innermost frame as its data stack and its generators show it; 0: they don't
 * show it. A frame that is just being entered (the last one of the data stack, or the generator
 * that was resumed last) is left out, and w->entered is set. w->entered is also set if memory isn't
 * readable. Sets w->found to the innermost frame, even if it hasn't run an instruction; to 0 if no
 * frame runs; or to NOT_FOUND.
 */
walk_global __u64 find_running(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);

	if (!l)
		return 0;
	w->found = NOT_FOUND;
	w->entered = 1;
	if ((!l->frame_is_entry && shim_of(w)->build != build_of(w)) || !load_resumed(w, l) ||
	    !find_below(w, w->chunk, w->stack_top))
		return 0;
	if (w->nearest && !has_run(w, l, w->nearest)) {
		if (!find_below(w, w->chunk, w->nearest))
			return 0;
	} else if (is_entered(w, l)) {
		if (!load_resumed_before(w, l))
			return 0;
	} else {
		w->entered = 0;
	}
	w->found = w->nearest || w->resumed ? find_caller(w) ?: NOT_FOUND : 0;
	if (w->found == NOT_FOUND ||
	    (w->found && w->found == w->nearest && !has_run(w, l, w->found)))
		return 0;
	return w->found;
}

/*
 * Does the thread run the innermost loop's own C function, and nothing that this function called?
 * If so, the loop may not be set up yet.
 */
walk_inline bool runs_loop(const struct walk *w)
{
	return w->loop - w->sp < EVAL_BYTES;
}

/*
 * 3.11: frame w->caller, which runs w->caller_code, has run an instruction. The frame lies in the
 * data stack (@stacked) or in a generator. Is the thread's innermost frame another frame, because
 * the loop isn't set up yet? No, if w->caller is the last frame of the data stack or the generator
 * that was resumed last: these two are the thread's innermost frame even while a frame begins or
 * ends.
 */
walk_global int is_not_innermost(__u32 slot, int stacked)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 frame, innermost;

	if (!l)
		return 0;
	frame = w->caller;
	if (stacked ? frame_end(w, l, frame, w->caller_code) == w->stack_top
		    : load_resumed(w, l) && w->resumed == frame)
		return 0;
	innermost = find_running(slot);
	if (w->entered)
		return w->found != NOT_FOUND && w->found != frame;
	/* the generator may be just about to be entered */
	return stacked && innermost && innermost == w->resumed;
}

/*
 * Returns the caller of generator @frame, which has no caller stored, because the generator is just
 * being resumed or left. 0: the caller isn't found.
 */
walk_global __u64 find_resumer(__u32 slot, __u64 frame)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 by;
	bool last;

	if (!l || !load_resumed(w, l))
		return 0;
	last = w->resumed == frame;
	by = find_running(slot);
	return by == frame || w->entered != last ? 0 : by;
}

#endif
