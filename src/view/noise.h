/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of many differences are more than noise; see diff.h. Numbers in, verdicts out. */
#ifndef VIEW_NOISE_H
#define VIEW_NOISE_H

#include "base/util.h"

#define NOISE_BLOCKS 48
#define NOISE_SPEED                                                                                \
	0.03 /* the machine's speed for the same work differs between runs by this part */

/* What one function costs in each block of time of the two profiles. */
struct noise_row {
	double in[2][NOISE_BLOCKS];
	double sum[2];
	bool value_changed, share_changed;
};

struct noise {
	struct noise_row *rows;
	size_t n;
	double all[2][NOISE_BLOCKS], sum[2]; /* of everything */
	double runs[2];			     /* merged in each; 0 counts as 1 */
	double per[2];			     /* values are compared as sum / per */
	bool per_time;			     /* .per is wall time, not work that was done */
	double sample[2];		     /* the value of one sample on average */
	bool shares_only;
	double poisson
		[2]; /* not 0: no times; the value of one sample, each independent of others */
};

/*
 * What blocks of time can't show (addresses, hash seeds, the machine): variance of what @share, of all, differs by between two
 * sides of so many runs of one program. It falls by half of what independent runs would have it: merged runs are to mark less
 * by chance too, not only to find more.
 */
double noise_between_runs(double share, const double runs[static 2]);

/*
 * The logarithm of by how much all functions' costs changed alike, by most of what the own costs say: 0
 * where nothing speaks for more.
 */
double noise_speed(const struct noise *n, const struct noise_row *own, size_t n_own);

/* 1: its cost surely rose by more than @speed, or it is new; -1: by less, or it is gone; 0: neither. */
int noise_apart(const struct noise *n, const struct noise_row *row, double speed);

/* Sets the verdicts. 0 or -ENOMEM (no message). */
_must_use_ int noise_judge(struct noise *n);

#endif
