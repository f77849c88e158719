/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the call tree and the samples as the page reads them; html.h describes the format. */
#include "format/common/options.h"
#include "picture/html/html.h"

#include "format/common/varint.h"
#include "profile/sample_order.h"

/*
 * A value of the same type as the period is usually the number of samples times the period, because
 * a sample stands for one period.
 */
int64_t html_usual(const struct html *h, unsigned v)
{
	const struct profile_meta *meta = profile_meta(h->p);

	return v && meta->period_type.type && streq(meta->values[0].unit, "count") &&
			       streq(meta->values[v].type, meta->period_type.type)
		       ? meta->period
		       : 0;
}

/* Returns the first value, or 0 if it is below 0, because values below 0 aren't drawn. */
static uint64_t first_of(const int64_t *values)
{
	return (uint64_t)MAX(values[0], (int64_t)0);
}

/*
 * Returns how much value @v differs from its usual value. The numbers of a hostile file may be too
 * large for this subtraction; then the result wraps around, and the page shows a wrong number.
 */
static int64_t difference(const struct html *h, const int64_t *values, unsigned v)
{
	return (int64_t)((uint64_t)values[v] - first_of(values) * (uint64_t)html_usual(h, v));
}

static void put_values(const struct html *h, const int64_t *values, FILE *out)
{
	unsigned n = profile_meta(h->p)->n_values;
	bool unusual = false;

	for (unsigned v = 1; v < n; v++)
		unusual |= difference(h, values, v) != 0;
	varint_put(out, first_of(values) << 1 | unusual);
	for (unsigned v = 1; unusual && v < n; v++)
		varint_put_signed(out, difference(h, values, v));
}

static void put_node(const struct html *h, const struct html_box *box, const struct html_node *n,
		     FILE *out)
{
	const struct html_tree *t = &h->tree;
	const struct html_box *parent = &t->boxes.v[box->parent];
	const uint32_t *first = &t->first_spot.v[box->key];

	if (parent->n > 1)
		varint_put(out, n->parent - parent->first);
	if (first[1] - first[0] > 1)
		varint_put(out, n->spot - first[0]);
	put_values(h, t->self + (n - t->nodes.v) * t->n_values, out);
}

void html_put_tree(const struct html *h, FILE *out)
{
	const struct html_tree *t = &h->tree;
	uint32_t depth = 0;

	for (size_t i = 1; i < t->boxes.n; i++) {
		const struct html_box *box = &t->boxes.v[i];

		varint_put(out, (uint64_t)(depth + 1 - box->depth) << 1 | (box->n > 1));
		varint_put(out, box->key);
		if (box->n > 1)
			varint_put(out, box->n);
		for (uint32_t k = 0; k < box->n; k++)
			put_node(h, box, &t->nodes.v[box->first + k], out);
		depth = box->depth;
	}
}

struct put_sample_arg {
	const struct html *h;
	FILE *out;
	int64_t node, labels, time, unit;
};

int64_t html_time_unit(const struct html *h)
{
	return h->opt->times == PROFILE_TIMES_EXACT ? 1 : 10 * (int64_t)NSEC_PER_MSEC;
}

static int put_sample(void *arg, const struct profile_sample *s)
{
	struct put_sample_arg *a = arg;
	int64_t node = a->h->tree.node_of_stack[s->stack];
	int64_t time = s->time_ns < 0 ? 0 : s->time_ns / a->unit + 1;

	varint_put_signed(a->out, node - a->node);
	varint_put_signed(a->out, (int64_t)s->labels - a->labels);
	varint_put_signed(a->out, time - a->time);
	put_values(a->h, s->values, a->out);
	a->node = node;
	a->labels = s->labels;
	a->time = time;
	return 0;
}

int html_put_samples(const struct html *h, FILE *out)
{
	struct put_sample_arg arg = {.h = h, .out = out, .unit = html_time_unit(h)};

	return profile_each_sum(h->p, h->opt->times, put_sample, &arg);
}
