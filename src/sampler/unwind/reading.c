/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the store's unwind rows when user space walks a stack; see store.h. For each walk, a chunk
 * is copied from the kernel's map only once. The lock is held during the walk, because workers free
 * chunks and use them again.
 */
#include <stdlib.h>

#include "sampler/unwind/internal.h"

#define KEPT 32 /* how many chunks are kept while a stack is walked; a power of two */

struct unwind_reading {
	uint32_t number[KEPT]; /* 1 + number of the chunk; 0: this entry is free */
	struct unwind_chunk chunk[KEPT];
};

bool unwind_store_begin_reading(struct unwind_store *s)
{
	if (!s->reading)
		s->reading = malloc(sizeof(*s->reading));
	if (!s->reading)
		return false;
	pthread_mutex_lock(&s->lock);
	memset(s->reading->number, 0, sizeof(s->reading->number));
	return true;
}

void unwind_store_end_reading(struct unwind_store *s)
{
	pthread_mutex_unlock(&s->lock);
}

const struct unwind_chunk *unwind_store_chunk(struct unwind_store *s, uint32_t number)
{
	struct unwind_reading *r = s->reading;
	uint32_t i = number % KEPT;

	if (number / UNWIND_SLAB_CHUNKS >= s->slabs.n)
		return NULL;
	if (r->number[i] == number + 1)
		return &r->chunk[i];
	r->number[i] = 0;
	if (unwind_chunk_read(s, number, &r->chunk[i]))
		return NULL;
	r->number[i] = number + 1;
	return &r->chunk[i];
}

struct unwind_table *unwind_store_table(struct unwind_store *s, uint32_t number)
{
	return number < s->tables.n && s->tables.v[number] ? &s->tables.v[number]->table : NULL;
}

const struct unwind_rule *unwind_store_rule(const struct unwind_store *s, uint32_t number)
{
	return number < s->rules.n ? &s->rules.v[number] : NULL;
}

bool unwind_store_space(const struct unwind_store *s, uint32_t slot, uint32_t tgid,
			struct unwind_space *ret)
{
	if (!slot || slot >= s->spaces.n)
		return false;
	*ret = s->shared[slot];
	return ret->version && ret->owner_tgid == tgid && ret->unmaps == ret->at_unmaps &&
	       ret->chunks <= SPACE_CHUNKS;
}
