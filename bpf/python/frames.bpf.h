/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Walks the chain of frames, innermost first, into walk_out. frame.bpf.h reads each frame. */
#ifndef BPF_PYTHON_FRAMES_H
#define BPF_PYTHON_FRAMES_H

#include "python/anew.bpf.h"
#include "python/code.bpf.h"
#include "python/frame.bpf.h"

/*
 * the most steps of a walk: the frames, a shim (an evaluation loop's own frame) for each, and
 * 3.15's sentinel
 */
#define MAX_STEPS (2 * ABI_MAX_FRAMES + GROUP_FRAMES)

walk_inline void push_frame(struct walk *w, struct walk_out *out, struct walk_addrs *addrs,
			    __u64 frame, __u64 code, __u64 check, __s32 lasti, __u32 flags)
{
	__u32 i = w->n;

	if (i >= ABI_MAX_FRAMES) {
		walk_end(w, WALK_TRUNCATED);
		return;
	}
	i = bounded(i, ABI_MAX_FRAMES);
	out->frame[i].code = code;
	out->frame[i].check = check;
	out->frame[i].lasti = lasti;
	out->frame[i].flags = flags;
	addrs->frame[i] = frame;
	w->hash = check_mix(check_mix(w->hash, check), (__u64)(__u32)lasti << 32 ^ code);
	w->n = i + 1;
}

/*
 * Adds an evaluation loop to @addrs. @last is the index of the loop's outermost Python frame, @addr
 * the address of the loop's own frame (its shim). A loop without Python frames isn't added.
 */
walk_inline void push_group(struct walk *w, struct walk_addrs *addrs, __u32 last, __u64 addr)
{
	__u32 g = bounded(w->groups, ABI_MAX_FRAMES);

	if (g && addrs->group[bounded(g - 1, ABI_MAX_FRAMES)].last == last)
		return;
	addrs->group[g].addr = addr;
	addrs->group[g].last = last;
	w->groups = g + 1;
}

/*
 * 3.12: do the data stack and the generators also say that the walk's first frame is the thread's
 * innermost? Then its chain of callers is right, even if evaluation loops' own frames (shims) are
 * missing in it. greenlet takes shims out of the chain, one after the other, before it switches
 * (expose_frames()).
 */
walk_global int runs_first(__u32 slot)
{
	struct walk *w = walk_state(slot);
	struct walk_addrs *addrs = walk_addrs(slot);
	const struct py_layout *l = layout_of(w);

	return l && addrs && l->walk == PY_WALK_CFRAME && !l->frame_is_entry && w->n &&
	       find_running(slot) == addrs->frame[0] && !w->entered;
}

/*
 * 3.12: the innermost loop has only its own frame (its shim), which leads to w->frame as its
 * caller. Did an earlier loop leave this shim behind? Then the present loop isn't set up yet, and
 * another frame entered it.
 */
walk_inline bool is_left_behind(struct walk *w)
{
	__u64 by = runs_loop(w) ? find_running(w->slot) : 0;

	return by && w->entered && by != w->frame;
}

/*
 * Do the frames that were walked belong to the innermost loop, whose own frame is at @shim? They do
 * if their callers lead to w->outer. After a restart at a frame that no loop was proved to run
 * (INNER_FOUND), they do if that frame is the current frame of the loop with @shim.
 */
walk_global int prove_inner(__u32 slot, __u64 shim)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);

	if (!l)
		return 0;
	if (w->inner == INNER_FOUND)
		return shim && w->found &&
		       read_u64(shim - shim_of(w)->offset + l->cframe_current_frame) == w->found;
	if (w->frame == w->outer && (!shim || is_shim_offset(w, shim - w->loop)))
		return w->n || !shim || began_again(w) || !is_left_behind(w);
	return runs_first(slot);
}

/*
 * Called when a C evaluation loop's outermost frame was read, whose caller is w->frame: the loop's
 * frames are complete. @shim: the loop's own frame, or 0 if it has none.
 */
walk_inline void close_group(struct walk *w, struct walk_out *out, struct walk_addrs *addrs,
			     __u64 shim)
{
	__u32 i = w->n;

	w->closed = 1;
	if (w->inner != INNER_PROVED) {
		if (!prove_inner(w->slot, shim)) {
			fail(w, WALK_FRAME_TORN);
			return;
		}
		w->inner = INNER_PROVED;
	}
	if (!i)
		return;
	i = bounded(i - 1, ABI_MAX_FRAMES);
	out->frame[i].flags |= FRAME_ENTRY;
	push_group(w, addrs, i, shim);
	w->hash = check_mix(w->hash, FRAME_ENTRY);
}

/*
 * 3.11, 3.12: returns true if the thread has left @frame, which then lies above the top of the data
 * stack. Only an innermost loop that isn't set up yet leads to such a frame. The frame's callers
 * prove nothing: a new frame may lie where an old caller lay, and lead to the loop further out. On
 * 3.11 the thread may still be in a frame that begins where the stack ends, because 3.11 takes a
 * frame off the stack before it makes the caller current.
 */
walk_inline bool was_left(const struct walk *w, const struct py_layout *l, __u64 frame)
{
	return l->tstate_datastack_top && frame >= w->stack_top + !!l->frame_is_entry &&
	       frame < w->stack_limit;
}

/*
 * 3.11, 3.12: is @frame left over, in an innermost loop that isn't set up yet? A frame that hasn't
 * run an instruction has called nothing but a trace function, which runs in a loop of its own. So
 * if the chain leads from another frame of the same loop to @frame, that other frame was called by
 * an earlier frame, which lay where @frame lies now.
 */
walk_inline bool is_left_over(struct walk *w, const struct py_layout *l, const struct frame_view *f,
			      __u64 frame)
{
	if (!f->stacked)
		return false;
	return w->n ? !w->closed && f->lasti == NO_INSTRUCTION : was_left(w, l, frame);
}

/*
 * The innermost frame hasn't run an instruction yet, and the caller stored in it is @frame. Is
 * @frame the wrong caller, because it is the caller of an earlier frame at the same address
 * (caller.bpf.h)? For example, a generator that nobody resumed has called nothing.
 */
walk_inline bool is_stale_caller(struct walk *w, const struct py_layout *l,
				 const struct frame_view *f, __u64 frame)
{
	if (!w->fresh)
		return false;
	/*
	 * the only shim (an evaluation loop's own frame) that a walk can come to is the innermost
	 * loop's, which leads to w->outer
	 */
	if (f->shim)
		return l->walk == PY_WALK_CFRAME && !w->closed && w->inner == INNER_UNPROVED &&
		       f->caller != w->outer;
	if (l->walk == PY_WALK_CFRAME)
		return !is_caller(w, frame, f->stacked);
	return w->n == 1 && !f->stacked && !f->caller;
}

/* For 3.11 and 3.12: tells whether the callers of the innermost frame still need a proof. */
walk_inline bool is_unproved(const struct walk *w, const struct py_layout *l)
{
	return w->fresh && l->walk == PY_WALK_CFRAME;
}

/*
 * Called if the caller that the innermost frame has isn't the true caller: goes on at the true
 * caller, or ends the walk.
 */
walk_global int call_again(__u32 slot)
{
	struct walk *w = walk_state(slot);

	if (!w)
		return 0;
	w->frame = w->fresh == FRESH && w->n == 1 && !w->closed ? find_caller(w) : 0;
	w->fresh = FRESH_NOT;
	w->mark = 0; /* the walk may come to the frame in w->mark again, further out */
	if (!w->frame)
		walk_end(w, WALK_FRAME_TORN);
	return 0;
}

/*
 * Sets w->fresh if @f is the innermost frame and hasn't run an instruction yet. (In a loop further
 * out, such a frame has called a trace function.) Returns enum met.
 */
walk_inline int see_fresh(struct walk *w, const struct py_layout *l, const struct frame_view *f,
			  __u64 frame)
{
	if (w->n || f->shim || began_again(w) || l->walk == PY_WALK_OBJECT)
		return MET_FRESH;
	w->fresh = f->lasti < 0 ? FRESH : FRESH_NOT;
	if (l->walk != PY_WALK_CFRAME)
		return MET_FRESH;
	w->caller = frame;
	w->caller_code = f->code;
	if (w->fresh)
		return f->stacked ? meet_fresh(w->slot) : MET_LEFT;
	return l->frame_is_entry && runs_loop(w) && is_not_innermost(w->slot, f->stacked)
		       ? MET_LEFT
		       : MET_FRESH;
}

/*
 * 3.12: the innermost frame was taken off the data stack but is still current, as when a generator
 * has just been made of it (Python/bytecodes.c, RETURN_GENERATOR). Goes on at the frame's caller.
 * 0: the caller isn't found, or the loop isn't set up.
 */
walk_global int pass_left(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 frame;

	if (!l)
		return 0;
	frame = find_running(slot);
	if (w->entered)
		return 0;
	if (frame && frame == w->outer)
		return begin_again(w, l, frame);
	w->frame = frame;
	return frame != 0;
}

walk_inline void step(struct walk *w, struct walk_out *out, struct walk_addrs *addrs,
		      const struct py_layout *l)
{
	__u64 frame = w->frame, check = 0;
	struct frame_view f;
	int met;

	if (!(l->walk == PY_WALK_OBJECT ? read_object(w, l, &f) : read_iframe(w, l, &f))) {
		if (is_unproved(w, l))
			call_again(w->slot);
		else
			fail(w, WALK_FRAME_FAULT);
		return;
	}
	if (is_stale_caller(w, l, &f, frame)) {
		if (l->walk == PY_WALK_CFRAME)
			call_again(w->slot);
		else
			walk_end(w, WALK_FRAME_TORN);
		return;
	}
	if (l->walk == PY_WALK_CFRAME && is_left_over(w, l, &f, frame)) {
		if (w->n || l->frame_is_entry || !pass_left(w->slot))
			fail(w, WALK_FRAME_TORN);
		return;
	}
	met = see_fresh(w, l, &f, frame);
	if (met == MET_LEFT)
		fail(w, WALK_FRAME_TORN);
	else if (met == MET_FAULT)
		walk_end(w, WALK_FRAME_FAULT);
	if (met != MET_FRESH)
		return;
	w->frame = f.caller;
	w->closed = 0;
	if (!f.shim) {
		if (!f.code || !load_check(w, out, l, f.func, f.code, &check)) {
			fail(w, check_outcome(w, f.code));
			return;
		}
		push_frame(w, out, addrs, frame, f.code, check, f.lasti, f.flags);
	}
	if (!f.entry || w->done)
		return;
	close_group(w, out, addrs, f.shim ? frame : 0);
}

/*
 * The chain has ended: is it whole? A whole chain ends in the frame with which a C evaluation loop
 * began. The innermost frame may lack its caller for a moment, while a generator is left or a frame
 * is entered. So a chain of one frame may not be whole. While greenlet switches, the chain lacks
 * the loops' own frames. Then a chain of several frames is whole wherever it ends. 3.11, 3.12: if
 * the thread runs no evaluation loop, no loop began its frames, and their chain is whole.
 */
walk_inline bool is_whole(struct walk *w, const struct py_layout *l)
{
	if (is_unproved(w, l) && !is_first(w))
		return false;
	if (w->closed || (l->walk == PY_WALK_CFRAME && !w->loop))
		return true;
	if (w->n > 1 && w->inner == INNER_PROVED)
		return true;
	return runs_first(w->slot);
}

/*
 * On 3.9, if an exception is thrown into a generator that waits in a `yield from`, the generator's
 * frame becomes the thread's current one, and nothing shows who threw the exception
 * (Objects/genobject.c, _gen_throw). The walk then passes frames further in and ends at that
 * generator, and f_executing of the generator's frame is 0. If that generator is the walk's only
 * frame, this proves nothing: f_executing of the innermost frame is also 0 while the frame is
 * entered or left.
 */
walk_inline int outcome_of_end(struct walk *w)
{
	if (!w->n)
		return WALK_NO_PYTHON;
	return w->waits && w->n > 1 ? WALK_FRAME_CALLER : WALK_OK;
}

/* Walks up to GROUP_FRAMES frames. Returns 1 if the walk is over. */
walk_global int walk_group(__u32 slot)
{
	struct walk *w = walk_state(slot);
	struct walk_out *out = walk_out(slot);
	struct walk_addrs *addrs = walk_addrs(slot);
	const struct py_layout *l;

	if (!w || !out || !addrs)
		return 1;
	l = walk_layout(w->where.layout);
	if (!l)
		return 1;
	for (int i = 0; i < GROUP_FRAMES; i++) {
		if (w->done)
			return 1;
		if (!w->frame) {
			if (l->walk == PY_WALK_OBJECT)
				walk_end(w, outcome_of_end(w));
			else if (is_whole(w, l))
				walk_end(w, w->n ? WALK_OK : WALK_NO_PYTHON);
			else if (is_unproved(w, l))
				call_again(w->slot);
			else if (l->walk == PY_WALK_CFRAME && w->n == 1 && !w->closed &&
				 (w->frame = find_resumer(w->slot, addrs->frame[0])))
				continue;
			else
				fail(w, WALK_FRAME_TORN);
			continue;
		}
		if (w->steps++ >= MAX_STEPS || w->frame == w->mark) {
			walk_end(w, WALK_FRAME_CYCLE);
			return 1;
		}
		/* by Brent's algorithm, a circle in the chain of frames is soon found */
		if (!(w->steps & (w->steps - 1)))
			w->mark = w->frame;
		step(w, out, addrs, l);
	}
	return w->done;
}

/* Begins a walk of process w->proc, with an empty stack. */
walk_inline void walk_begin(struct walk *w)
{
	w->proc_hash = check_mix(w->proc.start_ns, (__u64)w->proc.exec_id << 32 | w->proc.tgid);
	w->outcome = WALK_OK;
	w->tstate = w->frame = w->loop = 0;
	w->thread = THREAD_UNKNOWN;
	forget_absent(w);
}

walk_inline void name_absence(struct walk *w, const struct py_layout *l)
{
	if (w->outcome == WALK_NO_PYTHON)
		w->outcome = without_python(w, l);
}

#define WALK_GROUPS 16 /* how often one call of walk_groups() calls walk_group() */

/* Walks up to WALK_GROUPS * GROUP_FRAMES frames. Returns 1 if the walk is over. */
walk_global int walk_groups(__u32 slot)
{
	for (int i = 0; i < WALK_GROUPS; i++)
		if (walk_group(slot))
			return 1;
	return 0;
}

/*
 * Finds the sampled thread's innermost frame. Returns 0 if the thread has no frame, or if the
 * innermost frame can't be found.
 */
walk_global int begin_python(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);

	if (!l)
		return 0;
	walk_begin(w);
	start_stack(w);
	w->steps = w->hashed = w->proved_late = 0;
	w->proving_ns = 0;
	w->sample++;
	w->done = w->closed = w->inner = 0;
	w->broken = WALK_FRAME_TORN;
	w->outer = w->outer_loop = 0;
	w->block_start = w->block_end = w->lone = 0;
	forget_near(w, l);
	if (!find_frame(w, l)) {
		name_absence(w, l);
		return 0;
	}
	count_codes(w);
	return 1;
}

/* Sets the final outcome of the walk and the id of its stack. */
walk_inline void end_python(struct walk *w, const struct py_layout *l)
{
	if (!w->n && w->outcome == WALK_OK)
		/* the thread is entering or leaving an evaluation loop */
		w->outcome = WALK_NO_PYTHON;
	/* the only cause may be that memory with a code object is absent */
	if (w->outcome == WALK_FRAME_TORN && w->absent[ABSENT_CODE].addr)
		w->outcome = WALK_CODE_FAULT;
	name_absence(w, l);
	w->hash = check_mix(w->hash, (__u64)w->n << 8 | w->outcome) | 1;
}

/*
 * Walks the sampled thread's Python frames, into walk_out. Sets w->n, w->outcome and the stack's
 * id, w->hash.
 */
walk_inline void walk_python(struct walk *w, const struct py_layout *l)
{
	__u32 slot = w->slot;

	if (!begin_python(slot))
		return;
	for (int i = 0; i < MAX_STEPS / (GROUP_FRAMES * WALK_GROUPS) + 1; i++)
		if (walk_groups(slot))
			break;
	end_python(w, l);
}

#endif
