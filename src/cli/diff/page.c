/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes two profiles as one page. Functions with the same dotted name are one function, even if
 * file or line changed, as in the table. So a stack that both sides have is drawn once.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/diff/diff.h"
#include "format/common/options.h"
#include "format/format.h"
#include "picture/html/html_diff.h"
#include "profile/remake/copy.h"
#include "view/shape/tree.h"

struct page {
	const struct diff_facts *f;
	struct profile *to;
	struct profile_copy copy[DIFF_SIDES];
	/*
	 * rows[side][key of a function in the side's costs] -> the function's row in the
	 * comparison; NULL: it has none
	 */
	const struct diff_row **rows[DIFF_SIDES];
	uint32_t *stacks[DIFF_SIDES];
	/* index of a value of the page -> index of that value on each side */
	unsigned values[PROFILE_MAX_VALUES][DIFF_SIDES];

	enum diff_side side; /* the side whose samples are being copied */
	struct profile_label label;
};

static int no_memory(void)
{
	return err_set(-ENOMEM, "out of memory");
}

static bool is_samples(const struct profile_value_type *v)
{
	return streq(v->type, "samples") && streq(v->unit, "count");
}

/*
 * Tells whether the two recordings have samples of different events (docs/decisions/0021).
 * Comparing their numbers of samples would say nothing, so the page leaves the value "samples" out.
 */
static bool drops_samples(const struct page *g)
{
	struct profile *const *p = g->f->diff.p;

	return diff_samples_differ(profile_meta(p[DIFF_A]), profile_meta(p[DIFF_B]));
}

/*
 * Returns the index of that value of side B with which value @i of side A is compared; -1: side B
 * has no such value.
 */
static int value_of_b(const struct page *g, unsigned i)
{
	struct profile *const *p = g->f->diff.p;

	if (i == g->f->diff.value[DIFF_A])
		return (int)g->f->diff.value[DIFF_B];
	return tree_value(p[DIFF_B], profile_meta(p[DIFF_A])->values[i].type);
}

/*
 * Copies to the page the value types that both sides have, and the comments. Some of these say how
 * paths are shortened.
 */
static int take_meta(struct page *g)
{
	bool drops = drops_samples(g);
	struct profile *const *p = g->f->diff.p;
	const struct profile_meta *a = profile_meta(p[DIFF_A]), *b = profile_meta(p[DIFF_B]);
	struct profile_meta *m = profile_meta(g->to);
	int r;

	for (unsigned i = 0; i < a->n_values; i++) {
		int at = value_of_b(g, i);

		if (at < 0 || (drops && is_samples(&a->values[i])))
			continue;
		if (i == g->f->diff.value[DIFF_A])
			m->default_value = m->n_values;
		g->values[m->n_values][DIFF_A] = i;
		g->values[m->n_values][DIFF_B] = (unsigned)at;
		m->values[m->n_values++] = profile_copy_value_type(g->to, &a->values[i]);
	}
	m->period_type = drops ? m->values[0] : profile_copy_value_type(g->to, &a->period_type);
	m->period = drops ? 1 : a->period;
	m->duration_ns = MAX(a->duration_ns, b->duration_ns);
	r = profile_copy_comments(p[DIFF_B], g->to);
	return r ? r : profile_copy_comments(p[DIFF_A], g->to);
}

static int index_rows(struct page *g, enum diff_side side)
{
	const struct rank *keys = &g->f->diff.costs[side].keys;

	g->rows[side] = calloc(keys->n + 1, sizeof(*g->rows[side]));
	g->stacks[side] =
		calloc(profile_n_stacks(g->f->diff.p[side]) + 1, sizeof(*g->stacks[side]));
	if (!g->rows[side] || !g->stacks[side])
		return no_memory();
	vec_foreach(row, &g->f->diff.rows)
		if (row->location[side])
			g->rows[side][keys->of[row->location[side]]] = row;
	return profile_copy_init(&g->copy[side], g->f->diff.p[side], g->to);
}

static const struct diff_row *row_of(const struct page *g, enum diff_side side, uint32_t id)
{
	return g->rows[side][g->f->diff.costs[side].keys.of[id]];
}

/*
 * Returns the page's location for location @id of @side. It has that location's line. Its function
 * is side B's or, if side B lacks the function, @side's.
 */
static uint32_t take_location(struct page *g, enum diff_side side, uint32_t id)
{
	const struct diff_row *row = row_of(g, side, id);
	enum diff_side of = row && row->location[DIFF_B] ? DIFF_B : row ? DIFF_A : side;
	struct profile *from = g->f->diff.p[of];
	const struct profile_location *own = profile_get_location(g->f->diff.p[side], id);
	struct profile_location l = *profile_get_location(from, row ? row->location[of] : id);

	l.mapping = profile_copy_mapping(&g->copy[of], l.mapping);
	l.function = profile_copy_function(&g->copy[of], l.function);
	l.outer = 0;
	if (l.function)
		l.address = 0;
	l.line = own->line;
	l.column = own->column;
	l.end_line = l.end_column = 0;
	return profile_location(g->to, &l);
}

static uint32_t location_of(struct page *g, enum diff_side side, uint32_t id)
{
	uint32_t *at = &g->copy[side].locations[id];

	if (!*at)
		*at = take_location(g, side, id);
	return *at;
}

static uint32_t take_stack(struct page *g, uint32_t id)
{
	_cleanup_free_ uint32_t *to = NULL;
	uint32_t *at = &g->stacks[g->side][id];
	const uint32_t *from;
	size_t n;

	if (!id || *at)
		return id ? *at : 0;
	from = profile_get_stack(g->f->diff.p[g->side], id, &n);
	to = calloc(n + 1, sizeof(*to));
	if (!to)
		return 0;
	for (size_t i = 0; i < n; i++)
		to[i] = location_of(g, g->side, from[i]);
	return *at = profile_stack(g->to, to, n);
}

/*
 * Adds a sample of side g->side to the page. Its time counts from the start of that side's
 * recording.
 */
static int take_sample(void *arg, const struct profile_sample *s)
{
	struct page *g = arg;
	struct profile_sample to = {.time_ns = s->time_ns};

	for (unsigned i = 0; i < profile_meta(g->to)->n_values; i++)
		to.values[i] = s->values[g->values[i][g->side]];
	to.stack = take_stack(g, s->stack);
	to.labels = profile_copy_labels(&g->copy[g->side], s->labels, &g->label, 1);
	if (profile_failed(g->to) || (s->stack && !to.stack))
		return no_memory();
	return profile_add(g->to, &to);
}

static int take_side(struct page *g, enum diff_side side)
{
	g->side = side;
	g->label.key = profile_string(g->to, HTML_DIFF_LABEL);
	g->label.value = profile_string(g->to, side == DIFF_A ? HTML_DIFF_BEFORE : HTML_DIFF_AFTER);
	return profile_each(g->f->diff.p[side], take_sample, g);
}

/*
 * Returns HTML_DIFF_* bits, which say what of the row changed: its costs if it is known how much
 * work was done, else its shares.
 */
static uint8_t flags(const struct diff_facts *f, const struct diff_row *row)
{
	const struct diff_cost *self = &row->of[DIFF_SELF], *total = &row->of[DIFF_TOTAL];
	bool costs = f->diff.work_known || f->diff.by_share;

	return (self->changed && costs ? HTML_DIFF_SELF : 0) |
	       (self->changed && self->share_changed ? HTML_DIFF_SELF_SHARE : 0) |
	       (total->changed && costs ? HTML_DIFF_TOTAL : 0) |
	       (total->changed && total->share_changed ? HTML_DIFF_TOTAL_SHARE : 0);
}

/*
 * Returns the HTML_DIFF_* bits of each location of the page, by its id. The caller frees the array.
 * NULL: out of memory.
 */
static uint8_t *all_flags(const struct page *g)
{
	uint8_t *out = calloc(profile_n_locations(g->to) + 1, 1);

	for (int side = 0; out && side < DIFF_SIDES; side++) {
		const struct profile_copy *c = &g->copy[side];

		for (uint32_t id = 1; id <= profile_n_locations(c->from); id++) {
			const struct diff_row *row = row_of(g, side, id);

			if (row && c->locations[id])
				out[c->locations[id]] = flags(g->f, row);
		}
	}
	return out;
}

/*
 * Returns for each row the file of its function on @side; "" if the function has several files. The
 * caller frees the array. NULL: out of memory.
 */
static const char **row_files(const struct page *g, enum diff_side side)
{
	struct profile *p = g->f->diff.p[side];
	const char **out = calloc(g->f->diff.rows.n + 1, sizeof(*out));

	for (uint32_t id = 1; out && id <= profile_n_locations(p); id++) {
		const struct diff_row *row = row_of(g, side, id);
		uint32_t function = profile_get_location(p, id)->function;
		const char **at = row ? &out[row - g->f->diff.rows.v] : NULL, *file;

		if (!row || !function)
			continue;
		file = profile_get_string(p, profile_get_function(p, function)->file);
		*at = !*at || streq(*at, file) ? file : "";
	}
	return out;
}

/*
 * Returns the array for html_diff.file, of one side of the comparison. The caller frees it. NULL:
 * out of memory.
 */
static const char **all_files(const struct page *g, enum diff_side of)
{
	_cleanup_free_ const char **files = row_files(g, of);
	const char **out = calloc(profile_n_locations(g->to) + 1, sizeof(*out));

	for (int side = 0; files && out && side < DIFF_SIDES; side++) {
		const struct profile_copy *c = &g->copy[side];

		for (uint32_t id = 1; id <= profile_n_locations(c->from); id++) {
			const struct diff_row *row = row_of(g, side, id);

			if (row && c->locations[id])
				out[c->locations[id]] = files[row - g->f->diff.rows.v];
		}
	}
	if (files)
		return out;
	free(out);
	return NULL;
}

static int write_page(struct page *g, FILE *out)
{
	_cleanup_str_ struct str verdict = {}, doubt = {}, sum = {}, title = {}, gc = {};
	const struct diff_facts *f = g->f;
	_cleanup_free_ uint8_t *changed = all_flags(g);
	_cleanup_free_ const char **before = all_files(g, DIFF_A), **after = all_files(g, DIFF_B);
	struct html_diff d = {
		.per = f->per, .timed = f->diff.timed, .changed = changed, .file = {before, after}};
	struct render_options opt = {.open_source = SOURCE_OF_PAGE(&f->source[DIFF_A]),
				     .source_shown = source_shown,
				     .value = f->type,
				     .times = PROFILE_TIMES_EXACT,
				     .diff = &d,
				     .by = f->by};

	diff_add_verdict(f, &verdict);
	diff_add_doubt(f, &doubt);
	if (doubt.n)
		str_addf(&verdict, " %s", str_cstr(&doubt));
	if (f->diff.work_known)
		diff_add_sum(f, &sum);
	else
		str_add(&sum,
			"Red: the share of all is larger after than before; blue: it is smaller");
	diff_add_gc(f, &gc);
	if (gc.n)
		str_addf(&sum, ". %s", str_cstr(&gc));
	str_addf(&title, "%s \u2192 %s", f->name[DIFF_A], f->name[DIFF_B]);
	if (!changed || !before || !after || verdict.failed || doubt.failed || sum.failed ||
	    gc.failed || title.failed)
		return no_memory();
	for (int side = 0; side < DIFF_SIDES; side++) {
		d.name[side] = f->name[side];
		d.recording[side] = f->diff.p[side];
		d.source[side] = str_cstr(&f->text[side]);
		d.source_arg[side] = (void *)&f->source[side];
		d.duration_ns[side] = profile_meta(f->diff.p[side])->duration_ns;
		d.counts[side] = f->diff.by_share ? MAX(f->diff.all[side], 1) : f->diff.per[side];
	}
	d.verdict = str_cstr(&verdict);
	d.sum = str_cstr(&sum);
	opt.title = str_cstr(&title);
	return render_by_name("html")->write(g->to, out, &opt);
}

static int make(struct page *g)
{
	int r = index_rows(g, DIFF_A);

	r = r ? r : index_rows(g, DIFF_B);
	r = r ? r : take_meta(g);
	r = r ? r : take_side(g, DIFF_A);
	return r ? r : take_side(g, DIFF_B);
}

int diff_print_page(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	struct page g = {.f = f, .to = profile_new()};
	int r = g.to ? make(&g) : no_memory();

	(void)style;
	if (!r)
		r = write_page(&g, out);
	for (int side = 0; side < DIFF_SIDES; side++) {
		profile_copy_fini(&g.copy[side]);
		free(g.rows[side]);
		free(g.stacks[side]);
	}
	profile_free(g.to);
	return r;
}
