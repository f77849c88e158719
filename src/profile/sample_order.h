/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives out the samples in the order in which files have them. Samples form groups of 10 s of time.
 * In a group, samples with the same stack, labels and time are summed up, and the sums are sorted
 * by stack, labels and time. So neighbours differ in little more than the time, which makes files
 * small. The order depends only on the contents. Sorting takes a few MiB of memory, however long
 * the recording is.
 */
#ifndef PROFILE_SAMPLE_ORDER_H
#define PROFILE_SAMPLE_ORDER_H

#include "profile/profile.h"

/* How exact the times of samples are written: in steps of 10 ms, exactly, or not at all. */
enum profile_times { PROFILE_TIMES_10MS, PROFILE_TIMES_EXACT, PROFILE_TIMES_NONE };

/*
 * Calls @fn for each sum of samples, in the order in which files have them. Stops at the first
 * return that isn't 0, and returns it. -errno + message on failure.
 */
_must_use_ int profile_each_sum(struct profile *p, enum profile_times times,
				int (*fn)(void *arg, const struct profile_sample *s), void *arg);

#endif
