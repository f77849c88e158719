/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects what each function costs in each block of time. A wait lasts from its sample's time on,
 * so it counts for all blocks of time in which it lies.
 */
#include <errno.h>

#include "base/error.h"
#include "view/compare/diff_internal.h"

/*
 * What is summed up for one stack in one block of time: the cost, and the squares of the costs of
 * single samples.
 */
enum { COST, SQUARES, SUMS };

/* squares are in square microseconds, so that sums of them fit into 64 bits */
#define SQUARE_UNIT 1000.0

/*
 * Returns for how long the sample's thread waited, from the sample's time on; 0: the sample isn't a
 * wait.
 */
static int64_t length_of(const struct maker *m, const struct profile_sample *s)
{
	int64_t ns = m->off < 0 || !m->d->waits ? 0 : s->values[m->off];

	return ns > 0 && s->time_ns >= 0 && ns <= INT64_MAX - s->time_ns ? ns : 0;
}

static int find_end(void *arg, const struct profile_sample *s)
{
	struct maker *m = arg;
	int64_t length = MAX(length_of(m, s), (int64_t)1);

	m->length_ns = MAX(m->length_ns,
			   s->time_ns > INT64_MAX - length ? INT64_MAX : s->time_ns + length);
	if (s->values[m->d->value[m->side]] <= 0) /* no cost: this is a sample of another event */
		return 0;
	m->samples[m->side]++;
	m->timed[m->side] += s->time_ns >= 0;
	if (m->count_at >= 0 && s->values[m->count_at] > 0)
		m->counted[m->side] += (double)s->values[m->count_at];
	return 0;
}

static int64_t block_of(const struct maker *m, int64_t time_ns)
{
	double at = time_ns < 0 ? 0 : (double)time_ns / (double)m->length_ns;

	return MIN((int64_t)(at * NOISE_BLOCKS), (int64_t)NOISE_BLOCKS - 1);
}

/*
 * Returns the square of a sample's value. If the entry is a sum of several samples, returns the sum
 * of their squares.
 */
static int64_t square_of(const struct maker *m, const struct profile_sample *s, int64_t value)
{
	double one = (double)value / SQUARE_UNIT, n = 1;

	if (m->any_count >= 0 && s->values[m->any_count] > 1)
		n = (double)s->values[m->any_count];
	return (int64_t)MIN(one * one / n + 1, 1e18);
}

/* Returns which part, 0 to 1, of the @length ns from @time_ns on lies in block @block. */
static double part_in(const struct maker *m, int64_t time_ns, int64_t length, int64_t block)
{
	double each = (double)m->length_ns / NOISE_BLOCKS, from = (double)time_ns;
	double begin = MAX(from, (double)block * each);
	double end = MIN(from + (double)length, (double)(block + 1) * each);

	return end > begin ? (end - begin) / (double)length : 0;
}

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct maker *m = arg;
	int64_t left = s->values[m->d->value[m->side]], length = length_of(m, s);
	int64_t block = block_of(m, s->time_ns);
	int64_t last = length ? block_of(m, s->time_ns + length - 1) : block;
	int64_t v[SUMS] = {[SQUARES] = left > 0 ? square_of(m, s, left) : 0};
	double all = (double)left;
	int r = 0;

	for (; left > 0 && block <= last && !r; block++) {
		v[COST] = left;
		if (block < last)
			v[COST] = MIN((int64_t)(all * part_in(m, s->time_ns, length, block)), left);
		r = sums_add(&m->sums, &(struct sums_key){.stack = s->stack, .time_ns = block}, v);
		left -= v[COST];
		v[SQUARES] = 0;
	}
	return r;
}

static void add_to(struct noise_row *row, enum diff_side side, const struct sums_entry *e)
{
	double value = (double)e->values[COST];

	row->in[side][e->key.time_ns] += value;
	row->sum[side] += value;
	row->one[side] += (double)e->values[SQUARES] * SQUARE_UNIT * SQUARE_UNIT;
}

static int spread(struct maker *m)
{
	struct costs *c = &m->d->costs[m->side];

	sums_foreach(e, &m->sums)
	{
		double value = (double)e->values[COST];
		const uint32_t *keys, *row_of = m->row_of[m->side];
		size_t n;

		if (costs_is_gc(c, e->key.stack))
			m->d->gc[m->side] += value;
		keys = costs_keys(c, e->key.stack, &n);
		if (!keys)
			return -ENOMEM;
		m->noise.all[m->side][e->key.time_ns] += value;
		m->noise.sum[m->side] += value;
		add_to(&m->self[row_of[c->keys.of[costs_owner(c, e->key.stack)]]], m->side, e);
		for (size_t i = 0; i < n; i++)
			add_to(&m->total[row_of[keys[i]]], m->side, e);
	}
	return 0;
}

/*
 * Sets .one of each row (a function). Before, .one is the sum of its samples' squared values;
 * afterwards, it is the value of one typical sample: if all samples of the row had that value, the
 * row's sum would have the same variance. If all samples really have one value, .one becomes 0
 * (struct noise_row).
 */
static void find_one(struct maker *m, struct noise_row *rows)
{
	for (size_t i = 0; i < m->d->rows.n; i++) {
		struct noise_row *row = &rows[i];

		row->one[m->side] = m->d->waits && row->sum[m->side] > 0
					    ? row->one[m->side] / row->sum[m->side]
					    : 0;
	}
}

/* Returns the index of the value with this type and unit; -1: the profile has none. */
static int find_value(struct profile *p, const char *type, const char *unit)
{
	const struct profile_value_type wanted = {type, unit};
	const struct profile_meta *meta = profile_meta(p);

	for (unsigned i = 0; i < meta->n_values; i++)
		if (profile_same_type(&meta->values[i], &wanted))
			return (int)i;
	return -1;
}

int diff_take_side(struct maker *m, enum diff_side side)
{
	struct profile *p = m->d->p[side];
	int r;

	m->side = side;
	m->any_count = find_value(p, "samples", "count");
	m->count_at =
		profile_samples_are_of(profile_meta(p), m->d->value[side]) ? m->any_count : -1;
	m->off = find_value(p, "off_cpu", "nanoseconds");
	m->length_ns = MAX(profile_meta(p)->duration_ns, (int64_t)1);
	r = profile_each(p, find_end, m);
	if (r)
		return r;
	sums_init(&m->sums, SUMS);
	r = profile_each(p, take_sample, m);
	if (!r && spread(m))
		r = err_set(-ENOMEM, "out of memory");
	sums_fini(&m->sums);
	find_one(m, m->self);
	find_one(m, m->total);
	return r;
}
