/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins the functions of two profiles by name, and collects their costs in each block of time; see
 * diff.h.
 */
#include "view/compare/diff_internal.h"

#include <math.h>
#include "base/cleanup.h"
#include "base/error.h"

#define MAX_FUNCTIONS 200000 /* the most functions that are compared; each takes 1.6 kB */
/*
 * a function with fewer samples than this, on both sides together, isn't judged, because so few
 * prove nothing
 */
#define MIN_SAMPLES 10
/*
 * A native function whose own cost is less than this part of its total is taken for one that Python
 * calls. (The cost of native code that Python calls counts as the Python function's own.)
 */
#define HARDLY 0.05
#define FAR    5 /* a difference of this many standard errors is never taken for chance */
/*
 * A function that ran in no more than this many separate stretches of time can't be judged. A
 * function that runs all the time has some 20 stretches (see stretches()).
 */
#define FEW 6

double diff_change(const struct diff_cost *c)
{
	return c->value[DIFF_B] - c->value[DIFF_A];
}

double diff_share_change(const struct diff_cost *c)
{
	return c->share[DIFF_B] - c->share[DIFF_A];
}

double diff_effect(const struct diff *d, const struct diff_cost *c)
{
	return d->work_known ? diff_change(c) : diff_share_change(c);
}

/*
 * Makes the rows: joins the functions of both sides, whose keys are sorted by name. Each name gives
 * one row, with the function's key on each side.
 */
static int join(struct maker *m)
{
	struct diff *d = m->d;
	const struct rank *a = &d->costs[DIFF_A].keys, *b = &d->costs[DIFF_B].keys;
	uint32_t i = 0, j = 0;

	m->row_of[DIFF_A] = calloc(a->n + 1, sizeof(uint32_t));
	m->row_of[DIFF_B] = calloc(b->n + 1, sizeof(uint32_t));
	if (!m->row_of[DIFF_A] || !m->row_of[DIFF_B])
		return -ENOMEM;
	while (i < a->n || j < b->n) {
		int order = i == a->n	? 1
			    : j == b->n ? -1
					: strcmp(rank_text(a, i), rank_text(b, j));
		struct diff_row row = {.name = order <= 0 ? rank_text(a, i) : rank_text(b, j)};

		if (order <= 0) {
			row.location[DIFF_A] = a->first[i];
			m->row_of[DIFF_A][i++] = (uint32_t)d->rows.n;
		}
		if (order >= 0) {
			row.location[DIFF_B] = b->first[j];
			m->row_of[DIFF_B][j++] = (uint32_t)d->rows.n;
		}
		if (vec_push(&d->rows, row))
			return -ENOMEM;
	}
	return 0;
}

static void fill(struct maker *m, struct diff_cost *c, const struct noise_row *row)
{
	for (int side = 0; side < DIFF_SIDES; side++) {
		double all = m->noise.sum[side];

		c->share[side] = all > 0 ? row->sum[side] / all : 0;
		c->value[side] = m->d->by_share ? c->share[side] : row->sum[side] / m->d->per[side];
	}
}

/*
 * Returns the average value of one sample. enough() divides a row's value by it, to know how many
 * samples the row has. In a profile without times all samples of a stack are one entry, so the
 * number of samples is taken from the profile's value .count_at.
 */
static double sample_value(const struct maker *m, int side)
{
	bool counted = !m->d->timed && m->counted[side] > 0;
	double n = counted ? m->counted[side] : (double)m->samples[side];

	return n > 0 ? m->noise.sum[side] / n : 0;
}

/*
 * Returns the average value of one sample. If the profile has the value .count_at, that value tells
 * how many samples there are; otherwise sample_value() does. Even in a profile with times, samples
 * of a stack within 10 ms are one entry, so counting entries isn't enough.
 */
static double single_sample(const struct maker *m, int side)
{
	return m->counted[side] > 0 ? m->noise.sum[side] / m->counted[side] : sample_value(m, side);
}

/*
 * Returns the average value of one independent sample of a function. Waits differ in length, and a
 * function with one long wait has one sample, however long the wait was.
 */
static double one_sample(const struct maker *m, const struct noise_row *row, int side)
{
	return m->d->waits ? row->one[side] : sample_value(m, side);
}

static bool enough(const struct maker *m, const struct noise_row *row)
{
	double a = one_sample(m, row, DIFF_A), b = one_sample(m, row, DIFF_B);

	return (a > 0 ? row->sum[DIFF_A] / a : 0) + (b > 0 ? row->sum[DIFF_B] / b : 0) >=
	       MIN_SAMPLES;
}

/*
 * Tells whether the cost changed in the same direction as the share, and by more than a change of
 * the machine's speed explains.
 */
static bool is_of_the_cost(const struct diff_cost *c)
{
	double mean = (c->value[DIFF_A] + c->value[DIFF_B]) / 2;

	return diff_change(c) * diff_share_change(c) > 0 &&
	       fabs(diff_change(c)) > 2 * NOISE_SPEED * mean;
}

static int sign(double x)
{
	return (x > 0) - (x < 0);
}

/*
 * Returns 1 if the function surely became more expensive compared with the other functions, -1 if
 * it became cheaper, 0 if neither is sure. On a slower machine all functions become more expensive;
 * that is no change of a function.
 */
static int apart(const struct maker *m, const struct noise_row *row, const struct diff_cost *c)
{
	int way = m->d->work_known ? noise_apart(&m->noise, row, m->speed) : 0;
	bool more = (c->value_changed && sign(diff_change(c)) == way) ||
		    (c->share_changed && sign(diff_share_change(c)) == way);

	return more ? way : 0;
}

/*
 * Tells whether the function changed. If it is known how much work both programs did (.work_known),
 * the function's cost must have changed by more than noise and in the direction in which the
 * recorded value changed.
 */
static bool is_changed(const struct maker *m, const struct diff_cost *c)
{
	if (!m->d->work_known)
		return c->share_changed;
	return (c->value_changed || (c->share_changed && is_of_the_cost(c))) && c->apart &&
	       c->apart == sign(diff_change(c));
}

/* Returns in how many separate stretches of time the function cost more than its average. */
static int stretches(const struct noise_row *row, int side)
{
	int n = 0;
	bool was = false;

	for (int i = 0; i < NOISE_BLOCKS; i++) {
		bool is = row->in[side][i] * NOISE_BLOCKS > row->sum[side];

		n += is && !was;
		was = is;
	}
	return n;
}

static bool is_doubtful(const struct maker *m, const struct noise_row *row,
			const struct diff_cost *c)
{
	double p = (c->share[DIFF_A] + c->share[DIFF_B]) / 2;
	double v = noise_between_runs(p, m->noise.runs);

	for (int side = 0; side < DIFF_SIDES; side++)
		v += p * (1 - p) * one_sample(m, row, side) / m->noise.sum[side];
	return m->d->timed && !c->value_changed && !c->share_changed &&
	       (!m->d->work_known || is_of_the_cost(c)) &&
	       MAX(stretches(row, 0), stretches(row, 1)) <= FEW &&
	       fabs(diff_share_change(c)) > FAR * sqrt(v);
}

/*
 * Judges the changes of the self and total costs of all functions that have enough samples, in one
 * test.
 */
static int judge(struct maker *m)
{
	struct diff *d = m->d;
	size_t n = d->rows.n;
	_cleanup_free_ struct noise_row *rows = calloc(2 * n + 1, sizeof(*rows));
	_cleanup_free_ size_t *of = calloc(2 * n + 1, sizeof(*of));

	if (!rows || !of)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * n; i++) {
		const struct noise_row *row = i < n ? &m->self[i] : &m->total[i - n];

		if (!enough(m, row))
			continue;
		/*
		 * If the function calls no other function, its self and total costs come from the
		 * same samples. Then only the self cost is judged.
		 */
		if (i >= n && !memcmp(row->in, m->self[i - n].in, sizeof(row->in)))
			continue;
		of[m->noise.n] = i;
		rows[m->noise.n++] = *row;
	}
	m->noise.rows = rows;
	d->checked = m->noise.n;
	if (noise_judge(&m->noise))
		return -ENOMEM;
	for (size_t k = 0; k < m->noise.n; k++) {
		struct diff_cost *c = of[k] < n ? &d->rows.v[of[k]].of[DIFF_SELF]
						: &d->rows.v[of[k] - n].of[DIFF_TOTAL];

		c->share_changed = rows[k].share_changed;
		c->value_changed = d->by_share ? c->share_changed : rows[k].value_changed;
		c->apart = apart(m, &rows[k], c);
		c->changed = is_changed(m, c);
		c->doubtful = is_doubtful(m, &rows[k], c);
	}
	for (size_t i = 0; i < n; i++)
		if (!memcmp(m->self[i].in, m->total[i].in, sizeof(m->self[i].in)))
			d->rows.v[i].of[DIFF_TOTAL] = d->rows.v[i].of[DIFF_SELF];
	return 0;
}

enum row_rank { OWN_COST, TOTAL_OF_OWN_CODE, TOTAL_OF_OTHERS, TOTAL_BELOW, MAY_BE_NOISE };

static enum row_rank rank_of(const struct diff_row *row)
{
	if (row->of[DIFF_SELF].changed)
		return OWN_COST;
	if (!row->of[DIFF_TOTAL].changed)
		return MAY_BE_NOISE;
	return row->below ? TOTAL_BELOW : row->own ? TOTAL_OF_OWN_CODE : TOTAL_OF_OTHERS;
}

static int compare(const void *va, const void *vb, void *arg)
{
	const struct diff *d = arg;
	const struct diff_row *a = va, *b = vb;
	enum row_rank ra = rank_of(a), rb = rank_of(b);
	bool of_total = ra != OWN_COST && ra != MAY_BE_NOISE;
	enum diff_what what = of_total ? DIFF_TOTAL : DIFF_SELF;
	double ca, cb;

	if (ra != rb)
		return (int)ra - (int)rb;
	ca = fabs(diff_effect(d, &a->of[what]));
	cb = fabs(diff_effect(d, &b->of[what]));
	if (ca == cb)
		return strcmp(a->name, b->name);
	return ca > cb ? -1 : 1;
}

/*
 * Tells whether either side contains Python. If not, no function counts as called by Python
 * (.below).
 */
static bool has_python(const struct diff *d)
{
	for (int side = 0; side < DIFF_SIDES; side++)
		for (uint32_t id = 1; id <= profile_n_locations(d->p[side]); id++)
			if (costs_is_python(&d->costs[side], id))
				return true;
	return false;
}

/*
 * Finds out whether a row's function is the user's own code, and whether it is native code that
 * Python calls.
 */
static void describe(const struct diff *d, struct diff_row *row, bool python)
{
	const double *self = row->of[DIFF_SELF].value, *total = row->of[DIFF_TOTAL].value;

	row->below =
		python && self[DIFF_A] + self[DIFF_B] < HARDLY * (total[DIFF_A] + total[DIFF_B]);
	for (int side = 0; side < DIFF_SIDES; side++) {
		uint32_t id = row->location[side];

		if (!id)
			continue;
		row->below &= !costs_is_python(&d->costs[side], id);
		row->own |= costs_is_own(&d->costs[side], id);
	}
}

static void decide_times(struct maker *m)
{
	m->d->timed = true;
	for (int side = 0; side < DIFF_SIDES; side++)
		if (m->samples[side] && m->timed[side] < m->samples[side])
			m->d->timed = false;
	for (int side = 0; side < DIFF_SIDES && !m->d->timed; side++)
		m->noise.poisson[side] = MAX(sample_value(m, side), 1e-300);
}

static int find_speed(struct maker *m)
{
	struct diff *d = m->d;
	struct noise_runs runs = {};

	for (int side = 0; side < DIFF_SIDES; side++) {
		int r = noise_add_runs(d->p[side], d->value[side], &runs);

		if (r)
			return r;
	}
	m->noise.speed_sd = noise_speed_sd(&runs);
	m->speed = noise_speed(&m->noise, m->self, d->rows.n);
	d->speed = exp(m->speed);
	return 0;
}

static int make(struct maker *m)
{
	struct diff *d = m->d;
	bool python = has_python(d);
	int r = join(m);

	if (!r && d->rows.n > MAX_FUNCTIONS)
		return err_set(-E2BIG, "the profiles have %zu functions; krait compares %d at most",
			       d->rows.n, MAX_FUNCTIONS);
	if (!r) {
		m->self = calloc(d->rows.n + 1, sizeof(*m->self));
		m->total = calloc(d->rows.n + 1, sizeof(*m->total));
	}
	if (r || !m->self || !m->total)
		return err_set(-ENOMEM, "out of memory");
	r = diff_take_side(m, DIFF_A);
	r = r ? r : diff_take_side(m, DIFF_B);
	if (r)
		return r;
	for (int side = 0; side < DIFF_SIDES; side++) {
		m->noise.shares_only = d->by_share;
		m->noise.per_time = d->per_time;
		m->noise.per[side] = d->per[side];
		m->noise.runs[side] = d->runs[side];
		d->all[side] = m->noise.sum[side] / d->per[side];
		if (d->gc[side] > 0)
			d->gc[side] /= m->noise.sum[side];
	}
	for (size_t i = 0; i < d->rows.n; i++) {
		fill(m, &d->rows.v[i].of[DIFF_SELF], &m->self[i]);
		fill(m, &d->rows.v[i].of[DIFF_TOTAL], &m->total[i]);
		describe(d, &d->rows.v[i], python);
	}
	decide_times(m);
	for (int side = 0; side < DIFF_SIDES; side++)
		m->noise.sample[side] = single_sample(m, side);
	r = find_speed(m);
	if (r)
		return r;
	d->blocks = NOISE_BLOCKS;
	if (judge(m))
		return err_set(-ENOMEM, "out of memory");
	if (d->rows.n)
		qsort_r(d->rows.v, d->rows.n, sizeof(*d->rows.v), compare, d);
	return diff_find_passing(d);
}

int diff_make(struct diff *d)
{
	struct maker m = {.d = d};
	int r = costs_init(&d->costs[DIFF_A], d->p[DIFF_A], COSTS_BY_NAME);

	r = r ? r : costs_init(&d->costs[DIFF_B], d->p[DIFF_B], COSTS_BY_NAME);
	r = r ? r : make(&m);
	free(m.row_of[DIFF_A]);
	free(m.row_of[DIFF_B]);
	free(m.self);
	free(m.total);
	return r;
}

void diff_fini(struct diff *d)
{
	costs_fini(&d->costs[DIFF_A]);
	costs_fini(&d->costs[DIFF_B]);
	vec_fini(&d->rows);
}
