/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds samples up. Samples with the same stack, the same labels and the same time become one entry;
 * entries are in the order of first use. Times may be left out (profile_sums()), or rounded down to
 * the steps of a file's times (profile_each_sum()). An entry takes memory for as many values as
 * .n_values, not for PROFILE_MAX_VALUES.
 */
#ifndef PROFILE_SUMS_H
#define PROFILE_SUMS_H

#include "base/vec.h"
#include "profile/profile.h"

struct sums_key {
	uint32_t stack, labels;
	int64_t time_ns; /* the time, rounded down to a step of the file's times; -1: no time */
};

struct sums_entry {
	struct sums_key key;
	int64_t values[]; /* as many values as .n_values of struct sums says */
};

struct sums {
	unsigned n_values;
	uint8_t *entries; /* the entries; use sums_at(), because their size depends on .n_values */
	size_t n, cap;	  /* how many entries there are, and for how many there is room */
	uint32_t *slots;  /* hash table: 1 + index of an entry; 0: free slot */
	size_t n_slots;
	/*
	 * how many entries are in the hash table; all other entries have keys that differ from
	 * these and from each other
	 */
	size_t n_hashed;
	uint64_t seed;
	/* by stack: 1 + index of the entry that sums_add_near() used last; 0: none */
	VEC(uint32_t) last;
	bool plain; /* sums_add() was used, so .last may lack the stacks of some entries */
};

/* Prepares @s for adding up the first @n_values values of samples. */
void sums_init(struct sums *s, unsigned n_values);
void sums_fini(struct sums *s);
void sums_clear(struct sums *s); /* removes all entries; keeps their memory */

/*
 * Adds the first .n_values of @values to the entry of @key, which is made if it is new. Sums stop
 * at the ends of int64_t. 0 or -ENOMEM + message.
 */
_must_use_ int sums_add(struct sums *s, const struct sums_key *key, const int64_t *values);

/*
 * Does what sums_add() does, faster if most stacks always have the same key: the hash table is made
 * only when a stack gets a second key. Takes 4 more bytes for each stack up to the highest.
 */
_must_use_ int sums_add_near(struct sums *s, const struct sums_key *key, const int64_t *values);

/*
 * Changes .n_values to @n, which isn't smaller. New values are 0 in all entries. 0 or -ENOMEM +
 * message.
 */
_must_use_ int sums_widen(struct sums *s, unsigned n);

/* Adds the @n values @v to the values @to; sums stop at the ends of int64_t. */
void sums_values(int64_t *to, const int64_t *v, unsigned n);

/* Copies an entry into a sample. Values from .n_values on are 0. */
void sums_sample(const struct sums *s, const struct sums_entry *e, struct profile_sample *ret);

size_t sums_bytes(const struct sums *s); /* returns how many bytes of memory @s holds */

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
	for (struct sums_entry *it = (s)->n ? sums_at(s, 0) : NULL,                                \
			       *_end = (s)->n ? sums_at(s, (s)->n) : NULL;                         \
	     it < _end; it = (void *)((uint8_t *)it + sums_entry_size(s)))

#endif
