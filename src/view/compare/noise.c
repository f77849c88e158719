/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A permutation test whose yardstick is the maximum over all functions (single-step max-T by
 * Westfall and Young). It relies on this: if nothing changed, the costs of the two runs in a block
 * of time may be exchanged. Some differences between runs are the same in all blocks, so blocks
 * don't show them. A fixed amount is allowed for such differences; docs/decisions/0013.
 */
#include "view/compare/noise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "base/cleanup.h"

#define REPLICATES 1000 /* in how many repetitions blocks of time are swapped */
/* chance that any function is called changed although nothing has changed */
#define LEVEL 0.03
/*
 * half of LEVEL is for functions with at least this share of all costs, the other half for all
 * other functions
 */
#define LARGE 0.05
/*
 * a row (a function) can explain the change of a second row only if the first row's share is at
 * least this many times the second row's share
 */
#define LARGER 1.1
#define WIDTHS 3 /* number of block widths: one, two and four blocks */
/*
 * Two runs of a program differ by chance as if each had only RUN_SAMPLES independent samples. For a
 * function whose share of all costs is p, the variance p (1 - p) counts as RUN_MOST at most.
 */
#define RUN_SAMPLES 2000
#define RUN_MOST    0.08

/*
 * How far the cost in each block is from what the average leads one to expect, on side A and on
 * side B.
 */
typedef double block_errors[2][NOISE_BLOCKS];

/*
 * A test of one difference of a row (a function): of its values, or of its shares. A row that is
 * large has a second test of each difference, without the part that the change of a larger row
 * explains. For example, if a caller runs more often, so does everything that it calls.
 */
struct test {
	size_t row, with;
	/*
	 * the row's error contains .slope times the error of row .with; .slope 0: no other row
	 * explains this row's error
	 */
	double slope;
	bool share, large;
	/*
	 * .d: the difference; .se: its standard error, from blocks; .inflate: the factor for
	 * programs whose phases are longer than a block
	 */
	double d, se, inflate;
};

struct state {
	struct noise *n;
	struct test *tests;
	size_t n_tests;
	/* sums of the variances of all rows, by values and by shares, for each width of blocks */
	double by_width[2][WIDTHS];
	/* -1: this repetition swaps this block between the sides; else 1 */
	double sign[NOISE_BLOCKS][REPLICATES];
	/*
	 * For each repetition: the largest error of all differences, in standard errors. Small and
	 * large functions are kept apart, because there are many small functions with few samples,
	 * which have large errors more often.
	 */
	double largest[2][REPLICATES];
};

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static double pooled_share(const struct noise *n, size_t row)
{
	return share(n->rows[row].sum[0] + n->rows[row].sum[1], n->sum[0] + n->sum[1]);
}

static double measure(const struct noise *n, bool as_share, int side, double sum, double all)
{
	return as_share ? share(sum, all) : sum / n->per[side];
}

static double change(const struct noise *n, bool as_share, const double sum[2], const double all[2])
{
	return measure(n, as_share, 1, sum[1], all[1]) - measure(n, as_share, 0, sum[0], all[0]);
}

/* Sets @e to the error that each block contributes to the value or share of its side. */
static void find_errors(const struct noise *n, const struct noise_row *row, bool as_share,
			block_errors e)
{
	for (int side = 0; side < 2; side++) {
		double p = share(row->sum[side], n->sum[side]);

		for (int i = 0; i < NOISE_BLOCKS; i++)
			if (as_share)
				e[side][i] =
					share(row->in[side][i] - p * n->all[side][i], n->sum[side]);
			else
				e[side][i] = (row->in[side][i] - row->sum[side] / NOISE_BLOCKS) /
					     n->per[side];
	}
}

static double product(block_errors a, block_errors b)
{
	double sum = 0;

	for (int side = 0; side < 2; side++)
		for (int i = 0; i < NOISE_BLOCKS; i++)
			sum += a[side][i] * b[side][i];
	return sum;
}

/*
 * Returns the variance of the difference, if blocks of @width are independent. It is computed from
 * differences between the sides, because what both runs do at the same time, such as at their
 * start, isn't chance.
 */
static double variance(block_errors e, int width)
{
	double blocks = NOISE_BLOCKS / width, sum = 0;

	for (int i = 0; i < NOISE_BLOCKS; i += width) {
		double x = 0;

		for (int k = i; k < i + width; k++)
			x += e[1][k] - e[0][k];
		sum += x * x;
	}
	return sum * blocks / (blocks - 1);
}

/* Returns the variance for profiles without times, as if samples were independent. */
static double variance_of_samples(const struct noise *n, const struct noise_row *row, bool as_share)
{
	double sum = 0;

	for (int side = 0; side < 2; side++) {
		double p = share(row->sum[side], n->sum[side]);
		double one = row->one[side] > 0 ? row->one[side] : n->poisson[side];

		sum += as_share ? share(p * (1 - p) * one, n->sum[side])
				: row->sum[side] * one / (n->per[side] * n->per[side]);
	}
	return sum;
}

static bool is_timed(const struct noise *n)
{
	return n->poisson[0] <= 0 && n->poisson[1] <= 0;
}

/*
 * Returns the factor .inflate. If longer blocks vary more than chance explains, the program has
 * phases that are longer than a block. The estimate from the few blocks of one function is rough,
 * so only a clear excess counts.
 */
static double phases(block_errors e, double v)
{
	double most = 1;

	for (int width = 2; width <= 4; width *= 2)
		most = MAX(most, variance(e, width) / v / (1 + 0.1 * width));
	return sqrt(most);
}

/*
 * Estimates how much more the sums of longer blocks vary than the sums of single blocks, from all
 * functions together, and raises .inflate to at least that. This estimate is better than that from
 * a single function, because the program's phases have the same length in all its functions.
 */
static void allow_for_phases(struct state *s)
{
	for (size_t i = 0; i < s->n_tests; i++) {
		struct test *t = &s->tests[i];
		const double *v = s->by_width[t->share];

		for (int k = 1; k < WIDTHS && v[0] > 0; k++)
			t->inflate = MAX(t->inflate, sqrt(v[k] / v[0]));
	}
}

/*
 * Swaps blocks in each repetition. If nothing has changed, the resulting differences are as large
 * as chance makes them.
 */
static void swap_blocks(struct state *s, const struct test *t, block_errors e)
{
	double error[REPLICATES] = {}, *largest = s->largest[t->large];

	for (int i = 0; i < NOISE_BLOCKS; i++)
		for (int k = 0; k < REPLICATES; k++)
			error[k] += s->sign[i][k] * (e[1][i] - e[0][i]);
	for (int k = 0; k < REPLICATES; k++)
		largest[k] = MAX(largest[k], fabs(error[k]) / t->se);
}

static void add_test(struct state *s, struct test t, block_errors e)
{
	const struct noise *n = s->n;
	const struct noise_row *row = &n->rows[t.row];
	double v = is_timed(n) ? variance(e, 1) : variance_of_samples(n, row, t.share);

	if (v <= 0)
		return;
	t.large = pooled_share(n, t.row) >= LARGE;
	t.d = change(n, t.share, row->sum, n->sum);
	if (t.slope != 0)
		t.d -= t.slope * change(n, t.share, n->rows[t.with].sum, n->sum);
	t.se = sqrt(v);
	t.inflate = is_timed(n) ? phases(e, v) : 1;
	if (is_timed(n))
		swap_blocks(s, &t, e);
	s->tests[s->n_tests++] = t;
}

static void add_row(struct state *s, size_t row, bool as_share)
{
	block_errors e;

	find_errors(s->n, &s->n->rows[row], as_share, e);
	for (int k = 0; k < WIDTHS && is_timed(s->n); k++)
		s->by_width[as_share][k] += variance(e, 1 << k);
	add_test(s, (struct test){.row = row, .share = as_share}, e);
}

/*
 * Adds a test of a row (a function) without what another row explains. That other row is the one
 * whose errors explain most of this row's errors, and more than half of them. It must be larger
 * than this row, because a row of nearly the same size would explain any change.
 */
static void add_explained(struct state *s, size_t row, bool as_share, const size_t *large, size_t n)
{
	struct test t = {.row = row, .share = as_share};
	block_errors e, other;
	double most = 0.5, v;

	find_errors(s->n, &s->n->rows[row], as_share, e);
	v = product(e, e);
	for (size_t i = 0; i < n; i++) {
		double both, of_other;

		if (pooled_share(s->n, large[i]) < LARGER * pooled_share(s->n, row))
			continue;
		find_errors(s->n, &s->n->rows[large[i]], as_share, other);
		both = product(e, other);
		of_other = product(other, other);
		if (both * both <= most * v * of_other)
			continue;
		most = both * both / (v * of_other);
		t.with = large[i];
		t.slope = both / of_other;
	}
	if (t.slope == 0)
		return;
	find_errors(s->n, &s->n->rows[t.with], as_share, other);
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < NOISE_BLOCKS; i++)
			e[side][i] -= t.slope * other[side][i];
	add_test(s, t, e);
}

static int add_rows(struct state *s)
{
	const struct noise *n = s->n;
	_cleanup_free_ size_t *large = calloc(n->n + 1, sizeof(*large));
	size_t n_large = 0;

	if (!large)
		return -ENOMEM;
	for (size_t i = 0; i < n->n; i++) {
		if (is_timed(n) && pooled_share(n, i) >= LARGE)
			large[n_large++] = i;
		for (int as_share = n->shares_only; as_share < 2; as_share++)
			add_row(s, i, as_share);
	}
	for (size_t i = 0; i < n_large; i++)
		for (int as_share = n->shares_only; as_share < 2; as_share++)
			add_explained(s, large[i], as_share, large, n_large);
	return 0;
}

/*
 * Returns a number of splitmix64 with a fixed seed, so that the same profiles give the same
 * verdict.
 */
static uint64_t next_random(uint64_t *random)
{
	uint64_t z = *random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static void draw(struct state *s)
{
	uint64_t random = 1;

	for (int k = 0; k < REPLICATES; k++) {
		uint64_t bits = next_random(&random);

		for (int i = 0; i < NOISE_BLOCKS; i++)
			s->sign[i][k] = bits >> i & 1 ? 1 : -1;
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * Sets how many standard errors chance can explain: c[0] for small functions, c[1] for large ones.
 */
static void yardsticks(struct state *s, double c[2])
{
	/*
	 * If samples are independent, the result is a quantile of the largest of m normal numbers,
	 * one for each test. The chance that one of these numbers exceeds c is about exp(-c*c/2).
	 */
	if (!is_timed(s->n)) {
		c[0] = c[1] = sqrt(2 * log(2 * (double)s->n_tests / LEVEL));
		return;
	}
	for (int large = 0; large < 2; large++) {
		qsort(s->largest[large], REPLICATES, sizeof(double), compare);
		c[large] = s->largest[large][(size_t)(REPLICATES * (1 - LEVEL / 2))];
	}
}

double noise_between_runs(double share, const double runs[static 2])
{
	double one = MIN(share * (1 - share), RUN_MOST) / RUN_SAMPLES;

	return one * (2 / (1 + MAX(runs[0], 1.0)) + 2 / (1 + MAX(runs[1], 1.0)));
}

/* Returns the standard deviation of differences between two runs. */
static double between_runs(const struct noise *n, const struct test *t)
{
	const struct noise_row *row = &n->rows[t->row];
	double p = pooled_share(n, t->row), v = noise_between_runs(p, n->runs);

	if (t->share)
		return sqrt(v);
	v /= p * p;
	if (!n->per_time)
		v += 2 * NOISE_SPEED * NOISE_SPEED;
	return sqrt(v) * (row->sum[0] / n->per[0] + row->sum[1] / n->per[1]) / 2;
}

/*
 * Returns the size of a row's difference without its caller's change. If only the caller changed,
 * the subtraction would make a difference that the row doesn't have. So the result is at most the
 * row's own difference, and 0 if the two have different signs.
 */
static double size(const struct noise *n, const struct test *t)
{
	double own = change(n, t->share, n->rows[t->row].sum, n->sum);

	return own * t->d > 0 ? MIN(fabs(own), fabs(t->d)) : 0;
}

static void judge(struct state *s, const double c[2])
{
	for (size_t i = 0; i < s->n_tests; i++) {
		const struct test *t = &s->tests[i];
		struct noise_row *row = &s->n->rows[t->row];
		double se = t->se * t->inflate, run = between_runs(s->n, t);

		if (size(s->n, t) <= c[t->large] * sqrt(se * se + run * run))
			continue;
		if (t->share)
			row->share_changed = true;
		else
			row->value_changed = true;
	}
	/*
	 * Other programs may take CPU time from the recorded program, which changes the cost per
	 * second of all its functions by the same factor. So a change of a cost per second counts
	 * only if the share changed too.
	 */
	for (size_t i = 0; s->n->per_time && i < s->n->n; i++)
		s->n->rows[i].value_changed &= s->n->rows[i].share_changed;
}

int noise_judge(struct noise *n)
{
	_cleanup_free_ struct state *s = calloc(1, sizeof(*s));
	_cleanup_free_ struct test *tests = calloc(4 * n->n + 1, sizeof(*tests));
	double c[2];
	int r;

	if (!s || !tests)
		return -ENOMEM;
	s->n = n;
	s->tests = tests;
	draw(s);
	r = add_rows(s);
	if (r || !s->n_tests)
		return r;
	allow_for_phases(s);
	yardsticks(s, c);
	judge(s, c);
	return 0;
}
