/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order and the sums in which samples are written: groups of 10 s of time; in each, samples
 * summed by (stack, labels, time), sorted by stack, labels and time. Neighbours then differ in
 * little more than the time, which makes the file small, and the order depends on nothing but the
 * contents. A few MiB of memory however long the recording.
 */
#ifndef PROFILE_PPROF_SAMPLES_H
#define PROFILE_PPROF_SAMPLES_H

#include "profile/pprof.h"

/* Calls @fn for each sum; stops at the first non-zero return and returns it. -errno + message. */
_must_use_ int pprof_samples_each(struct profile *p, enum pprof_times times,
				  int (*fn)(void *arg, const struct profile_sample *s), void *arg);

#endif
