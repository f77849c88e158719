/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the preview: the widest boxes of the first picture, which the page draws while the browser
 * still reads the rest. See html.h.
 */
#include "format/common/options.h"
#include "picture/html/html.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/varint.h"
#include "picture/html/html_diff.h"

struct preview {
	struct html *h;
	const struct profile_sum *sums;
	/* samples in the order of their groups: group << 32 | index in .sums */
	VEC(uint64_t) order;
	uint32_t *box_of; /* by node: index of its box */
	/* by box: the value that .stamp had for the last group that has the box */
	uint32_t *seen;
	/*
	 * .h->sides values for each box. Those of box i in the current group begin at i *
	 * .h->sides.
	 */
	int64_t *total;
	uint32_t stamp;	    /* number of the current group */
	VEC(double) widths; /* widths of the boxes of all groups */
	double least;	    /* boxes of the preview are wider than this */
};

static int largest_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Adds @value to *sum. A value below 0 isn't added, so that no box is wider than its parent. */
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

/* Returns a box's width as the page draws it; no box is wider than its parent. */
static double width(const struct html *h, const int64_t *total)
{
	const struct html_diff *d = h->opt->diff;

	return d ? (double)total[0] / d->counts[0] + (double)total[1] / d->counts[1]
		 : (double)total[0];
}

/*
 * Tells whether the page gets a preview because of its size. A comparison with many samples gets a
 * preview too, because the page has no other picture before its samples are read.
 */
static bool is_large(const struct html *h)
{
	return h->tree.boxes.n > HTML_PREVIEW ||
	       (h->opt->diff && profile_n_samples(h->p) > HTML_MANY_SAMPLES);
}

/*
 * Tells whether the boxes of the first picture are grouped. The rule is that of grouping() in
 * ui/view/view.js. A comparison isn't grouped by process, because its two programs didn't run
 * together.
 */
static bool is_grouped(const struct html *h)
{
	return h->roots.depth && !h->opt->diff && (h->opt->by || !h->roots.process);
}

static uint32_t group_of(const struct html *h, uint32_t labels)
{
	return h->grouped ? roots_rank(&h->roots, labels, h->roots.depth - 1) : 0;
}

static int prepare(struct preview *g, size_t n_sums)
{
	const struct html_tree *t = &g->h->tree;

	g->box_of = calloc(t->nodes.n, sizeof(*g->box_of));
	g->seen = calloc(t->boxes.n, sizeof(*g->seen));
	g->total = calloc(t->boxes.n * g->h->sides, sizeof(*g->total));
	if (!g->box_of || !g->seen || !g->total || vec_reserve(&g->order, n_sums))
		return -ENOMEM;
	for (size_t i = 0; i < t->boxes.n; i++)
		for (uint32_t k = 0; k < t->boxes.v[i].n; k++)
			g->box_of[t->boxes.v[i].first + k] = i;
	for (size_t i = 0; i < n_sums; i++)
		g->order.v[i] = (uint64_t)group_of(g->h, g->sums[i].labels) << 32 | i;
	g->order.n = n_sums;
	qsort(g->order.v, n_sums, sizeof(*g->order.v), ascending);
	return 0;
}

/* Sums up, for each box, the samples of one group, which are .order[from..to). */
static void sum_up(struct preview *g, size_t from, size_t to)
{
	const struct html_tree *t = &g->h->tree;
	unsigned sides = g->h->sides;

	g->stamp++;
	for (size_t k = from; k < to; k++) {
		const struct profile_sum *sum = &g->sums[(uint32_t)g->order.v[k]];
		uint32_t at = g->box_of[t->node_of_stack[sum->stack]];

		for (uint32_t i = at; g->seen[i] != g->stamp; i = t->boxes.v[i].parent) {
			g->seen[i] = g->stamp;
			memset(&g->total[(size_t)i * sides], 0, sides * sizeof(*g->total));
		}
		add(&g->total[(size_t)at * sides + side_of(g->h, sum->labels)],
		    sum->values[g->h->value]);
	}
	for (size_t i = t->boxes.n; --i;)
		for (unsigned side = 0; g->seen[i] == g->stamp && side < sides; side++)
			add(&g->total[(size_t)t->boxes.v[i].parent * sides + side],
			    g->total[i * sides + side]);
}

typedef int (*take_fn)(struct preview *g, uint32_t key, uint32_t depth, const int64_t *total);

static int take_group(struct preview *g, uint32_t key, take_fn take)
{
	const struct html *h = g->h;
	int r = take(g, key, h->grouped, g->total);

	for (size_t i = 1; !r && i < h->tree.boxes.n; i++) {
		const struct html_box *box = &h->tree.boxes.v[i];

		if (g->seen[i] == g->stamp)
			r = take(g, box->key, box->depth + h->grouped, &g->total[i * h->sides]);
	}
	return r;
}

/*
 * Calls @take for the boxes of each group, in preorder, and for a box that is the group itself. If
 * there are no groups, the root takes the place of the group.
 */
static int each(struct preview *g, take_fn take)
{
	size_t n = g->order.n;
	int r = 0;

	for (size_t from = 0, to; !r && from < n; from = to) {
		const struct profile_sum *sum = &g->sums[(uint32_t)g->order.v[from]];

		for (to = from + 1; to < n && g->order.v[to] >> 32 == g->order.v[from] >> 32;)
			to++;
		/* if there is only one group, only the first call of each() sums it up */
		if (from || to < n || !g->stamp)
			sum_up(g, from, to);
		r = take_group(g, g->h->functions.keys.n + sum->labels, take);
	}
	return r;
}

static int take_width(struct preview *g, uint32_t key, uint32_t depth, const int64_t *total)
{
	return vec_push(&g->widths, width(g->h, total));
}

static int take_wide(struct preview *g, uint32_t key, uint32_t depth, const int64_t *total)
{
	struct html_wide box = {.key = key, .depth = depth, .total = {total[0]}};

	if (g->h->sides > 1)
		box.total[1] = total[1];
	for (unsigned side = 0; depth == g->h->grouped && side < g->h->sides; side++)
		add(&g->h->preview.v[0].total[side], total[side]);
	return !depth || width(g->h, total) <= g->least ? 0 : vec_push(&g->h->preview, box);
}

static int make(struct preview *g, size_t n_sums)
{
	int r = prepare(g, n_sums);

	r = r ? r : each(g, take_width);
	r = r ? r : vec_push(&g->h->preview, (struct html_wide){});
	if (r)
		return r;
	if (g->widths.n > HTML_PREVIEW) {
		qsort(g->widths.v, g->widths.n, sizeof(*g->widths.v), largest_first);
		g->least = g->widths.v[HTML_PREVIEW];
	}
	return each(g, take_wide);
}

int html_preview(struct html *h, const struct profile_sum *sums, size_t n_sums)
{
	struct preview g = {.h = h, .sums = sums};
	int r = 0;

	h->sides = h->opt->diff ? 2 : 1;
	h->large = is_large(h);
	h->grouped = is_grouped(h);
	if (h->large || h->grouped)
		r = make(&g, n_sums);
	vec_fini(&g.order);
	vec_fini(&g.widths);
	free(g.box_of);
	free(g.seen);
	free(g.total);
	return r ? err_set(-ENOMEM, "out of memory") : 0;
}

static void put_sums(const struct html *h, const struct html_wide *box, FILE *out)
{
	for (unsigned side = 0; side < h->sides; side++)
		varint_put(out, (uint64_t)box->total[side]);
}

void html_put_preview(const struct html *h, FILE *out)
{
	uint32_t depth = 0;

	vec_foreach(box, &h->preview) {
		if (box->depth) {
			varint_put(out, depth + 1 - box->depth);
			varint_put(out, box->key);
		}
		put_sums(h, box, out);
		depth = box->depth;
	}
}
