/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two profiles side by side: what each function costs in both, and which differences are more than
 * noise. Samples that follow each other are alike, so noise is what blocks of time tell: those of the
 * same time are swapped between the two at random, again and again, and the largest of all functions'
 * differences that comes about so is the yardstick for each of them (max-T), at 3 % for everything
 * together;
 * docs/decisions/0013.
 */
#ifndef VIEW_DIFF_H
#define VIEW_DIFF_H

#include "view/costs.h"

enum diff_side { DIFF_A, DIFF_B, DIFF_SIDES };
enum diff_what { DIFF_SELF, DIFF_TOTAL, DIFF_WHATS };

struct diff_cost {
	double value[DIFF_SIDES];	   /* of the measure: value / per */
	double share[DIFF_SIDES];	   /* of the side's sum, 0 to 1 */
	bool value_changed, share_changed; /* by more than noise */
	/*
	 * Neither, though the share differs by far more than that of single samples and runs does: it
	 * is of too few stretches of time to tell.
	 */
	bool doubtful;
};

struct diff_row {
	const char *name;	       /* dotted */
	uint32_t location[DIFF_SIDES]; /* 0: not there */
	struct diff_cost of[DIFF_WHATS];
};

struct diff {
	struct profile *p[DIFF_SIDES]; /* borrowed */
	unsigned value[DIFF_SIDES];    /* index of the same value type */
	/* Set by the caller before diff_make(): by what each side's values are divided, > 0. */
	double per[DIFF_SIDES];
	bool per_time; /* .per is wall time */
	bool by_share; /* there is nothing to divide by: .value is the share */
	bool timed;    /* false: a profile has no times, so samples were taken for independent */
	size_t blocks, checked; /* blocks of time in a side; functions with enough samples */
	double all[DIFF_SIDES]; /* of the measure */
	struct costs costs[DIFF_SIDES];
	VEC(struct diff_row)
	rows; /* largest change of self first, what is more than noise before */
};

/* 0 or -errno + message; fini in any case. */
_must_use_ int diff_make(struct diff *d);
void diff_fini(struct diff *d);

/* B's minus A's value or share. */
double diff_change(const struct diff_cost *c);
double diff_share_change(const struct diff_cost *c);

#endif
