/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interning: equal bytes get the same id. Ids count from 1 in the order of first use, and stay
 * below 2^31. Items never move, so a pointer to an item stays valid as long as the table. Beside
 * its own bytes an item takes 11 to 21 bytes in the slots, and 13 to 16 more if items have any
 * length. Each table has its own random seed for its hash, so that nobody can write a file whose
 * items collide.
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
	size_t n_slots; /* number of .slots: 0 or a power of two */
	/* blocks of items, or of pointers to items if items have any length */
	VEC(uint8_t *) items;
	VEC(uint8_t *) arena; /* blocks that hold the bytes of items of any length */
	/*
	 * how many bytes are still free, from .arena_at on, in the last block of .arena that
	 * several items share
	 */
	size_t arena_left;
	uint8_t *arena_at;
	size_t bytes; /* size of all blocks in .items and .arena */
};

/*
 * @size: bytes of every item, or 0 for items of any length. Items are compared whole, so their
 * padding must be zero.
 */
void intern_init(struct intern *t, size_t size);
void intern_fini(struct intern *t);

/* Frees the slots. No item may be put into the table afterwards. */
void intern_freeze(struct intern *t);

/*
 * Returns the id of the item that has the @n bytes at @key, and adds the item if it is new. @n is
 * ignored if all items have one size. 0: out of memory, or too many items or bytes.
 */
uint32_t intern_put(struct intern *t, const void *key, size_t n);

/* Makes room for @n items in all, so that the table needn't grow step by step. */
void intern_reserve(struct intern *t, size_t n);

/*
 * Adds an item to a table whose items have one size. The caller knows that the item is new, and
 * never calls intern_put() for this table. Returns the item's id, or 0 in the cases in which
 * intern_put() does.
 */
uint32_t intern_append(struct intern *t, const void *key);

/*
 * Returns the bytes of item @id (1 to t->n), and their number in *@n unless @n is NULL. Items of
 * any length are NUL-terminated.
 */
const void *intern_get(const struct intern *t, uint32_t id, size_t *n);

/*
 * Returns what intern_get() returns, for loops over millions of items of @size bytes each. It
 * doesn't check @id.
 */
static inline const void *intern_at(const struct intern *t, uint32_t id, size_t size)
{
	return t->items.v[(id - 1) / INTERN_CHUNK] + (id - 1) % INTERN_CHUNK * size;
}

#endif
