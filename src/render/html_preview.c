/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The widest boxes of a large call tree: what a reader sees at first, drawn while the browser still
 * reads the rest. See html.h.
 */
#include "render/html.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "render/varint.h"

static int largest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

/* Without what is below 0: no box may be wider than its parent. */
static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, MAX(value, 0), sum))
		*sum = INT64_MAX;
}

static int sum_up(struct html *h)
{
	const struct html_tree *t = &h->tree;

	h->total = calloc(t->boxes.n, sizeof(*h->total));
	if (!h->total)
		return -ENOMEM;
	for (size_t i = t->boxes.n; i--;) {
		const struct html_box *box = &t->boxes.v[i];

		for (uint32_t k = box->first; k < box->first + box->n; k++)
			add(&h->total[i], t->self[(size_t)k * t->n_values + h->value]);
		if (i)
			add(&h->total[box->parent], h->total[i]);
	}
	return 0;
}

int html_preview(struct html *h)
{
	size_t n = h->tree.boxes.n;
	_cleanup_free_ int64_t *sorted = NULL;
	int r = 0;

	if (n <= HTML_PREVIEW || h->opt->diff) /* which shows nothing without the samples */
		return 0;
	r = sum_up(h);
	sorted = calloc(n, sizeof(*sorted));
	if (r || !sorted)
		return err_set(-ENOMEM, "out of memory");
	memcpy(sorted, h->total, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), largest_first);
	h->threshold = MAX(sorted[HTML_PREVIEW] + 1, 1);
	while (h->n_preview < n && sorted[h->n_preview] >= h->threshold)
		h->n_preview++;
	return 0;
}

void html_put_preview(const struct html *h, FILE *out)
{
	uint32_t depth = 0;

	for (size_t i = 1; h->threshold && i < h->tree.boxes.n; i++) {
		const struct html_box *box = &h->tree.boxes.v[i];

		if (h->total[i] < h->threshold)
			continue;
		varint_put(out, depth + 1 - box->depth);
		varint_put(out, box->key);
		varint_put(out, (uint64_t)h->total[i]);
		depth = box->depth;
	}
}
