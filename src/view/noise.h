/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which of many differences are more than noise; see diff.h. It takes numbers and sets
 * verdicts.
 */
#ifndef VIEW_NOISE_H
#define VIEW_NOISE_H

#include "base/util.h"

#define NOISE_BLOCKS 48	  /* how many blocks of time a profile is divided into */
#define NOISE_SPEED  0.03 /* by which part the machine's speed differs between two runs */

/* What one function costs in each block of time of both profiles. */
struct noise_row {
	double in[2][NOISE_BLOCKS];
	double sum[2];
	bool value_changed, share_changed;
};

struct noise {
	struct noise_row *rows;
	size_t n;
	/* what all functions together cost: in each block of time, and in the whole */
	double all[2][NOISE_BLOCKS], sum[2];
	double runs[2]; /* number of runs merged in each side; 0 counts as 1 */
	/* divisor of each side: .sum / .per is compared */
	double per[2];
	bool per_time;	  /* .per is a wall time, not an amount of work */
	double sample[2]; /* average value of a sample on each side */
	bool shares_only;
	/*
	 * not 0 if there are no times: the value of one sample; samples count as independent then
	 */
	double poisson[2];
};

/*
 * The variance between two sides, with so many merged runs of one program, of a function that has
 * this share of all. It stands for what blocks of time can't show: addresses, hash seeds, the
 * machine. A further merged run lowers it only as much as half an independent run would. So merging
 * runs not only finds more changes, it also marks fewer by chance.
 */
double noise_between_runs(double share, const double runs[static 2]);

/*
 * The logarithm of the factor by which most functions' own costs changed alike; 0 if no other
 * factor fits better.
 */
double noise_speed(const struct noise *n, const struct noise_row *own, size_t n_own);

/*
 * Returns 1 if the cost surely rose by more than @speed, or the function is new; -1 if by less, or
 * it is gone; 0 if neither is sure.
 */
int noise_apart(const struct noise *n, const struct noise_row *row, double speed);

/* Sets .value_changed and .share_changed of all rows. 0 or -ENOMEM (no message). */
_must_use_ int noise_judge(struct noise *n);

#endif
