/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order and the sums in which samples are written: groups of 10 s of time; in each group
 * samples are summed by (stack, labels, time) and sorted by stack, labels and time. So neighbours
 * differ in little more than the time, which makes the file small. The order depends on nothing but
 * the contents. It takes a few MiB of memory, however long the recording is.
 */
#ifndef PROFILE_SAMPLE_ORDER_H
#define PROFILE_SAMPLE_ORDER_H

#include "profile/profile.h"

/* How exact the times of samples are written: in steps of 10 ms, exactly, or not at all. */
enum profile_times { PROFILE_TIMES_10MS, PROFILE_TIMES_EXACT, PROFILE_TIMES_NONE };

/*
 * Calls @fn for each sum of samples; stops at the first non-zero return and returns it. -errno +
 * message.
 */
_must_use_ int profile_each_sum(struct profile *p, enum profile_times times,
				int (*fn)(void *arg, const struct profile_sample *s), void *arg);

#endif
