/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the unwind row (how to find the caller) of the code at an address. First it finds the
 * mapping of that address, then it searches the table of the mapped file.
 */
#ifndef BPF_NATIVE_LOOKUP_H
#define BPF_NATIVE_LOOKUP_H

#include "native/native.bpf.h"
#include "native/search.bpf.h"
#include "python/code.bpf.h"

/* Returns the number of the chunk of n->space in which the mapping of @pc is. */
walk_inline __u32 space_chunk_of(const struct native *n, __u64 pc)
{
	__u32 number = n->space.chunk[0];

	for (__u32 i = 1; i < SPACE_CHUNKS; i++) {
		const struct space_chunk *c;

		if (i >= n->space.chunks)
			break;
		c = (const void *)unwind_chunk_at(n->space.chunk[i]);
		if (!c || c->start[0] > pc)
			break;
		number = n->space.chunk[i];
	}
	return number;
}

/*
 * Finds the table of unwind rows for the code at @pc, and as @key the offset of @pc in the table's
 * code. Returns 0 or an enum native_outcome.
 */
walk_inline __u8 find_mapping(const struct native *n, __u64 pc, __u32 *table, __u32 *key)
{
	const struct space_chunk *c;
	__u64 off;
	__u32 i;

	if (!n->space.chunks || pc >= SPACE_UNUSED)
		return n->space.chunks ? NATIVE_UNMAPPED : NATIVE_NO_SPACE;
	c = (const void *)unwind_chunk_at(space_chunk_of(n, pc));
	if (!c)
		return NATIVE_NO_SPACE;
	i = bounded(search_space(c, pc), SPACE_MAPPINGS);
	off = pc - c->start[i];
	if (off >= (__u64)c->map[i].pages << 12)
		return NATIVE_UNMAPPED;
	*table = c->map[i].table;
	*key = c->map[i].key + (__u32)off;
	return 0;
}

/*
 * Goes one level down in the search tree. Before the call, n->found is the number of a chunk; after
 * it, the value of that chunk's entry for @key.
 */
walk_inline bool descend(struct native *n, __u32 key)
{
	const struct unwind_chunk *c = unwind_chunk_at(n->found);
	__u32 i;

	if (!c)
		return false;
	i = bounded(search_chunk(c, key), UNWIND_FANOUT);
	n->found = c->value[i];
	n->found_into = key - c->key[i];
	return true;
}

/*
 * Are the @bytes of code at @start still the bytes from which the rows were made? The process may
 * change its code at any time.
 */
walk_inline bool guard_holds(__u32 slot, __u64 start, __u32 bytes, __u64 check)
{
	struct walk *w = walk_state(slot);

	if (!w)
		return false;
	w->acc = 0;
	w->acc_addr = start;
	w->acc_len = bytes;
	return !hash_bytes(slot) && w->acc == check;
}

/* Sets n->found to the value of the row for n->found_pc. Returns 0 or an enum native_outcome. */
walk_global int native_lookup(__u32 slot)
{
	struct native *n = native_state(slot);
	struct unwind_table *t;
	__u32 table = 0, key = 0;
	__u8 r;

	if (!n)
		return NATIVE_NO_SPACE;
	r = find_mapping(n, n->found_pc, &table, &key);
	if (r)
		return r;
	t = unwind_table_at(table);
	if (!t || !t->depth)
		return NATIVE_NO_ROWS;
	/*
	 * .used is written only if it changes, because a write takes the cache line away from other
	 * CPUs
	 */
	if (t->used != n->epoch)
		t->used = n->epoch;
	n->found_guarded = t->guarded != 0;
	if (t->guarded && !guard_holds(slot, n->found_pc - key, t->guarded, t->check))
		return NATIVE_NO_ROWS;
	n->found = t->root;
	_Static_assert(UNWIND_LEVELS == 3, "");
	if (!descend(n, key) || (t->depth > 1 && !descend(n, key)) ||
	    (t->depth > 2 && !descend(n, key)))
		return NATIVE_NO_ROWS;
	return 0;
}

/*
 * Returns the row for the code at @pc. If there is no row, ends the unwinding with an outcome and
 * returns NULL.
 */
walk_inline struct native_memo *find_row(struct native *n, __u64 pc)
{
	struct native_memo *memo = &n->memos[bounded(pc ^ pc >> 10, NATIVE_MEMOS)];
	int r;

	if (memo->pc == pc && memo->version == n->space.version && memo->epoch == n->epoch)
		return memo;
	n->found_pc = pc;
	r = native_lookup(n->slot);
	if (r) {
		native_end(n, r);
		return 0;
	}
	memo->pc = pc;
	memo->version = n->space.version;
	memo->epoch = n->found_guarded ? 0 : n->epoch;
	memo->value = n->found;
	memo->into = n->found_into;
	return memo;
}

#endif
