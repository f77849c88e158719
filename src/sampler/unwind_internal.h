/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the unwind store share. */
#ifndef SAMPLER_UNWIND_INTERNAL_H
#define SAMPLER_UNWIND_INTERNAL_H

#include <pthread.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "sampler/unwind_store.h"

typedef VEC(uint32_t) chunk_vec;

/* Rows in the kernel's maps: of one table, or of several with the same rows. */
struct unwind_tree {
	struct unwind_table table; /* all but .used */
	chunk_vec chunks;	   /* all of its chunks, the lowest level first; they never
				    * change */
	size_t entries;		   /* in the lowest level */
	uint32_t refs;		   /* tables with this tree, and threads that compare it */
	int32_t unused;		   /* seconds without use, for unwind_make_room() */
};

struct space {
	uint32_t chunks, chunk[SPACE_CHUNKS];
};

struct unwind_store {
	struct unwind_store_maps maps;
	uint32_t max_slabs;
	/* Of what follows; not held while the kernel waits or rows are written. */
	pthread_mutex_t lock;
	pthread_mutex_t supply; /* held to make more chunks; taken before .lock */
	VEC(int) slabs;	       /* never moves: a chunk that was taken is written without the lock */
	chunk_vec free, limbo; /* chunks; a program may still read those in limbo */
	VEC(struct unwind_tree *) tables; /* by number; NULL = empty */
	VEC(uint32_t)
	given_up;			     /* tables, until unwind_store_given_up() returns
					      * them */
	chunk_vec free_tables, limbo_tables; /* as .free and .limbo */
	struct map rule_index;		     /* rule_key(), or the next free key after it ->
					      * number */
	VEC(struct unwind_rule) rules;
	struct unwind_space *shared; /* map `spaces` */
	VEC(struct space) spaces;
	VEC(uint32_t) free_spaces;
};

/* Holds the lock until the end of the scope. */
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
 * All below but unwind_put(), unwind_chunk_write() and unwind_chunk_read() are called with the lock
 * held.
 */

/* unwind_chunks.c: sets an entry of a map; 0 or -errno. */
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

/* unwind_store.c: *ret[i], the caller's, is the kernel's number of rule i of @rows. 0 or -errno. */
_must_use_ int unwind_number_rules(struct unwind_store *s, const struct unwind_rows *rows,
				   uint32_t **ret);

/* unwind_table.c: forgets what is known of @table, without telling the kernel. */
void unwind_table_forget(struct unwind_store *s, uint32_t table);

/*
 * unwind_table.c: gives up tables, longest unused first, until @need chunks are available. Tables
 * in use stay: -ENOSPC if that isn't enough, and then none is given up.
 */
_must_use_ int unwind_make_room(struct unwind_store *s, size_t need);

#endif
