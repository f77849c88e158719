/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code objects, their names and their line tables, where each has to be looked at (up to 3.10).
 * What a module's loading made one after another lies next to each other, each size in pages of its
 * own (Objects/obmalloc.c): the second object of a kind in NEAR_BYTES brings all of those, one read
 * for up to twenty; in later samples the first one does. The frames of these versions lie anywhere,
 * so the block of frames.bpf.h is free.
 */
#ifndef BPF_NEAR_H
#define BPF_NEAR_H

#include "state.bpf.h"

#define LONE_OBJECT  (BLOCK_BYTES + 2048) /* in walk.block: what is read by itself, of each kind, */
#define OBJECT_SLACK 256		  /* so far apart */
#define NOWHERE	     (1ull << 63)	  /* no address in user space */

/* Where several objects of a kind were met in one sample. */
walk_inline __u64 *shared_place(struct walk *w, __u64 start)
{
	return &w->shared[bounded(check_mix(0, start) >> 56, SHARED_PLACES)];
}

/*
 * What near[] holds isn't needed any more. If it was read for one object only, the next sample
 * won't.
 */
walk_inline void leave_near(struct walk *w, __u32 kind)
{
	if (w->lonely[kind])
		*shared_place(w, w->near[kind]) = NOWHERE;
	w->near[kind] = NOWHERE;
	w->lonely[kind] = 0;
}

walk_inline void forget_near(struct walk *w, const struct py_layout *l)
{
	w->near_on = l->walk == PY_WALK_OBJECT;
	for (__u32 i = 0; i < NEAR_MAX; i++) {
		leave_near(w, i);
		w->met[i] = NOWHERE;
	}
}

/* Reads all that is at @start, if that serves more than one object. */
walk_inline bool read_shared(struct walk *w, __u32 kind, __u64 start)
{
	bool second = w->met[kind] == start;
	__u64 *shared = shared_place(w, start);

	if (!second && *shared != start)
		return false;
	leave_near(w, kind); /* a read that fails leaves zeros there */
	if (read_user(&w->block[kind * NEAR_BYTES], NEAR_BYTES, start))
		return false;
	w->near[kind] = *shared = start;
	w->lonely[kind] = !second;
	return true;
}

/* The bound stands here: 5.10 forgets that of a register which was put on the stack meanwhile. */
walk_inline bool read_lone(struct walk *w, __u32 lone, __u64 addr, __u64 n)
{
	opaque(n);
	if (n > OBJECT_SLACK)
		return false;
	w->got = (__u32)n;
	if (!read_user(&w->block[bounded(lone, 2 * BLOCK_BYTES)], n, addr))
		return true;
	note_absent(w, ABSENT_CODE, addr, n);
	return false;
}

/*
 * What isn't there: the first of a kind in NEAR_BYTES by itself, so that stacks whose functions lie
 * far from each other cost no more than without this. Sets w->got.
 */
walk_global int read_near(__u32 slot, __u32 kind, __u64 addr, __u64 n, __u64 most)
{
	struct walk *w = walk_state(slot);
	__u64 start = addr & ~(__u64)(NEAR_BYTES - 1);
	__u32 at = (__u32)(addr - start), lone;

	if (!w)
		return -1;
	kind = bounded(kind, NEAR_MAX);
	lone = LONE_OBJECT + kind * OBJECT_SLACK;
	if (w->near_on && at + n <= NEAR_BYTES) {
		if (read_shared(w, kind, start)) {
			w->got = NEAR_BYTES - at;
			return (int)(kind * NEAR_BYTES + at);
		}
		w->met[kind] = start;
	}
	if (read_lone(w, lone, addr, most))
		return (int)lone;
	return most > n && read_lone(w, lone, addr, n) ? (int)lone
						       : -1; /* the mapping ends behind it */
}

/*
 * Offset in walk.block of the @n bytes at @addr, or -1. NEAR_BYTES end with a page or within it.
 * w->got: so many bytes are there, up to @most if it is read by itself.
 */
walk_inline __s32 load_near(struct walk *w, enum near_kind kind, __u64 addr, __u32 n, __u32 most)
{
	__u64 at = addr - w->near[kind];
	__s64 read;

	if (at <= NEAR_BYTES - n) {
		w->got = NEAR_BYTES - (__u32)at;
		w->lonely[kind] = 0;
		return (__s32)(kind * NEAR_BYTES + at);
	}
	read = read_near(w->slot, kind, addr, n, most);
	/* One state for the verifier, not one for each way here: a seventh fewer instructions. */
	opaque(read);
	return (__s32)read;
}

#endif
