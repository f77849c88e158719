/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interning: equal bytes get the same id. Ids are dense from 1, below 2^31, in first-use order.
 * Items never move: a pointer to one stays valid as long as the table. An item takes 8 to 16 bytes
 * beside its own bytes. The hash is seeded per table, so that nobody can write a file whose items
 * collide.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/vec.h"

#define INTERN_CHUNK 1024u /* how many items one block of memory holds */

struct intern {
	size_t size; /* bytes of each item; 0: items have any length */
	uint64_t seed;
	uint32_t n; /* number of items in the table */
	struct intern_slot {
		uint32_t hash, id; /* .id is 0 in a free slot */
	} * slots;
	size_t n_slots;	      /* number of .slots: 0 or a power of two */
	VEC(uint8_t *) items; /* blocks of items; if items have any length: of pointers to items */
	VEC(uint8_t *) arena; /* for items of any length: blocks that hold their bytes */
	/* free bytes, from .arena_at on, at the end of the last block that several items share */
	size_t arena_left;
	uint8_t *arena_at;
	size_t bytes; /* all memory that the table holds, except the slots */
};

/* @size: bytes of every item (compared whole: zero the padding), or 0 for items of any length. */
void intern_init(struct intern *t, size_t size);
void intern_fini(struct intern *t);

/* Frees the slots (8 to 16 bytes an item) when no more items will be put. */
void intern_freeze(struct intern *t);

/* The id of the item with @key's @n bytes (n is ignored for fixed sizes); 0: out of memory. */
uint32_t intern_put(struct intern *t, const void *key, size_t n);

/* The item's bytes, @id from 1 to t->n; items of any length are NUL-terminated. *n may be NULL. */
const void *intern_get(const struct intern *t, uint32_t id, size_t *n);

/* As intern_get(), for loops over millions of items of @size bytes each: @id isn't checked. */
static inline const void *intern_at(const struct intern *t, uint32_t id, size_t size)
{
	return t->items.v[(id - 1) / INTERN_CHUNK] + (id - 1) % INTERN_CHUNK * size;
}

#endif
