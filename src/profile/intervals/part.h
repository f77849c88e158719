/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says how much of a sample lies in a part of the recording's time. A wait begins at its sample's
 * time, and counts evenly over its length. So a wait that lies in several parts counts in each of
 * them for as long as it lies there.
 */
#ifndef PROFILE_INTERVALS_PART_H
#define PROFILE_INTERVALS_PART_H

#include "profile/profile.h"

struct part {
	/* the part: since <= time < until; .until_ns 0: to the end of the recording */
	uint64_t since_ns, until_ns;
	/* indices of these three values in the profile; -1: the profile doesn't have the value */
	int off_cpu, gil_wait, lock_blame;
};

/*
 * Returns the part of the time of profile @p from @since_ns to @until_ns. All value types of @p
 * must be set already.
 */
struct part part_of(struct profile *p, uint64_t since_ns, uint64_t until_ns);

/*
 * Cuts sample @s, whose labels are of @p, to a part of the time. After that, the sample's time lies
 * in that part. False: nothing of the sample is in the part.
 */
bool part_cut(const struct part *part, struct profile *p, struct profile_sample *s);

/*
 * Does what part_cut() does, for a sample whose labels aren't in @p. @one_wait: false if the sample
 * is a sum over several waits, as samples of some states are; see wait_length().
 */
bool part_cut_as(const struct part *part, struct profile *p, struct profile_sample *s,
		 bool one_wait);

/*
 * If sample @s is one wait, returns the wait's length in ns; the wait begins at the sample's time.
 * @value: index of the value off_cpu; -1: the profile doesn't have it. Returns 0 if the sample
 * isn't one wait: samples of the states runnable and stolen are sums of several moments.
 */
int64_t wait_length(const struct profile *p, const struct profile_sample *s, int value);

#endif
