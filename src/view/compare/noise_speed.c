/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates how much slower the machine was in one run than in the other, from the changes that all
 * functions have in common; docs/decisions/0013.
 */
#include <math.h>
#include "view/compare/noise.h"

#define SURE 2.5 /* a change of this many standard errors is sure */
/* a function with less than this part of all costs isn't used for the estimate */
#define SOME   0.01
#define ENOUGH 50  /* how many samples a function needs on each side */
#define MOST   100 /* the most functions that can each have SOME of all costs */
/*
 * How much a change of the machine's speed is doubted. A larger change is doubted more. A change by
 * a factor of two is doubted as much as if one function surely contradicted it. So if two of four
 * functions cost twice as much, the other two, which didn't change, decide.
 */
#define DOUBT 4.0
/*
 * A change of the machine's speed doesn't change the costs of all functions by exactly the same
 * factor: one function's change may differ from another's by this part of the change. For example,
 * where a second thread of the core was busy, a program took 1.45 times as long, its SHA-256 1.24
 * times and its sorting 1.43 times.
 */
#define RESPONSE 0.2

static double pooled_share(const struct noise *n, const struct noise_row *row)
{
	return (row->sum[0] + row->sum[1]) / (n->sum[0] + n->sum[1]);
}

/* Returns the value of one independent sample of a function. */
static double one_sample(const struct noise *n, const struct noise_row *row, int side)
{
	return row->one[side] > 0 ? row->one[side] : n->sample[side];
}

/* Computes the logarithm of the change of a function's cost, and its standard error. */
static double log_change(const struct noise *n, const struct noise_row *row, double *se)
{
	double p = pooled_share(n, row), v = noise_between_runs(p, n->runs) / (p * p);

	for (int side = 0; side < 2; side++)
		v += one_sample(n, row, side) / row->sum[side];
	*se = sqrt(v);
	return log(row->sum[1] / n->per[1]) - log(row->sum[0] / n->per[0]);
}

static bool tells(const struct noise *n, const struct noise_row *row)
{
	return row->sum[0] > ENOUGH * one_sample(n, row, 0) &&
	       row->sum[1] > ENOUGH * one_sample(n, row, 1) && pooled_share(n, row) >= SOME;
}

/* Returns how far a function's change is from @speed, in standard errors. */
static double distance(double change, double speed, double se)
{
	return fabs(change - speed) / hypot(se, RESPONSE * speed);
}

/*
 * Returns how badly a speed fits: the sum of its distances to each function's change, plus its
 * distance to "no change", because the machine's speed mostly is nearly the same in both runs (@sd:
 * by how much it differs). Each distance is limited to SURE, so that functions which changed for
 * their own reasons have little weight.
 */
static double against(double speed, double sd, const double *changes, const double *se, size_t n)
{
	double sum = MIN(fabs(speed) / sd, SURE) + DOUBT * NOISE_SPEED / sd * fabs(speed);

	for (size_t i = 0; i < n; i++)
		sum += MIN(distance(changes[i], speed, se[i]), SURE);
	return sum;
}

double noise_speed(const struct noise *n, const struct noise_row *own, size_t n_own)
{
	double changes[MOST] = {}, se[MOST] = {}, best = 0, least;
	double sd = MAX(n->speed_sd, NOISE_SPEED);
	size_t k = 0;

	for (size_t i = 0; i < n_own && k < MOST; i++) {
		if (!tells(n, &own[i]))
			continue;
		changes[k] = log_change(n, &own[i], &se[k]);
		k++;
	}
	least = against(0, sd, changes, se, k);
	for (size_t i = 0; i < k; i++) {
		double it = against(changes[i], sd, changes, se, k);

		if (it >= least)
			continue;
		least = it;
		best = changes[i];
	}
	return best;
}

int noise_apart(const struct noise *n, const struct noise_row *row, double speed)
{
	double se, change;

	if (row->sum[0] <= 0 || row->sum[1] <= 0)
		return row->sum[1] > 0 ? 1 : -1;
	change = log_change(n, row, &se);
	return distance(change, speed, se) <= SURE ? 0 : change > speed ? 1 : -1;
}
