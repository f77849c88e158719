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

/*
 * Unwind rows (how to find the caller) in the kernel's maps: the rows of one table, or of several
 * tables with equal rows.
 */
struct unwind_tree {
	struct unwind_table table; /* the table as it is in the kernel's map, except .used */
	/*
	 * numbers of all chunks of the tree, those of its lowest level first; contents of chunks in
	 * a tree never change
	 */
	chunk_vec chunks;
	size_t entries; /* how many entries the lowest level of the tree has */
	uint32_t refs;	/* how many tables use this tree, plus how many threads are comparing it */
	/* for how many seconds no sample has used the tree; used by unwind_make_room() */
	int32_t unused;
};

struct space {
	uint32_t chunks, chunk[SPACE_CHUNKS];
};

struct unwind_store {
	struct unwind_store_maps maps;
	uint32_t max_slabs;
	/*
	 * Protects the members below. The lock isn't held while krait waits for the kernel or
	 * writes unwind rows.
	 */
	pthread_mutex_t lock;
	/* held while chunks (4 KiB of memory for rows) are made; taken before .lock */
	pthread_mutex_t supply;
	/*
	 * File descriptors of the BPF maps that hold the chunks of unwind rows (slabs). The array
	 * never moves, because a thread that has taken a chunk writes it without the lock.
	 */
	VEC(int) slabs;
	/*
	 * .free: numbers of unused chunks; .limbo: numbers of unused chunks that a program may
	 * still read
	 */
	chunk_vec free, limbo;
	/* the trees, by number of their table; NULL: the table is empty */
	VEC(struct unwind_tree *) tables;
	VEC(uint32_t)
	/*
	 * numbers of tables that were emptied to make room; unwind_store_given_up() takes them out
	 * of this list
	 */
	given_up;
	/*
	 * .free_tables: numbers of unused tables; .limbo_tables: numbers of unused tables that a
	 * program may still know
	 */
	chunk_vec free_tables, limbo_tables;
	/*
	 * number of a rule, by its rule_key(); if another rule had that key, by the next free key
	 */
	struct map rule_index;
	VEC(struct unwind_rule) rules;
	/* the entries of map `spaces`, in memory shared with the kernel */
	struct unwind_space *shared;
	VEC(struct space) spaces;
	/* the chunk (4 KiB) of mappings that is being filled; only while .lock is held */
	struct space_chunk making;
	VEC(uint32_t) free_spaces;
	/*
	 * the chunks that were read for the stack that user space walks now; NULL: it has walked
	 * none yet
	 */
	struct unwind_reading *reading;
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
 * All functions below are called with .lock held, except unwind_put(), unwind_chunk_write() and
 * unwind_chunk_read().
 */

/* chunks.c: sets entry number @key of the BPF map @map. 0 or -errno. */
_must_use_ int unwind_put(int map, uint32_t key, const void *value);

/*
 * unwind_chunks_most(): the most chunks that there can be. unwind_chunks_left(): how many are still
 * available without emptying a table. A chunk is 4 KiB of memory.
 */
size_t unwind_chunks_most(const struct unwind_store *s);
size_t unwind_chunks_left(const struct unwind_store *s);

/*
 * Takes a chunk that no program reads. 0; -ENOSPC or another -errno. If only @keep chunks are left,
 * makes more chunks, and releases the lock meanwhile. So a caller that can wait leaves @keep chunks
 * for callers that can't.
 */
#define UNWIND_KEEP_CHUNKS (UNWIND_SLAB_CHUNKS / 16)
_must_use_ int unwind_chunk_take(struct unwind_store *s, size_t keep, uint32_t *ret);
/*
 * Makes at once all the chunks that taking @n chunks would make one by one, so that krait waits for
 * the kernel less often.
 */
void unwind_chunks_supply(struct unwind_store *s, size_t keep, size_t n);
void unwind_chunk_give_back(struct unwind_store *s, uint32_t chunk);
_must_use_ int unwind_chunk_write(const struct unwind_store *s, uint32_t chunk, const void *bytes);
_must_use_ int unwind_chunk_read(const struct unwind_store *s, uint32_t chunk, void *bytes);

/*
 * store.c: finds the kernel's numbers of the rules of @rows: (*@ret)[i] is the number of rule i.
 * The caller frees *@ret. 0 or -errno.
 */
_must_use_ int unwind_number_rules(struct unwind_store *s, const struct unwind_rows *rows,
				   uint32_t **ret);

/* table.c: forgets what user space knows of @table; doesn't tell the kernel. */
void unwind_table_forget(struct unwind_store *s, uint32_t table);

/*
 * table.c: empties tables, the longest unused first, until @need chunks are available. Tables in
 * use stay. -ENOSPC: emptying unused tables isn't enough, and no table was emptied.
 */
_must_use_ int unwind_make_room(struct unwind_store *s, size_t need);

#endif
