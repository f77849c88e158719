/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives equal items the same number. An open-addressing hash table finds items, which are kept in
 * blocks that never move; see intern.h.
 */
#include <assert.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/nomem.h"

#include "base/intern.h"

#define ARENA_BLOCK 65536u

void intern_init(struct intern *t, size_t size)
{
	*t = (struct intern){.size = size};
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = (uintptr_t)t;
}

void intern_fini(struct intern *t)
{
	vec_foreach(chunk, &t->items)
		free(*chunk);
	vec_foreach(block, &t->arena)
		free(*block);
	vec_fini(&t->items);
	vec_fini(&t->arena);
	free(t->slots);
	*t = (struct intern){};
}

void intern_freeze(struct intern *t)
{
	free(t->slots);
	t->slots = NULL;
	t->n_slots = 0;
}

static size_t stride(const struct intern *t)
{
	return t->size ? t->size : sizeof(uint8_t *);
}

static uint8_t *cell(const struct intern *t, uint32_t id)
{
	return (uint8_t *)intern_at(t, id, stride(t));
}

const void *intern_get(const struct intern *t, uint32_t id, size_t *n)
{
	const uint8_t *at, *item;
	uint32_t len;

	assert(id && id <= t->n);
	item = cell(t, id);
	if (t->size) {
		if (n)
			*n = t->size;
		return item;
	}
	memcpy(&at, item, sizeof(void *));
	memcpy(&len, at, sizeof(len));
	if (n)
		*n = len;
	return at + sizeof(len);
}

/*
 * The size of an item in most large tables: two 32-bit numbers. The compiler makes shorter code if
 * the size is a constant.
 */
#define SHORT sizeof(uint64_t)

static bool equal(const struct intern *t, uint32_t id, const void *key, size_t n)
{
	size_t have;
	const void *at;

	if (t->size == SHORT)
		return memcmp(intern_at(t, id, SHORT), key, SHORT) == 0;
	at = intern_get(t, id, &have);
	return have == n && memcmp(at, key, n) == 0;
}

static uint32_t hash_of(const struct intern *t, const void *key, size_t n)
{
	return (uint32_t)(n == SHORT ? XXH3_64bits_withSeed(key, SHORT, t->seed)
				     : XXH3_64bits_withSeed(key, n, t->seed));
}

/* A slot keeps 32 bits of its item's hash, which are enough for 2^32 slots. */
static int make_slots(struct intern *t, size_t size)
{
	struct intern_slot *slots;

	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return err_nomem();
	for (size_t i = 0; i < t->n_slots; i++) {
		size_t j = t->slots[i].hash & (size - 1);

		if (!t->slots[i].id)
			continue;
		while (slots[j].id)
			j = (j + 1) & (size - 1);
		slots[j] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = size;
	return 0;
}

/* Doubles the number of slots when 3/4 of the slots are used. */
static int grow_slots(struct intern *t)
{
	if (t->n_slots && t->n < t->n_slots / 4 * 3)
		return 0;
	return make_slots(t, t->n_slots ? t->n_slots * 2 : 64);
}

void intern_reserve(struct intern *t, size_t n)
{
	size_t size = t->n_slots ? t->n_slots : 64;

	while (size / 4 * 3 <= n && size <= UINT32_MAX)
		size *= 2;
	/* if memory runs out here, the table grows later, when its slots are full */
	if (size != t->n_slots)
		(void)make_slots(t, size);
}

/*
 * Returns room for @n bytes, aligned to 4, which never moves. If @n is large, the room is a block
 * of its own. NULL: out of memory.
 */
static uint8_t *arena_alloc(struct intern *t, size_t n)
{
	size_t block = n > ARENA_BLOCK / 4 ? n : ARENA_BLOCK;
	uint8_t *at;

	n = (n + 3) & ~(size_t)3;
	if (n <= t->arena_left)
		goto out;
	if (block < n)
		block = n;
	at = malloc(block);
	if (!at || vec_push(&t->arena, at)) {
		free(at);
		return NULL;
	}
	t->bytes += block;
	if (block != ARENA_BLOCK)
		return at;
	t->arena_at = at;
	t->arena_left = block;
out:
	at = t->arena_at;
	t->arena_at += n;
	t->arena_left -= n;
	return at;
}

/* Stores @key as item t->n + 1, but doesn't count it in t->n. 0 or -ENOMEM. */
static int store(struct intern *t, const void *key, size_t n)
{
	uint32_t len = (uint32_t)n;
	uint8_t *at, *chunk;

	if (t->n / INTERN_CHUNK == t->items.n) {
		chunk = malloc(INTERN_CHUNK * stride(t));
		if (!chunk || vec_push(&t->items, chunk)) {
			free(chunk);
			return err_nomem();
		}
		t->bytes += INTERN_CHUNK * stride(t);
	}
	if (t->size) {
		memcpy(cell(t, t->n + 1), key, n);
		return 0;
	}
	at = arena_alloc(t, sizeof(len) + n + 1);
	if (!at)
		return err_nomem();
	memcpy(at, &len, sizeof(len));
	memcpy(at + sizeof(len), key, n);
	at[sizeof(len) + n] = 0;
	memcpy(cell(t, t->n + 1), &at, sizeof(void *));
	return 0;
}

uint32_t intern_put(struct intern *t, const void *key, size_t n)
{
	uint32_t hash;
	size_t i;

	if (t->size)
		n = t->size;
	if (n >= UINT32_MAX || t->n >= INT32_MAX || grow_slots(t))
		return 0;
	hash = hash_of(t, key, n);
	for (i = hash & (t->n_slots - 1); t->slots[i].id; i = (i + 1) & (t->n_slots - 1)) {
		if (t->slots[i].hash == hash && equal(t, t->slots[i].id, key, n))
			return t->slots[i].id;
	}
	if (store(t, key, n))
		return 0;
	t->slots[i] = (struct intern_slot){hash, ++t->n};
	return t->n;
}

uint32_t intern_append(struct intern *t, const void *key)
{
	return t->n >= INT32_MAX || store(t, key, t->size) ? 0 : ++t->n;
}
