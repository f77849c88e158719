/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block bootstrap with the maximum over all functions as the yardstick (Westfall and Young's
 * single-step max-T; Künsch 1989 for blocks). What happens between two runs and not within one
 * (addresses, hash seeds, the machine) no block can show: a part of each cost is allowed for that.
 */
#include "view/noise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "base/cleanup.h"

#define REPLICATES   1000
#define LEVEL	     0.03 /* chance that anything at all is flagged where nothing changed */
#define LARGE	     0.05 /* functions with this share of all have half of that chance to themselves */
#define BETWEEN_RUNS 0.015 /* of the larger cost, one standard deviation */

/* One difference of a row: of values, or of shares. */
struct test {
	size_t row;
	bool share, large;
	double d, se, inflate; /* difference, its standard error by blocks, more for longer ones */
};

struct state {
	struct noise *n;
	struct test *tests;
	size_t n_tests;
	uint64_t random;
};

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static double measure(const struct noise *n, bool as_share, int side, double sum, double all)
{
	return as_share ? share(sum, all) : sum / n->per[side];
}

/* What a block adds to the error of the side's measure. */
static double residual(const struct noise *n, const struct noise_row *row, bool as_share, int side,
		       size_t from, size_t to)
{
	double x = 0, all = 0, blocks = (double)(to - from) / NOISE_BLOCKS;

	for (size_t i = from; i < to; i++) {
		x += row->in[side][i];
		all += n->all[side][i];
	}
	if (as_share)
		return share(x - share(row->sum[side], n->sum[side]) * all, n->sum[side]);
	return (x - row->sum[side] * blocks) / n->per[side];
}

/* Variance of the side's measure if blocks of @width are independent of each other. */
static double variance(const struct noise *n, const struct noise_row *row, bool as_share, int side,
		       size_t width)
{
	double blocks = (double)NOISE_BLOCKS / (double)width, sum = 0;

	if (n->poisson[side] > 0) {
		double p = share(row->sum[side], n->sum[side]);

		sum = row->sum[side] * n->poisson[side];
		return as_share ? share(p * (1 - p) * n->poisson[side], n->sum[side])
				: sum / (n->per[side] * n->per[side]);
	}
	for (size_t i = 0; i + width <= NOISE_BLOCKS; i += width) {
		double e = residual(n, row, as_share, side, i, i + width);

		sum += e * e;
	}
	return sum * blocks / (blocks - 1);
}

static double variance_of_both(const struct noise *n, const struct noise_row *row, bool as_share,
			       size_t width)
{
	return variance(n, row, as_share, 0, width) + variance(n, row, as_share, 1, width);
}

/*
 * Where longer blocks vary more than chance has it, the program has phases longer than a block. One
 * function's estimate from few blocks is rough: only what it has in excess of that counts.
 */
static double phases(const struct noise *n, const struct noise_row *row, bool as_share, double v)
{
	double most = 1;

	for (size_t width = 2; width <= 4; width *= 2) {
		double ratio = variance_of_both(n, row, as_share, width) / v;

		most = MAX(most, ratio / (1 + 0.1 * (double)width));
	}
	return sqrt(most);
}

/* The same of all functions together, which is less rough: how long a phase is, they share. */
static double common_phases(const struct state *s, bool as_share)
{
	double sum[3] = {}, most = 1;

	for (size_t i = 0; i < s->n_tests; i++) {
		const struct test *t = &s->tests[i];

		for (size_t k = 0; t->share == as_share && k < 3; k++)
			sum[k] += variance_of_both(s->n, &s->n->rows[t->row], as_share,
						   (size_t)1 << k);
	}
	for (size_t k = 1; k < 3 && sum[0] > 0; k++)
		most = MAX(most, sum[k] / sum[0]);
	return sqrt(most);
}

static void allow_for_phases(struct state *s)
{
	double common[2] = {common_phases(s, false), common_phases(s, true)};

	for (size_t i = 0; i < s->n_tests; i++)
		s->tests[i].inflate = MAX(s->tests[i].inflate, common[s->tests[i].share]);
}

static void add_test(struct state *s, size_t i, bool as_share)
{
	const struct noise *n = s->n;
	const struct noise_row *row = &n->rows[i];
	double v = variance_of_both(n, row, as_share, 1);
	struct test t = {.row = i, .share = as_share, .se = sqrt(v)};

	t.d = measure(n, as_share, 1, row->sum[1], n->sum[1]) -
	      measure(n, as_share, 0, row->sum[0], n->sum[0]);
	if (v <= 0)
		return;
	t.inflate = phases(n, row, as_share, v);
	t.large = share(row->sum[0] + row->sum[1], n->sum[0] + n->sum[1]) >= LARGE;
	s->tests[s->n_tests++] = t;
}

/* splitmix64: the same profiles give the same verdict. */
static uint64_t next_random(struct state *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* How often each block is drawn. */
static void draw(struct state *s, double weights[2][NOISE_BLOCKS])
{
	memset(weights, 0, 2 * NOISE_BLOCKS * sizeof(double));
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < NOISE_BLOCKS; i++)
			weights[side][(next_random(s) >> 32) * NOISE_BLOCKS >> 32]++;
}

static double weighted(const double *weights, const double *blocks)
{
	double sum = 0;

	for (int i = 0; i < NOISE_BLOCKS; i++)
		sum += weights[i] * blocks[i];
	return sum;
}

/*
 * The largest of all differences' errors in one replicate, in standard errors; of small and of large
 * functions. Apart, because the many small ones, with their few samples, have the longer tails.
 */
static void largest(struct state *s, double max[2])
{
	const struct noise *n = s->n;
	double weights[2][NOISE_BLOCKS], all[2];

	draw(s, weights);
	for (int side = 0; side < 2; side++)
		all[side] = weighted(weights[side], n->all[side]);
	for (size_t i = 0; i < s->n_tests; i++) {
		const struct test *t = &s->tests[i];
		const struct noise_row *row = &n->rows[t->row];
		double d = measure(n, t->share, 1, weighted(weights[1], row->in[1]), all[1]) -
			   measure(n, t->share, 0, weighted(weights[0], row->in[0]), all[0]);

		max[t->large] = MAX(max[t->large], fabs(d - t->d) / t->se);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* How many standard errors chance explains, of small and of large functions. */
static void yardsticks(struct state *s, double c[2])
{
	double max[2][REPLICATES] = {};

	/* Independent samples: of m normal numbers, the largest; a tail of exp(-c*c/2) each. */
	if (s->n->poisson[0] > 0 || s->n->poisson[1] > 0) {
		c[0] = c[1] = sqrt(2 * log(2 * (double)s->n_tests / LEVEL));
		return;
	}
	for (size_t i = 0; i < REPLICATES; i++) {
		double one[2] = {};

		largest(s, one);
		max[0][i] = one[0];
		max[1][i] = one[1];
	}
	for (int large = 0; large < 2; large++) {
		qsort(max[large], REPLICATES, sizeof(double), compare);
		c[large] = max[large][(size_t)(REPLICATES * (1 - LEVEL / 2))];
	}
}

static void judge(struct state *s, const double c[2])
{
	for (size_t i = 0; i < s->n_tests; i++) {
		const struct test *t = &s->tests[i];
		struct noise_row *row = &s->n->rows[t->row];
		double a = measure(s->n, t->share, 0, row->sum[0], s->n->sum[0]);
		double b = measure(s->n, t->share, 1, row->sum[1], s->n->sum[1]);
		double se = t->se * t->inflate, run = BETWEEN_RUNS * MAX(a, b);

		if (fabs(t->d) <= c[t->large] * sqrt(se * se + run * run))
			continue;
		if (t->share)
			row->share_changed = true;
		else
			row->value_changed = true;
	}
}

int noise_judge(struct noise *n)
{
	struct state s = {.n = n, .random = 1};
	double c[2];

	s.tests = calloc(2 * n->n + 1, sizeof(*s.tests));
	if (!s.tests)
		return -ENOMEM;
	for (size_t i = 0; i < n->n; i++) {
		if (!n->shares_only)
			add_test(&s, i, false);
		add_test(&s, i, true);
	}
	allow_for_phases(&s);
	if (s.n_tests) {
		yardsticks(&s, c);
		judge(&s, c);
	}
	free(s.tests);
	return 0;
}
