/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which of many differences are more than noise; see diff.h.
 */
#ifndef VIEW_COMPARE_NOISE_H
#define VIEW_COMPARE_NOISE_H

#include "base/util.h"
#include "profile/profile.h"

/* The label that says to which of several merged runs a sample belongs (docs/ci.md). */
#define NOISE_RUN_LABEL "run"

#define NOISE_BLOCKS	48   /* how many blocks of time a profile is divided into */
#define NOISE_SPEED	0.03 /* by which part the machine's speed may differ between two runs */

/* What one function costs in each block of time of both profiles, and the verdict on it. */
struct noise_row {
	double in[2][NOISE_BLOCKS];
	double sum[2];
	/*
	 * value of one independent sample of the function on each side, if its samples differ in
	 * value; else 0
	 */
	double one[2];
	bool value_changed, share_changed;
};

/* How much the merged runs of a side differ from each other. All zero: that isn't known. */
struct noise_runs {
	/*
	 * sum over the runs: the square of how far the logarithm of a run's cost is from its side's
	 * mean
	 */
	double squares;
	double freedom; /* number of runs minus the number of sides that have runs */
};

struct noise {
	struct noise_row *rows;
	size_t n;
	/* what all functions together cost, in each block of time and as a whole */
	double all[2][NOISE_BLOCKS], sum[2];
	double runs[2]; /* number of runs merged in each side; 0 counts as 1 */
	/* what each side's costs are divided by: .sum / .per is compared */
	double per[2];
	bool per_time;	  /* .per is a wall time, not an amount of work */
	double speed_sd;  /* the result of noise_speed_sd(); 0 counts as NOISE_SPEED */
	double sample[2]; /* average value of a sample on each side */
	bool shares_only;
	/*
	 * in profiles without times: the value of one sample, which counts as independent; with
	 * times: 0
	 */
	double poisson[2];
};

/*
 * Returns the variance of the difference between two sides, for a function that has @share of all
 * costs. @runs: how many runs of a program are merged in each side. The result is the part of the
 * variance that blocks of time can't show, because it comes from addresses, hash seeds and machines
 * that differ between runs. Each further merged run lowers it as much as half an independent run
 * would. So if runs are merged, more real changes are found, and fewer that are only chance.
 */
double noise_between_runs(double share, const double runs[static 2]);

/*
 * Returns the logarithm of the factor by which most functions' own costs changed; 0 if no factor
 * fits better than "no change".
 */
double noise_speed(const struct noise *n, const struct noise_row *own, size_t n_own);

/*
 * Returns 1 if the function's cost surely rose by more than @speed, or the function is new; -1 if
 * the cost surely rose by less or fell, or the function is gone; 0 if neither is sure.
 */
int noise_apart(const struct noise *n, const struct noise_row *row, double speed);

/*
 * Adds the merged runs of one side, which the label NOISE_RUN_LABEL tells apart. Adds none if the
 * samples lack that label, or if it doesn't have exactly one value for each whole run. 0 or -ENOMEM
 * + message.
 */
_must_use_ int noise_add_runs(struct profile *p, unsigned value, struct noise_runs *ret);

/*
 * Returns the standard deviation of the logarithm of the factor by which the machine's speed
 * changes.
 */
double noise_speed_sd(const struct noise_runs *r);

/* Sets .value_changed and .share_changed of all rows. Returns 0 or -ENOMEM (no message). */
_must_use_ int noise_judge(struct noise *n);

#endif
