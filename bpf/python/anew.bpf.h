/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Restarts a walk at the next C evaluation loop further out (3.11, 3.12). That is needed if the
 * innermost loop isn't set up yet, and still leads to frames of an earlier call.
 */
#ifndef BPF_PYTHON_ANEW_H
#define BPF_PYTHON_ANEW_H

#include "python/running.bpf.h"
#include "python/thread.bpf.h"

walk_inline void start_stack(struct walk *w)
{
	w->n = w->groups = 0;
	w->mark = 0;
	w->fresh = FRESH_NOT;
	w->hash = w->proc_hash;
}

/* For 3.11 and 3.12: tells whether the walk has dropped an innermost loop that isn't set up yet. */
walk_inline bool began_again(const struct walk *w)
{
	return w->inner >= INNER_DROPPED;
}

/*
 * Restarts the walk at @frame, which a loop further out runs. The innermost loop's link to the next
 * loop may also be left over from an earlier call. If that link leads to a loop that doesn't run
 * @frame, the callers of @frame have to show which loop runs @frame. False: the walk can't restart
 * there.
 */
walk_inline bool begin_again(struct walk *w, const struct py_layout *l, __u64 frame)
{
	__u64 loop = w->outer_loop;

	w->closed = 1;
	w->frame = frame;
	if (loop && frame && frame == read_u64(loop + l->cframe_current_frame)) {
		w->frame = loop;
		load_cframe(w, l);
		w->inner = INNER_DROPPED;
		return true;
	}
	w->inner = INNER_FOUND;
	return frame && !l->frame_is_entry;
}

/*
 * Is the innermost loop, which isn't set up yet, the thread's only one? Then its link to the next
 * loop leads to the thread's root_cframe, which belongs to no loop. Where a greenlet begins, the
 * link leads to a _PyCFrame that greenlet has put before root_cframe.
 */
walk_inline bool is_first_entered(struct walk *w, const struct py_layout *l)
{
	__u64 pair[2] = {}, root = w->tstate + l->tstate_root_cframe;

	if (!w->outer_loop ||
	    read_user(pair, sizeof(pair), w->outer_loop + l->cframe_current_frame))
		return false;
	return !pair[0] && (w->outer_loop == root || pair[1] == root) && is_first_loop(w, l);
}

/*
 * Restarts the walk at another frame, or ends it, because the innermost loop's frames don't lead to
 * the next loop further out. If the thread runs the innermost loop's own C function, that loop may
 * not be set up yet, and the thread is still in the frame that called the loop. Or (3.12) greenlet
 * is switching, and has taken the loops' own frames out of the chain that it is about to leave.
 */
walk_global int walk_anew(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 running, frame = 0;
	bool itself;

	if (!l)
		return 0;
	itself = runs_loop(w);
	running = find_running(slot);
	if (itself && w->entered)
		frame = running;
	if (frame || (itself && l->frame_is_entry))
		w->broken = WALK_FRAME_TORN;
	if (begin_again(w, l, frame))
		return 0;
	if (is_first_entered(w, l)) {
		walk_end(w, WALK_NO_PYTHON);
		return 0;
	}
	w->frame = w->entered || l->frame_is_entry ? 0 : running;
	w->found = 0; /* no loop has been proved to run the frame */
	if (!w->frame)
		walk_end(w, w->broken);
	return 0;
}

/*
 * Called when the walk can't go on. Frames that aren't proved to belong to the innermost loop may
 * be left over from an earlier loop. Drops such frames, and restarts the walk further out. If it
 * can't restart, the walk ends with @outcome, or with WALK_FRAME_TORN if the loop isn't set up yet.
 * WALK_CODE_HUGE is no sign that frames are left over: the walk ends and keeps them.
 */
walk_inline void fail(struct walk *w, __u8 outcome)
{
	if (w->inner == INNER_PROVED || outcome == WALK_CODE_HUGE) {
		walk_end(w, outcome);
		return;
	}
	start_stack(w);
	if (began_again(w)) {
		walk_end(w, w->broken);
		return;
	}
	w->broken = outcome;
	walk_anew(w->slot);
}

#endif
