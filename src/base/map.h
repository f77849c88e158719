/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table from u64 to u64 (ids, indices, pointers), with open addressing and linear probing.
 * Keys are mixed, so addresses and sequences are good keys too. Iteration follows the slots of the
 * table, so its order means nothing.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/util.h"

struct map {
	struct map_slot {
		uint64_t key, value;
		/*
		 * 0: the slot is free; 1: the slot has an entry; 2: the slot had an entry, which
		 * was deleted
		 */
		uint8_t state;
	} * slots;
	/* n: entries; used: entries and deleted slots; size: all slots, a power of two */
	size_t n, used, size;
};

void map_init(struct map *m);
void map_fini(struct map *m);

/*
 * Returns a pointer to the value of @key, valid until the next map_put(); NULL: the map has no such
 * key.
 */
uint64_t *map_get(const struct map *m, uint64_t key);

/* Sets the value of @key to @value. Returns 0, or -ENOMEM and the map is unchanged. */
_must_use_ int map_put(struct map *m, uint64_t key, uint64_t value);

/* Removes @key; false: the map has no such key. */
bool map_del(struct map *m, uint64_t key);

void map_clear(struct map *m);

/*
 * Returns the first slot with an entry at or after slot number @i, or NULL. A loop over all entries
 * passes slot - m->slots + 1 as the next @i.
 */
struct map_slot *map_next(const struct map *m, size_t i);

#define map_foreach(slot, m)                                                                       \
	for (struct map_slot *slot = map_next(m, 0); slot;                                         \
	     slot = map_next(m, (size_t)(slot - (m)->slots) + 1))

#endif
