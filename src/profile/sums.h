/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds samples up: one entry per (stack, labels, time bucket), in first-use order. Used by
 * profile_sums() (no buckets) and by profile_each_sum() (one window of buckets at a time). An entry
 * takes as much memory as it has values, not room for PROFILE_MAX_VALUES.
 */
#ifndef PROFILE_SUMS_H
#define PROFILE_SUMS_H

#include "profile/profile.h"

struct sums_key {
	uint32_t stack, labels;
	int64_t time_ns; /* the start of the time bucket, or -1 */
};

struct sums_entry {
	struct sums_key key;
	int64_t values[]; /* the number of values is in struct sums */
};

struct sums {
	unsigned n_values;
	uint8_t *entries; /* sums_at() */
	size_t n, cap;	  /* how many entries there are, and for how many there is room */
	uint32_t *slots;  /* hash table: index of an entry, + 1; 0 = free */
	size_t n_slots;
	uint64_t seed;
};

/* For samples of which the first @n_values values are added up. */
void sums_init(struct sums *s, unsigned n_values);
void sums_fini(struct sums *s);
void sums_clear(struct sums *s); /* removes all entries; keeps their memory */

/*
 * Adds @values, as many as sums_init() was told of, to the entry of @key. Sums stop at the ends of
 * int64_t. 0 or -ENOMEM + message.
 */
_must_use_ int sums_add(struct sums *s, const struct sums_key *key, const int64_t *values);

/* Adds the @n values @v to those of @to; sums stop at the ends of int64_t. */
void sums_values(int64_t *to, const int64_t *v, unsigned n);

/* Copies an entry; values that it doesn't have become 0. */
void sums_sample(const struct sums *s, const struct sums_entry *e, struct profile_sample *ret);

size_t sums_bytes(const struct sums *s); /* how many bytes it holds */

static inline size_t sums_entry_size(const struct sums *s)
{
	return sizeof(struct sums_entry) + s->n_values * sizeof(int64_t);
}

/* Entry @i; the pointer is valid until the next sums_add(). */
static inline struct sums_entry *sums_at(const struct sums *s, size_t i)
{
	return (void *)(s->entries + i * sums_entry_size(s));
}

#define sums_foreach(it, s)                                                                        \
	for (struct sums_entry *it = sums_at(s, 0), *_end = sums_at(s, (s)->n); it < _end;         \
	     it = (void *)((uint8_t *)it + sums_entry_size(s)))

#endif
