/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads code objects, names and line tables, for versions where each has to be read (up to 3.10).
 * Objects that were created one after another while a module was loaded lie next to each other, if
 * they have the same size: each size has pages of its own (Objects/obmalloc.c). The first object of
 * a kind that a walk needs in a stretch of NEAR_BYTES is read alone. When the walk needs a second
 * object in that stretch, it reads the whole stretch: one read for up to twenty objects. Later
 * samples read such a stretch whole at once. The stretches go to walk.block, which frames.bpf.h
 * doesn't use on these versions.
 */
#ifndef BPF_PYTHON_NEAR_H
#define BPF_PYTHON_NEAR_H

#include "state.bpf.h"

/* offset in walk.block of the objects that are read alone, one object of each kind */
#define LONE_OBJECT (BLOCK_BYTES + 2048)
/* distance from the place of one object that is read alone to the place of the next such object */
#define OBJECT_SLACK 256
#define NOWHERE	     (1ull << 63) /* an address that isn't in user space */

/* Returns the entry of w->shared for the stretch of NEAR_BYTES bytes that begins at @start. */
walk_inline __u64 *shared_place(struct walk *w, __u64 start)
{
	return &w->shared[bounded(check_mix(0, start) >> 56, SHARED_PLACES)];
}

/*
 * Gives up the bytes of w->block that were read from address w->near[@kind]. If a walk needed only
 * one object in these bytes, the next sample reads that object alone.
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

/*
 * Reads NEAR_BYTES bytes from @start on, if an earlier sample needed more than one object in them.
 */
walk_inline bool read_shared(struct walk *w, __u32 kind, __u64 start)
{
	bool second = w->met[kind] == start;
	__u64 *shared = shared_place(w, start);

	if (!second && *shared != start)
		return false;
	/* what w->block has of this kind is given up, because a failed read leaves zeros in it */
	leave_near(w, kind);
	if (read_user(&w->block[kind * NEAR_BYTES], NEAR_BYTES, start))
		return false;
	w->near[kind] = *shared = start;
	w->lonely[kind] = !second;
	return true;
}

/*
 * Reads @n bytes at @addr to offset @lone of w->block. This function checks the bound: 5.10's
 * verifier forgets the bounds of a register that was put on the stack meanwhile.
 */
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
 * Reads an object that isn't in w->block yet. The first object of a kind in a stretch of NEAR_BYTES
 * is read alone. So if the functions of a stack lie far apart, nothing is read that isn't needed.
 * Returns the object's offset in w->block, or -1. Sets w->got.
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
		/*
		 * the value is kept in @w, because nested calls nearly reach 5.10's limit for their
		 * stacks
		 */
		w->got = NEAR_BYTES - at;
		if (read_shared(w, kind, start))
			return (int)((kind + 1) * NEAR_BYTES - w->got);
		w->met[kind] = start;
	}
	if (read_lone(w, lone, addr, most))
		return (int)lone;
	/* @most bytes can't be read if the mapping ends after the @n bytes that are needed */
	return most > n && read_lone(w, lone, addr, n) ? (int)lone : -1;
}

/*
 * Returns the offset in walk.block of the @n bytes at @addr, or -1. (A stretch of NEAR_BYTES bytes
 * doesn't cross the end of a page.) Sets w->got to how many bytes from @addr on walk.block has. If
 * the bytes are read alone, up to @most are read.
 */
walk_inline __s64 load_near(struct walk *w, enum near_kind kind, __u64 addr, __u32 n, __u32 most)
{
	__u64 at = addr - w->near[kind];
	__s64 read;

	if (at <= NEAR_BYTES - n) {
		w->got = NEAR_BYTES - (__u32)at;
		w->lonely[kind] = 0;
		return (__s64)(kind * NEAR_BYTES + at);
	}
	read = read_near(w->slot, kind, addr, n, most);
	/*
	 * opaque() makes the verifier go on from one state, not from one for each path, which saves
	 * a seventh of the instructions that it looks at.
	 */
	opaque(read);
	return read;
}

#endif
