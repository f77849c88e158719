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
	VEC(struct profile_sample) entries; /* .time_ns is the bucket's start or -1 */
	uint32_t *slots;		    /* index of an entry + 1; 0 = free */
	size_t n_slots;
	uint64_t seed;
};

void sums_init(struct sums *s);
void sums_fini(struct sums *s);
void sums_clear(struct sums *s); /* memory kept */

/* Adds @sample's values to its entry; 0 or -ENOMEM + message. */
_must_use_ int sums_add(struct sums *s, const struct profile_sample *sample);

/* Adds PROFILE_MAX_VALUES values; sums stop at the ends of int64_t. */
void sums_values(int64_t *to, const int64_t *v);

#endif
