/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the store of unwind rows share. */
#ifndef SAMPLER_UNWIND_INTERNAL_H
#define SAMPLER_UNWIND_INTERNAL_H

#include <pthread.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "sampler/unwind/store.h"

typedef VEC(uint32_t) chunk_vec;

/* Rows in the kernel's maps: of one table, or of several with the same rows. */
struct unwind_tree {
	struct unwind_table table; /* the table as it is in the kernel's map, except .used */
	/* numbers of all chunks of the tree, the lowest level first; their contents never change */
	chunk_vec chunks;
	size_t entries; /* how many entries the lowest level of the tree has */
	uint32_t refs;	/* how many tables have this tree, and how many threads compare it */
	/* for how many seconds no sample has used the tree; for unwind_make_room() */
	int32_t unused;
};

struct space {
	uint32_t chunks, chunk[SPACE_CHUNKS];
};

struct unwind_store {
	struct unwind_store_maps maps;
	uint32_t max_slabs;
	/*
	 * Protects the members below; not held while the kernel is waited for or rows are written.
	 */
	pthread_mutex_t lock;
	pthread_mutex_t supply; /* held while chunks are made; taken before .lock */
	/*
	 * descriptors of the slabs; the array never moves: a chunk that was taken is written
	 * without the lock
	 */
	VEC(int) slabs;
	/* numbers of chunks that aren't used; those in .limbo may still be read by a program */
	chunk_vec free, limbo;
	/* trees by number of the table; NULL: the table is empty */
	VEC(struct unwind_tree *) tables;
	VEC(uint32_t)
	/*
	 * numbers of tables that were emptied to make room; unwind_store_given_up() returns and
	 * forgets them
	 */
	given_up;
	/*
	 * numbers of tables that aren't used; those in .limbo_tables may still be known to a
	 * program
	 */
	chunk_vec free_tables, limbo_tables;
	/* a rule's hash (rule_key()), or the next number that was free -> number of the rule */
	struct map rule_index;
	VEC(struct unwind_rule) rules;
	/* the entries of map `spaces`, in memory shared with the kernel */
	struct unwind_space *shared;
	VEC(struct space) spaces;
	VEC(uint32_t) free_spaces;
	struct unwind_reading *reading; /* chunks that a walk has read; NULL: none was yet */
};

/* Takes the lock of @s. A variable declared with _locked_ releases it at the end of the scope. */
static inline struct unwind_store *unwind_lock(struct unwind_store *s)
{
	pthread_mutex_lock(&s->lock);
	return s;
}
static inline void unwind_unlockp(struct unwind_store **s)
{
	pthread_mutex_unlock(&(*s)->lock);
}
#define _locked_ _cleanup_(unwind_unlockp) struct unwind_store *

/*
 * All functions below, but for unwind_put(), unwind_chunk_write() and unwind_chunk_read(), are
 * called with .lock held.
 */

/* chunks.c: sets entry number @key of the BPF map @map. 0 or -errno. */
_must_use_ int unwind_put(int map, uint32_t key, const void *value);

/* How many chunks there are at most; how many can be had without giving up a table. */
size_t unwind_chunks_most(const struct unwind_store *s);
size_t unwind_chunks_left(const struct unwind_store *s);

/*
 * Takes a chunk that nobody reads. 0 or -errno; -ENOSPC. If only @keep are left it makes more,
 * without the lock meanwhile: a caller that can wait leaves some for those that can't.
 */
#define UNWIND_KEEP_CHUNKS (UNWIND_SLAB_CHUNKS / 16)
_must_use_ int unwind_chunk_take(struct unwind_store *s, size_t keep, uint32_t *ret);
/* Makes at once the chunks that taking @n would make one by one: so the kernel waits less often. */
void unwind_chunks_supply(struct unwind_store *s, size_t keep, size_t n);
void unwind_chunk_give_back(struct unwind_store *s, uint32_t chunk);
_must_use_ int unwind_chunk_write(const struct unwind_store *s, uint32_t chunk, const void *bytes);
_must_use_ int unwind_chunk_read(const struct unwind_store *s, uint32_t chunk, void *bytes);

/*
 * store.c: gets the kernel's number of each rule of @rows: (*@ret)[i] is that of rule i. The
 * caller frees *@ret. 0 or -errno.
 */
_must_use_ int unwind_number_rules(struct unwind_store *s, const struct unwind_rows *rows,
				   uint32_t **ret);

/* table.c: forgets what user space knows of @table; tells the kernel nothing. */
void unwind_table_forget(struct unwind_store *s, uint32_t table);

/*
 * table.c: gives up tables, longest unused first, until @need chunks are available. Tables
 * in use stay: -ENOSPC if that isn't enough, and then none is given up.
 */
_must_use_ int unwind_make_room(struct unwind_store *s, size_t need);

#endif
