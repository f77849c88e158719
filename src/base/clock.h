/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times as one number of nanoseconds.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>
#include "base/util.h"

static inline uint64_t timespec_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return timespec_ns(t);
}

#endif
