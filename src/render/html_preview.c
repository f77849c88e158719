/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The widest boxes of a call tree: what a reader sees at first, drawn while the browser still reads
 * the rest. See html.h.
 */
#include "render/html.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "render/html_diff.h"
#include "render/varint.h"

static int largest_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

/* Without what is below 0: no box may be wider than its parent. */
static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, MAX(value, 0), sum))
		*sum = INT64_MAX;
}

static unsigned side_of(const struct html *h, uint32_t labels)
{
	return h->sides > 1 &&
	       streq(profile_label_text(h->p, labels, HTML_DIFF_LABEL), HTML_DIFF_AFTER);
}

/* What ends in each node, by side. */
static int64_t *sum_nodes(const struct html *h, const struct profile_sum *sums, size_t n)
{
	const struct html_tree *t = &h->tree;
	int64_t *own = calloc(t->nodes.n * h->sides, sizeof(*own));

	for (size_t i = 0; own && i < n; i++) {
		size_t at = (size_t)t->node_of_stack[sums[i].stack] * h->sides +
			    side_of(h, sums[i].labels);

		if (__builtin_add_overflow(own[at], sums[i].values[h->value], &own[at]))
			own[at] = INT64_MAX;
	}
	return own;
}

static void sum_up(struct html *h, const int64_t *own)
{
	for (size_t i = h->tree.boxes.n * h->sides; i--;) {
		const struct html_box *box = &h->tree.boxes.v[i / h->sides];
		size_t side = i % h->sides;

		for (size_t k = box->first; k < (size_t)box->first + box->n; k++)
			add(&h->total[i], own[k * h->sides + side]);
		if (i >= h->sides)
			add(&h->total[box->parent * h->sides + side], h->total[i]);
	}
}

/* As the page draws it; no box is wider than its parent. */
static double width(const struct html *h, size_t i)
{
	const int64_t *total = &h->total[i * h->sides];
	const struct html_diff *d = h->opt->diff;

	return d ? (double)total[0] / d->counts[0] + (double)total[1] / d->counts[1]
		 : (double)total[0];
}

/* Of two recordings nothing is shown without the samples but a preview. */
static bool is_large(const struct html *h)
{
	return h->tree.boxes.n > HTML_PREVIEW ||
	       (h->opt->diff && profile_n_samples(h->p) > HTML_MANY_SAMPLES);
}

int html_preview(struct html *h, const struct profile_sum *sums, size_t n_sums)
{
	size_t n = h->tree.boxes.n;
	_cleanup_free_ int64_t *own = NULL;
	_cleanup_free_ double *sorted = NULL;

	h->sides = h->opt->diff ? 2 : 1;
	if (!is_large(h))
		return 0;
	own = sum_nodes(h, sums, n_sums);
	h->total = calloc(n * h->sides, sizeof(*h->total));
	sorted = calloc(n, sizeof(*sorted));
	if (!own || !h->total || !sorted)
		return err_set(-ENOMEM, "out of memory");
	sum_up(h, own);
	for (size_t i = 0; i < n; i++)
		sorted[i] = width(h, i);
	qsort(sorted, n, sizeof(*sorted), largest_first);
	h->least = n > HTML_PREVIEW ? sorted[HTML_PREVIEW] : 0;
	for (h->n_preview = 1; h->n_preview < n && sorted[h->n_preview] > h->least; h->n_preview++)
		;
	return 0;
}

static void put_sums(const struct html *h, size_t i, FILE *out)
{
	for (unsigned side = 0; side < h->sides; side++)
		varint_put(out, (uint64_t)h->total[i * h->sides + side]);
}

void html_put_preview(const struct html *h, FILE *out)
{
	uint32_t depth = 0;

	if (!h->n_preview)
		return;
	put_sums(h, 0, out);
	for (size_t i = 1; i < h->tree.boxes.n; i++) {
		const struct html_box *box = &h->tree.boxes.v[i];

		if (width(h, i) <= h->least)
			continue;
		varint_put(out, depth + 1 - box->depth);
		varint_put(out, box->key);
		put_sums(h, i, out);
		depth = box->depth;
	}
}
