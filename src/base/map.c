/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash table from u64 to u64; see map.h. */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/nomem.h"

enum { SLOT_FREE, SLOT_USED, SLOT_DELETED };

/*
 * Spreads keys over the table: the finalizer of MurmurHash3, in which every input bit affects every
 * output bit.
 */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

void map_init(struct map *m)
{
	*m = (struct map){};
}

void map_fini(struct map *m)
{
	free(m->slots);
	map_init(m);
}

void map_clear(struct map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->size * sizeof(*m->slots));
	m->n = m->used = 0;
}

static struct map_slot *find(const struct map *m, uint64_t key)
{
	if (!m->size)
		return NULL;
	for (size_t i = mix(key) & (m->size - 1);; i = (i + 1) & (m->size - 1)) {
		struct map_slot *s = &m->slots[i];

		if (s->state == SLOT_FREE)
			return NULL;
		if (s->state == SLOT_USED && s->key == key)
			return s;
	}
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	struct map_slot *s = find(m, key);

	return s ? &s->value : NULL;
}

static void insert_new(struct map *m, uint64_t key, uint64_t value)
{
	size_t i = mix(key) & (m->size - 1);

	while (m->slots[i].state == SLOT_USED)
		i = (i + 1) & (m->size - 1);
	if (m->slots[i].state == SLOT_FREE)
		m->used++;
	m->slots[i] = (struct map_slot){key, value, SLOT_USED};
	m->n++;
}

static int resize(struct map *m)
{
	size_t size = 16;
	struct map bigger = {};

	while (size < (m->n + 1) * 2)
		size *= 2;
	bigger.slots = calloc(size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return err_nomem();
	bigger.size = size;
	map_foreach(s, m)
		insert_new(&bigger, s->key, s->value);
	free(m->slots);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value)
{
	struct map_slot *s = find(m, key);

	if (s) {
		s->value = value;
		return 0;
	}
	if ((m->used + 1) * 4 > m->size * 3) {
		int r = resize(m);

		if (r)
			return r;
	}
	insert_new(m, key, value);
	return 0;
}

bool map_del(struct map *m, uint64_t key)
{
	struct map_slot *s = find(m, key);

	if (!s)
		return false;
	s->state = SLOT_DELETED;
	m->n--;
	return true;
}

struct map_slot *map_next(const struct map *m, size_t i)
{
	for (; i < m->size; i++)
		if (m->slots[i].state == SLOT_USED)
			return &m->slots[i];
	return NULL;
}
