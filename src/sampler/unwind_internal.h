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

/* Rows in the kernel's maps: of one table, or of several with the same ones. */
struct unwind_tree {
	struct unwind_table table; /* all but .used */
	chunk_vec chunks;	   /* all of it, the lowest level first; they don't change */
	size_t entries;		   /* of the lowest level */
	uint32_t refs;		   /* tables, and who compares it */
	int32_t unused;		   /* seconds, for unwind_make_room() */
};

struct space {
	uint32_t chunks, chunk[SPACE_CHUNKS];
};

struct unwind_store {
	struct unwind_store_maps maps;
	uint32_t max_slabs;
	pthread_mutex_t
		lock; /* of what follows; not held while the kernel waits or rows are written */
	pthread_mutex_t supply; /* who makes more chunks; taken before .lock */
	VEC(int) slabs; /* doesn't move: a chunk that was taken is written without the lock */
	chunk_vec free, limbo;		     /* chunks; in limbo a program may still read them */
	VEC(struct unwind_tree *) tables;    /* by number; NULL = empty */
	VEC(uint32_t) given_up;		     /* tables, until they are asked for */
	chunk_vec free_tables, limbo_tables; /* as .free and .limbo */
	struct map rule_index;		     /* rule_key(), the next free one after it -> number */
	VEC(struct unwind_rule) rules;
	struct unwind_space *shared; /* map `spaces` */
	VEC(struct space) spaces;
	VEC(uint32_t) free_spaces;
};

/* Until the end of the scope. */
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

/* All but unwind_put(), unwind_chunk_write() and unwind_chunk_read() are called with the lock held. */

/* unwind_chunks.c: sets an entry of a map; 0 or -errno. */
_must_use_ int unwind_put(int map, uint32_t key, const void *value);

/* Chunks there are at most; those that can be had without giving a table up. */
size_t unwind_chunks_most(const struct unwind_store *s);
size_t unwind_chunks_left(const struct unwind_store *s);

/*
 * One that nobody reads; 0 or -errno, -ENOSPC. Makes more, without the lock meanwhile, where only @keep are
 * left: who can wait leaves some to those who can't.
 */
#define UNWIND_KEEP_CHUNKS (UNWIND_SLAB_CHUNKS / 16)
_must_use_ int unwind_chunk_take(struct unwind_store *s, size_t keep, uint32_t *ret);
/* Makes what taking @n will make, but at once: the kernel waits less often. */
void unwind_chunks_supply(struct unwind_store *s, size_t keep, size_t n);
void unwind_chunk_give_back(struct unwind_store *s, uint32_t chunk);
_must_use_ int unwind_chunk_write(const struct unwind_store *s, uint32_t chunk, const void *bytes);
_must_use_ int unwind_chunk_read(const struct unwind_store *s, uint32_t chunk, void *bytes);

/* unwind_store.c: *ret[i], the caller's, is the kernel's number of rule i of @rows. 0 or -errno. */
_must_use_ int unwind_number_rules(struct unwind_store *s, const struct unwind_rows *rows,
				   uint32_t **ret);

/* unwind_table.c: frees what is known of @table; the kernel isn't told. */
void unwind_table_forget(struct unwind_store *s, uint32_t table);

/*
 * unwind_table.c: gives up tables that haven't been looked into for longest until there are @need
 * chunks. None that is in use: -ENOSPC if that isn't enough, and then none at all.
 */
_must_use_ int unwind_make_room(struct unwind_store *s, size_t need);

#endif
