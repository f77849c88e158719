/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code objects, their names and their line tables, where each has to be looked at (up to 3.10). What a module's
 * loading made one after another lies next to each other, each size in pages of its own (Objects/obmalloc.c): the
 * second object of a kind in NEAR_BYTES brings all of those, one read for up to twenty. The frames of these versions
 * lie anywhere, so the block of frames.bpf.h is free.
 */
#ifndef BPF_NEAR_H
#define BPF_NEAR_H

#include "state.bpf.h"

#define LONE_OBJECT  (BLOCK_BYTES + 2048) /* in walk.block: what is read by itself, of each kind, */
#define OBJECT_SLACK 256		  /* so far apart */
#define NOWHERE	     (1ull << 63)	  /* no address in user space */

walk_inline void forget_near(struct walk *w, const struct py_layout *l)
{
	w->near_on = l->walk == PY_WALK_OBJECT;
	for (__u32 i = 0; i < NEAR_MAX; i++)
		w->near[i] = w->met[i] = NOWHERE;
}

/*
 * What isn't there: the first of a kind in NEAR_BYTES by itself, so that stacks whose functions lie far from each other
 * cost no more than without this.
 */
walk_global int read_near(__u32 kind, __u64 addr, __u64 n)
{
	struct walk *w = walk_state();
	__u64 start = addr & ~(__u64)(NEAR_BYTES - 1);
	__u32 at = (__u32)(addr - start), block, lone;

	opaque(n);
	if (!w || n > OBJECT_SLACK)
		return -1;
	kind = bounded(kind, NEAR_MAX);
	block = kind * NEAR_BYTES;
	lone = LONE_OBJECT + kind * OBJECT_SLACK;
	if (w->near_on && at + n <= NEAR_BYTES) {
		if (w->met[kind] == start) {
			w->near[kind] = NOWHERE; /* a read that fails leaves zeros there */
			if (!read_user(&w->block[block], NEAR_BYTES, start)) {
				w->near[kind] = start;
				return (int)(block + at);
			}
		}
		w->met[kind] = start;
	}
	return read_user(&w->block[lone], n, addr) ? -1 : (int)lone;
}

/* Offset in walk.block of the @n bytes at @addr, or -1. NEAR_BYTES end with a page or within it. */
walk_inline __s32 load_near(const struct walk *w, enum near_kind kind, __u64 addr, __u32 n)
{
	__u64 at = addr - w->near[kind];
	__s64 read;

	if (at <= NEAR_BYTES - n)
		return (__s32)(kind * NEAR_BYTES + at);
	read = read_near(kind, addr, n);
	opaque(read); /* one state for the verifier, not one for each way here: a seventh fewer instructions */
	return (__s32)read;
}

#endif
