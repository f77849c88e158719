/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a batch as columns (batch.h); decode.c reads them back. */
#include "base/cleanup.h"
#include "base/nomem.h"
#include "store/columns.h"
#include "store/sort.h"

struct encoder {
	struct batch *b;
	struct str columns[COLUMNS];
};

static void encoder_fini(struct encoder *e)
{
	for (size_t i = 0; i < COLUMNS; i++)
		str_fini(&e->columns[i]);
}

/* Writes one byte: the lowest 7 bits of @v, and a bit that says whether more bytes follow. */
static inline void put_byte(struct str *column, uint64_t v)
{
	char byte = (char)(v < 0x80 ? v : v | 0x80);

	if (column->n + 1 >= column->cap) {
		str_add_c(column, byte);
		return;
	}
	column->s[column->n++] = byte;
	column->s[column->n] = '\0';
}

static void put(struct str *column, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_byte(column, v);
	put_byte(column, v);
}

/* Writes a number with its bytes in up to three columns; get_spread() in decode.c reads it. */
static void put_spread(struct encoder *e, enum column first, enum column second, int64_t number)
{
	uint64_t v = column_fold(number);

	put_byte(&e->columns[first], v);
	if (v < 0x80)
		return;
	v >>= 7;
	put_byte(&e->columns[second], v);
	if (v >= 0x80)
		put(&e->columns[second + 1], v >> 7);
}

static void put_signed(struct str *column, int64_t v)
{
	put(column, column_fold(v));
}

static void put_member(struct str *column, const struct column_member *m, const uint8_t *rows,
		       size_t row, size_t n)
{
	uint64_t before = 0;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *at = rows + i * row + m->offset;
		uint64_t v;
		uint32_t small;

		memcpy(&small, at, sizeof(small));
		v = small;
		if (m->size == sizeof(v))
			memcpy(&v, at, sizeof(v));
		put_signed(column, (int64_t)(v - before));
		before = v;
	}
}

static void put_table(struct encoder *e, const struct column_table *t, const void *rows, size_t n)
{
	for (size_t i = 0; i < t->n; i++)
		put_member(&e->columns[t->members[i].column], &t->members[i], rows, t->row, n);
}

static void put_strings(struct encoder *e)
{
	str_add_n(&e->columns[COLUMN_STRING_BYTES], e->b->text.s, e->b->text.n);
	vec_foreach(s, &e->b->strings)
		put(&e->columns[COLUMN_STRING_LENGTH], s->n);
}

static void put_sets(struct encoder *e)
{
	uint32_t before = 0;

	vec_foreach(set, &e->b->sets) {
		put_signed(&e->columns[COLUMN_SET_NUMBER], (int64_t)set->number - before);
		put(&e->columns[COLUMN_SET_SIZE], set->n);
		before = set->number;
		put_table(e, &column_labels, e->b->labels.v + set->at, set->n);
	}
}

static void put_steps(struct encoder *e)
{
	const struct batch_node *nodes = e->b->nodes.v;

	for (uint32_t i = 0; i < e->b->nodes.n; i++) {
		struct column_step at = column_step(nodes, i, UINT32_MAX, nodes[i].parent);

		put(&e->columns[COLUMN_NODE_UP], at.up);
		put_signed(&e->columns[COLUMN_NODE_STEP], (int64_t)nodes[i].location - at.location);
	}
}

static int by_time(const void *a, const void *b, void *samples)
{
	const struct batch_sample *v = samples;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (v[i].ms != v[k].ms)
		return v[i].ms < v[k].ms ? -1 : 1;
	return (i > k) - (i < k);
}

/*
 * Sorts @order, which is sorted by label set already, by time within each label set. Samples of one
 * label set are often in that order already.
 */
static void order_by_time(const struct batch *b, uint32_t *order)
{
	const struct batch_sample *v = b->samples.v;

	for (size_t i = 0, end; i < b->samples.n; i = end) {
		bool sorted = true;

		for (end = i + 1; end < b->samples.n && v[order[end]].labels == v[order[i]].labels;
		     end++)
			sorted &= v[order[end - 1]].ms <= v[order[end]].ms;
		if (!sorted)
			qsort_r(order + i, end - i, sizeof(*order), by_time, b->samples.v);
	}
}

/*
 * Sets *ret to the indices (heap) of the samples, sorted by label set and time. 0 or -ENOMEM +
 * message.
 */
static int order_samples(const struct batch *b, uint32_t **ret)
{
	int r = sort_rows(b->samples.n ? &b->samples.v->labels : NULL, sizeof(*b->samples.v),
			  b->samples.n, ret);

	if (!r)
		order_by_time(b, *ret);
	return r;
}

static void put_values(struct encoder *e, const int64_t *values)
{
	uint64_t has = 0;

	for (uint32_t i = 0; i < e->b->meta.n_values; i++) {
		if (!values[i])
			continue;
		has |= 1ull << i;
		put_signed(&e->columns[COLUMN_VALUE + i], values[i]);
	}
	put(&e->columns[COLUMN_SAMPLE_HAS], has);
}

static void put_run(struct encoder *e, uint32_t labels, size_t n)
{
	put(&e->columns[COLUMN_RUN_LABELS], labels);
	put(&e->columns[COLUMN_RUN_SIZE], n);
}

/*
 * Writes the samples in the order @order. Returns the number of runs; a run is a series of samples
 * with one label set.
 */
static size_t put_samples(struct encoder *e, const uint32_t *order)
{
	const struct batch *b = e->b;
	const struct batch_sample *before = NULL;
	size_t runs = 0, run = 0;
	int64_t ms = 0;
	uint32_t node = 0;

	for (size_t i = 0; i < b->samples.n; i++) {
		const struct batch_sample *s = &b->samples.v[order[i]];

		if (before && before->labels != s->labels) {
			put_run(e, before->labels, run);
			runs++;
			run = 0;
		}
		put_spread(e, COLUMN_SAMPLE_TIME, COLUMN_SAMPLE_TIME_2, s->ms - ms);
		put_spread(e, COLUMN_SAMPLE_NODE, COLUMN_SAMPLE_NODE_2,
			   (int64_t)s->node - (b->block ? 0 : node));
		put_values(e, b->values.v + (size_t)order[i] * b->meta.n_values);
		ms = s->ms;
		node = s->node;
		before = s;
		run++;
	}
	if (before)
		put_run(e, before->labels, run);
	return runs + (before != NULL);
}

static void put_meta(struct encoder *e)
{
	const struct batch_meta *m = &e->b->meta;
	struct str *c = &e->columns[COLUMN_META];

	for (uint32_t i = 0; i < m->n_values; i++) {
		put(c, m->values[i].type);
		put(c, m->values[i].unit);
	}
	put(c, m->default_value);
	put(c, m->period_type.type);
	put(c, m->period_type.unit);
	put_signed(c, m->period);
	put(c, m->comments.n);
	vec_foreach(comment, &m->comments)
		put(c, *comment);
}

static void put_head(struct encoder *e, size_t runs)
{
	const struct batch *b = e->b;
	const uint64_t counts[] = {b->meta.n_values, b->strings.n,   b->mappings.n,
				   b->functions.n,   b->locations.n, b->sets.n,
				   b->nodes.n,	     runs,	     b->samples.n};
	struct str *c = &e->columns[COLUMN_HEAD];

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		put(c, counts[i]);
	for (size_t i = 0; i < BATCH_TABLES; i++)
		put(c, b->base[i]);
	put(c, BATCH_FIGURES);
	for (size_t i = 0; i < BATCH_FIGURES; i++)
		put_signed(c, b->figures[i]);
}

static int join(struct encoder *e, struct str *ret)
{
	bool failed = false;
	size_t used = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		used = e->columns[i].n ? i + 1 : used;
	put(ret, used);
	for (size_t i = 0; i < COLUMNS; i++) {
		if (i < used)
			put(ret, e->columns[i].n);
		failed |= e->columns[i].failed;
	}
	for (size_t i = 0; i < COLUMNS; i++)
		str_add_n(ret, e->columns[i].s, e->columns[i].n);
	return failed || ret->failed ? err_nomem() : 0;
}

int batch_encode(struct batch *b, struct str *ret)
{
	_cleanup_(encoder_fini) struct encoder e = {.b = b};
	_cleanup_free_ uint32_t *order = NULL;
	int r = order_samples(b, &order);

	if (r)
		return r;
	put_strings(&e);
	put_table(&e, &column_mappings, b->mappings.v, b->mappings.n);
	put_table(&e, &column_functions, b->functions.v, b->functions.n);
	put_table(&e, &column_locations, b->locations.v, b->locations.n);
	put_sets(&e);
	if (b->block)
		put_steps(&e);
	else
		put_table(&e, &column_nodes, b->nodes.v, b->nodes.n);
	put_head(&e, put_samples(&e, order));
	/* a segment's first frame and each block say what the values mean; later frames don't */
	if (b->block || !b->base[BATCH_STRINGS])
		put_meta(&e);
	return join(&e, ret);
}
