/* SPDX-License-Identifier: BSD-2-Clause */
/* What the source files that compare two profiles share; see diff.h. */
#ifndef VIEW_COMPARE_DIFF_INTERNAL_H
#define VIEW_COMPARE_DIFF_INTERNAL_H

#include "profile/sums.h"
#include "view/compare/diff.h"
#include "view/compare/noise.h"

struct maker {
	struct diff *d;
	enum diff_side side;
	uint32_t *row_of[DIFF_SIDES]; /* for each side, by key: index of the function's row */
	struct noise_row *self, *total;
	struct noise noise;
	/* the logarithm of the factor by which most functions' costs rose, from noise_speed() */
	double speed;
	struct sums sums;
	int64_t length_ns;
	uint64_t timed[DIFF_SIDES], samples[DIFF_SIDES];
	/*
	 * indexes of three values of the profile: the number of samples of the compared value, the
	 * number of samples of any value, and off_cpu; -1: the profile has no such value
	 */
	int count_at, any_count, off;
	double counted[DIFF_SIDES]; /* sum of the value .count_at on each side */
};

/*
 * Adds what the functions of a side cost in each block of time to .self, .total and .noise
 * (diff_take.c). 0 or -errno + message.
 */
_must_use_ int diff_take_side(struct maker *m, enum diff_side side);

#endif
