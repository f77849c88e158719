/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order and the sums in which samples are written: groups of 10 s of time; in each, samples
 * summed by (stack, labels, time), sorted by stack, labels and time. Neighbours then differ in
 * little more than the time, which makes the file small, and the order depends on nothing but the
 * contents. A few MiB of memory however long the recording.
 */
#ifndef PROFILE_SAMPLE_ORDER_H
#define PROFILE_SAMPLE_ORDER_H

#include "profile/profile.h"

/* Time buckets of the label "time". */
enum profile_times { PROFILE_TIMES_10MS, PROFILE_TIMES_EXACT, PROFILE_TIMES_NONE };

/* Calls @fn for each sum; stops at the first non-zero return and returns it. -errno + message. */
_must_use_ int profile_each_sum(struct profile *p, enum profile_times times,
				int (*fn)(void *arg, const struct profile_sample *s), void *arg);

#endif
