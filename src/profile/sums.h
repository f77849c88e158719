/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds samples up: one entry per (stack, labels, time bucket), in first-use order. Used by
 * profile_sums() (no buckets) and by profile_each_sum() (one window of buckets at a time).
 */
#ifndef PROFILE_SUMS_H
#define PROFILE_SUMS_H

#include "base/vec.h"
#include "profile/profile.h"

struct sums {
	/* the sums; .time_ns is the start of the time bucket, or -1 */
	VEC(struct profile_sample) entries;
	uint32_t *slots; /* hash table: index of an entry, + 1; 0 = free */
	size_t n_slots;
	uint64_t seed;
};

void sums_init(struct sums *s);
void sums_fini(struct sums *s);
void sums_clear(struct sums *s); /* removes all entries, keeps the memory */

/* Adds the values of @sample to the entry of its stack, labels and time; 0 or -ENOMEM + message. */
_must_use_ int sums_add(struct sums *s, const struct profile_sample *sample);

/* Adds the PROFILE_MAX_VALUES values @v to those of @to; sums stop at the ends of int64_t. */
void sums_values(int64_t *to, const int64_t *v);

#endif
