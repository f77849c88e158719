/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads one frame. From 3.11 on, frames of Python-to-Python calls lie next to each other in the
 * thread's data stack, callers at lower addresses. So one read, from the start of a frame's page,
 * serves all its callers in that page. Before 3.11, and for generators, a frame is an object
 * somewhere on the heap and costs a read of its own.
 */
#ifndef BPF_PYTHON_FRAME_H
#define BPF_PYTHON_FRAME_H

#include "python/copy.bpf.h"

/* Reads memory from the start of the frame's page up to the end of the frame. */
walk_inline bool load_block(struct walk *w, __u64 frame)
{
	__u64 start = frame & ~(__u64)(BLOCK_BYTES - 1);
	__u32 n = (__u32)(frame - start) + FRAME_BYTES;

	opaque(n);
	if (n > BLOCK_BYTES + FRAME_BYTES)
		return false;
	w->block_start = w->block_end = 0;
	if (read_user(w->block, n, start))
		return false;
	w->block_start = start;
	w->block_end = start + n;
	return true;
}

/*
 * Returns the offset of the frame's bytes in w->block, or -1. A frame that isn't in the block is
 * read alone, with two exceptions: the walk's first such frame, and a frame that lies shortly below
 * the previous one. After these, more frames of the data stack are likely, so the block is read.
 * (Chunks of the data stack have no order: Python/pystate.c, push_chunk.)
 */
walk_inline __s64 load_frame(struct walk *w, __u64 frame)
{
	__u64 at = frame - w->block_start, below = w->lone - frame;

	if (at < BLOCK_BYTES && at + FRAME_BYTES <= w->block_end - w->block_start)
		return (__s64)at;
	w->lone = frame;
	if ((below < BLOCK_BYTES || !w->block_end) && load_block(w, frame))
		return (__s64)(frame - w->block_start);
	if (!read_user(&w->block[LONE_FRAME], FRAME_BYTES, frame))
		return LONE_FRAME;
	note_absent(w, ABSENT_FRAME, frame, FRAME_BYTES);
	return -1;
}

/*
 * wire_frame.lasti of a frame that hasn't run an instruction yet: the code unit before the first
 * instruction
 */
#define NO_INSTRUCTION (-2)

/* What the walk needs to know of one frame. */
struct frame_view {
	__u64 caller, code, func;
	__s32 lasti;
	/* the frame is an evaluation loop's own frame, which belongs to no Python function */
	bool shim;
	bool stacked; /* the frame lies in the data stack, not in a generator */
	/*
	 * the frame is the outermost of its evaluation loop, maybe the loop's own frame (its shim)
	 */
	bool entry;
	__u32 flags;
};

/*
 * Reads the fields that are needed if py_layout.frame_more is set, from the frame at offset @off in
 * w->block. (f->func is set even where nobody needs it. That saves the verifier a twentieth of its
 * work.)
 */
walk_inline void read_more(struct walk *w, const struct py_layout *l, __u64 off,
			   struct frame_view *f)
{
	f->func = block_u64(w, off + l->frame_func);
	if (!l->func_version && !is_in_main(w, l, off, f->code))
		f->lasti = find_lasti(w->slot, off);
}

/* Reads a _PyInterpreterFrame (3.11 and later). */
walk_inline bool read_iframe(struct walk *w, const struct py_layout *l, struct frame_view *f)
{
	__s64 off = load_frame(w, w->frame);
	__u8 owner;

	if (off < 0)
		return false;
	f->caller = block_u64(w, off + l->frame_back);
	/* from 3.14 on the low bits of the pointer are tags */
	f->code = block_u64(w, off + l->frame_code) & ~7ull;
	f->func = 0;
	f->lasti = (__s32)(block_u64(w, off + l->frame_lasti) - f->code - l->code_adaptive);
	owner = l->frame_owner ? block_u8(w, off + l->frame_owner) : 0;
	/* 3.11 has no shims (evaluation loops' own frames); the byte may have any value there */
	f->shim = owner >= 3 && !l->frame_is_entry;
	f->stacked = !owner;
	f->entry = f->shim || (l->frame_is_entry && block_u8(w, off + l->frame_is_entry));
	f->flags = 0;
	if (l->frame_more)
		read_more(w, l, (__u64)off, f);
	return true;
}

/* Reads a PyFrameObject (2.7 to 3.10). Each of these frames has an evaluation loop of its own. */
walk_inline bool read_object(struct walk *w, const struct py_layout *l, struct frame_view *f)
{
	if (read_user(&w->block[LONE_FRAME], OBJECT_BYTES, w->frame + l->frame_back)) {
		note_absent(w, ABSENT_FRAME, w->frame, OBJECT_BYTES + 24);
		return false;
	}
	f->caller = block_u64(w, LONE_FRAME);
	f->code = block_u64(w, LONE_FRAME + l->frame_code - l->frame_back);
	f->lasti = (__s32)block_u64(w, LONE_FRAME + l->frame_lasti - l->frame_back);
	f->func = 0;
	f->shim = f->stacked = f->entry = false;
	f->flags = FRAME_ENTRY;
	w->waits = l->frame_executing &&
		   !(__u8)block_u64(w, LONE_FRAME + l->frame_executing - l->frame_back);
	return true;
}

#endif
