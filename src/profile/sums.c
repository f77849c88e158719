/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up samples that have the same stack and labels; see sums.h. */
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "profile/sums.h"

void sums_init(struct sums *s, unsigned n_values)
{
	*s = (struct sums){.n_values = n_values};
	if (getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) < 0)
		s->seed = (uintptr_t)s;
}

void sums_fini(struct sums *s)
{
	free(s->entries);
	free(s->slots);
	vec_fini(&s->last);
	*s = (struct sums){};
}

void sums_clear(struct sums *s)
{
	s->n = s->n_hashed = s->last.n = 0;
	s->plain = false;
	if (s->slots)
		memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
}

size_t sums_bytes(const struct sums *s)
{
	return s->cap * sums_entry_size(s) + s->n_slots * sizeof(*s->slots) +
	       s->last.cap * sizeof(*s->last.v);
}

static size_t home(const struct sums *s, const struct sums_key *k)
{
	const uint64_t key[2] = {(uint64_t)k->stack << 32 | k->labels, (uint64_t)k->time_ns};

	return XXH3_64bits_withSeed(key, sizeof(key), s->seed) & (s->n_slots - 1);
}

/* Makes the hash table large enough for one more entry. */
static int grow_slots(struct sums *s)
{
	size_t size = s->n_slots ? s->n_slots : 256;
	uint32_t *slots;

	while (s->n >= size / 4 * 3)
		size *= 2;
	if (size == s->n_slots)
		return 0;
	slots = s->n < UINT32_MAX - 1 ? calloc(size, sizeof(*slots)) : NULL;
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->n_slots = size;
	s->n_hashed = 0;
	return 0;
}

/* Puts the entries that aren't in the hash table yet into it. */
static int hash_entries(struct sums *s)
{
	if (grow_slots(s))
		return -ENOMEM;
	for (; s->n_hashed < s->n; s->n_hashed++) {
		size_t at = home(s, &sums_at(s, s->n_hashed)->key);

		while (s->slots[at])
			at = (at + 1) & (s->n_slots - 1);
		s->slots[at] = (uint32_t)s->n_hashed + 1;
	}
	return 0;
}

void sums_values(int64_t *to, const int64_t *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (__builtin_add_overflow(to[i], v[i], &to[i]))
			to[i] = v[i] < 0 ? INT64_MIN : INT64_MAX;
	}
}

static bool same_key(const struct sums_key *a, const struct sums_key *b)
{
	return a->stack == b->stack && a->labels == b->labels && a->time_ns == b->time_ns;
}

static int no_memory(void)
{
	return err_set(-ENOMEM, "out of memory for the sums of samples");
}

/*
 * Adds an entry whose values are 0, and doesn't put it into the hash table yet. Sets *ret to its
 * index.
 */
static int append(struct sums *s, const struct sums_key *key, size_t *ret)
{
	struct sums_entry *e;

	if (s->n >= UINT32_MAX - 1 ||
	    vec_grow((void **)&s->entries, &s->cap, s->n + 1, sums_entry_size(s)))
		return no_memory();
	*ret = s->n++;
	e = sums_at(s, *ret);
	e->key = *key;
	memset(e->values, 0, s->n_values * sizeof(*e->values));
	return 0;
}

/* Sets *ret to the index of the entry with @key, which is added if it is new. */
static int find_entry(struct sums *s, const struct sums_key *key, size_t *ret)
{
	size_t at;
	int r;

	if (hash_entries(s))
		return no_memory();
	for (at = home(s, key); s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
		*ret = s->slots[at] - 1;
		if (same_key(&sums_at(s, *ret)->key, key))
			return 0;
	}
	r = append(s, key, ret);
	if (!r)
		s->slots[at] = (uint32_t)(s->n_hashed = s->n);
	return r;
}

int sums_add(struct sums *s, const struct sums_key *key, const int64_t *values)
{
	size_t at;
	int r = find_entry(s, key, &at);

	s->plain = true;
	if (!r)
		sums_values(sums_at(s, at)->values, values, s->n_values);
	return r;
}

/* Returns the element of .last for @stack. NULL: out of memory. */
static uint32_t *last_of(struct sums *s, uint32_t stack)
{
	size_t had = s->last.n;

	if (stack >= had) {
		if (vec_reserve(&s->last, (size_t)stack + 1))
			return NULL;
		s->last.n = s->last.cap;
		memset(s->last.v + had, 0, (s->last.n - had) * sizeof(*s->last.v));
	}
	return &s->last.v[stack];
}

int sums_add_near(struct sums *s, const struct sums_key *key, const int64_t *values)
{
	uint32_t *last = last_of(s, key->stack);
	size_t at = last && *last ? *last - 1 : SIZE_MAX;
	int r = 0;

	if (last && !*last && !s->plain)
		r = append(s, key, &at);
	else if (at == SIZE_MAX || !same_key(&sums_at(s, at)->key, key))
		r = find_entry(s, key, &at);
	if (r)
		return r;
	if (last)
		*last = (uint32_t)at + 1;
	sums_values(sums_at(s, at)->values, values, s->n_values);
	return 0;
}

void sums_sample(const struct sums *s, const struct sums_entry *e, struct profile_sample *ret)
{
	*ret = (struct profile_sample){
		.stack = e->key.stack, .labels = e->key.labels, .time_ns = e->key.time_ns};
	memcpy(ret->values, e->values, s->n_values * sizeof(*e->values));
}

int sums_widen(struct sums *s, unsigned n)
{
	struct sums wide;
	int r = 0;

	if (s->n_values == n)
		return 0;
	sums_init(&wide, n);
	sums_foreach(e, s)
	{
		struct profile_sample sample;

		sums_sample(s, e, &sample);
		r = r	       ? r
		    : s->plain ? sums_add(&wide, &e->key, sample.values)
			       : sums_add_near(&wide, &e->key, sample.values);
	}
	sums_fini(s);
	*s = wide;
	return r;
}

static int add_timeless(void *arg, const struct profile_sample *s)
{
	struct sums_key key = {.stack = s->stack, .labels = s->labels, .time_ns = -1};

	return sums_add(arg, &key, s->values);
}

/*
 * Returns a copy of the sums. The array and the values that its entries point to are in one block
 * of memory, which the caller frees. NULL: out of memory.
 */
static struct profile_sum *copy_out(const struct sums *s)
{
	size_t each = sizeof(struct profile_sum) + s->n_values * sizeof(int64_t);
	struct profile_sum *ret = calloc(s->n ? s->n : 1, each), *at = ret;
	int64_t *values = (int64_t *)(ret + s->n);

	if (!ret)
		return NULL;
	sums_foreach(e, s)
	{
		*at++ = (struct profile_sum){e->key.stack, e->key.labels, values};
		memcpy(values, e->values, s->n_values * sizeof(*values));
		values += s->n_values;
	}
	return ret;
}

int profile_sums(struct profile *p, struct profile_sum **ret, size_t *n)
{
	_cleanup_(sums_fini) struct sums s;
	int r;

	sums_init(&s, profile_meta(p)->n_values);
	r = profile_each(p, add_timeless, &s);
	if (r)
		return r;
	*ret = copy_out(&s);
	*n = s.n;
	return *ret ? 0 : err_set(-ENOMEM, "out of memory for the sums of samples");
}
