/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds callers whose total changed only because one function that they called changed. Listing
 * these callers would tell a reader nothing new. See diff.h.
 */
#include <errno.h>
#include <math.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/sums.h"
#include "view/compare/diff.h"

/* the most rows that are examined; they are the rows with the largest changes */
#define MAX_CHANGED 256
/* the part of a caller's change that may stay unexplained, because of noise */
#define REST 0.2

struct passing {
	struct diff *d;
	/*
	 * by key of a function on this side: the number of its row, from 1; 0: the row isn't
	 * examined
	 */
	uint32_t *at[DIFF_SIDES];
	size_t n; /* number of changed rows; changed rows come before all other rows */
	/*
	 * at [i * n + j]: the change in cost of the samples in which row i's function is a caller
	 * of row j's
	 */
	double *with;

	enum diff_side side;
	struct sums sums;
	double sum;
};

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct passing *g = arg;
	int64_t value = s->values[g->d->value[g->side]];

	if (value <= 0)
		return 0;
	g->sum += (double)value;
	return sums_add(&g->sums, &(struct sums_key){.stack = s->stack}, &value);
}

/*
 * Returns the factor by which a side's values are multiplied so that both sides are comparable.
 * Side A's factor is negative, so a sum over both sides is B minus A.
 */
static double weight(const struct passing *g)
{
	double per = g->d->work_known ? g->d->per[g->side] : g->sum;

	return (g->side == DIFF_A ? -1 : 1) / MAX(per, 1e-300);
}

static int spread(struct passing *g)
{
	struct costs *c = &g->d->costs[g->side];
	double one = weight(g);
	uint32_t below[MAX_CHANGED];

	sums_foreach(e, &g->sums)
	{
		size_t n, n_below = 0;
		const uint32_t *keys = costs_keys(c, e->key.stack, &n);

		if (!keys)
			return -ENOMEM;
		for (size_t i = 0; i < n; i++) {
			uint32_t row = g->at[g->side][keys[i]];

			if (!row)
				continue;
			for (size_t k = 0; k < n_below; k++)
				g->with[(row - 1) * g->n + below[k]] += one * (double)e->values[0];
			below[n_below++] = row - 1;
		}
	}
	return 0;
}

static int take_side(struct passing *g, enum diff_side side)
{
	int r;

	g->side = side;
	g->sum = 0;
	sums_init(&g->sums, 1);
	r = profile_each(g->d->p[side], take_sample, g);
	if (!r && spread(g))
		r = err_set(-ENOMEM, "out of memory");
	sums_fini(&g->sums);
	return r;
}

static bool is_passed_on(const struct passing *g, size_t caller, size_t below)
{
	const struct diff_row *rows = g->d->rows.v;
	double all = diff_effect(g->d, &rows[caller].of[DIFF_TOTAL]);
	double rest = all - g->with[caller * g->n + below];

	return caller != below && fabs(rest) <= REST * fabs(all) &&
	       (!rows[below].passes_on || !streq(rows[below].passes_on, rows[caller].name));
}

/*
 * Sets .passes_on of each row (a function) to the first row that explains its change. Rows whose
 * own cost changed are tried first.
 */
static void decide(struct passing *g)
{
	struct diff_row *rows = g->d->rows.v;

	for (size_t i = 0; i < g->n; i++)
		for (size_t k = 0; k < g->n && !rows[i].of[DIFF_SELF].changed && !rows[i].passes_on;
		     k++)
			if (is_passed_on(g, i, k))
				rows[i].passes_on = rows[k].name;
}

static int find(struct passing *g)
{
	const struct diff *d = g->d;

	while (g->n < d->rows.n && g->n < MAX_CHANGED &&
	       (d->rows.v[g->n].of[DIFF_SELF].changed || d->rows.v[g->n].of[DIFF_TOTAL].changed))
		g->n++;
	if (g->n < 2)
		return 0;
	g->with = calloc(g->n * g->n, sizeof(*g->with));
	for (int side = 0; side < DIFF_SIDES; side++) {
		const struct rank *keys = &d->costs[side].keys;

		g->at[side] = calloc(keys->n + 1, sizeof(uint32_t));
		if (!g->with || !g->at[side])
			return err_set(-ENOMEM, "out of memory");
		for (size_t i = 0; i < g->n; i++)
			if (d->rows.v[i].location[side])
				g->at[side][keys->of[d->rows.v[i].location[side]]] =
					(uint32_t)i + 1;
	}
	for (int side = 0; side < DIFF_SIDES; side++) {
		int r = take_side(g, side);

		if (r)
			return r;
	}
	decide(g);
	return 0;
}

int diff_find_passing(struct diff *d)
{
	struct passing g = {.d = d};
	int r = find(&g);

	free(g.at[DIFF_A]);
	free(g.at[DIFF_B]);
	free(g.with);
	return r;
}
