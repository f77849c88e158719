/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what differs between two profiles: as text for a terminal, as Markdown, and as JSON. */
#include <errno.h>
#include <math.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json.h"
#include "cli/cells.h"
#include "cli/color.h"
#include "cli/diff/diff.h"
#include "cli/options/view_options.h"
#include "picture/markup.h"

/*
 * Appends a cell of the table and its mark (which says that the change is more than noise). The
 * cell is right-justified in @width columns.
 */
static void add_cell(struct str *row, const struct str *cell, const char *mark, int width)
{
	int n = cells_width(str_cstr(cell), cell->n) + (int)strlen(mark);

	str_addf(row, "%*s", MAX(width - n, 0), "");
	cells_add(row, str_cstr(cell), INT32_MAX, false, false);
	str_add(row, mark);
}

/* Tells whether this cost is 0 on both sides. */
static bool is_nothing(const struct diff_cost *c)
{
	return c->value[DIFF_A] <= 0 && c->value[DIFF_B] <= 0;
}

/*
 * Tells whether the table has costs. If it isn't known how much work was done, they would be costs
 * per second, and readers would take their change for a change of the program. So the table has
 * only shares then.
 */
static bool has_costs(const struct diff_facts *f)
{
	return f->diff.work_known;
}

static void add_cost(const struct diff_facts *f, const struct diff_cost *c, enum diff_side side,
		     struct str *b)
{
	if (is_nothing(c))
		str_add(b, "-");
	else if (has_costs(f))
		diff_add_value(f, c->value[side], b);
	else
		str_addf(b, "%.1f %%", 100 * c->share[side]);
}

static void add_change(struct str *row, const struct diff_cost *c, bool share, const char *mark,
		       int width)
{
	_cleanup_str_ struct str cell = {};

	if (is_nothing(c))
		str_add(&cell, "-");
	else if (share)
		str_addf(&cell, "%+.1f pt", 100 * diff_share_change(c));
	else
		diff_add_relative(c, &cell);
	add_cell(row, &cell, (share ? c->share_changed : c->changed) ? mark : " ", width);
}

/*
 * Which columns of the table are printed. A narrow terminal gets fewer columns, so that names keep
 * a width of at least 18 characters.
 */
enum columns { WITHOUT_AFTER, WITHOUT_TOTAL, WITHOUT_SHARE, ALL_COLUMNS };

static enum columns columns_in(int width)
{
	return width >= 75   ? ALL_COLUMNS
	       : width >= 64 ? WITHOUT_SHARE
	       : width >= 53 ? WITHOUT_TOTAL
			     : WITHOUT_AFTER;
}

/*
 * Returns the largest set of columns that the table can have. Without costs, all columns are about
 * shares, so shares need no column of their own.
 */
static enum columns most_columns(const struct diff_facts *f)
{
	return has_costs(f) ? ALL_COLUMNS : WITHOUT_SHARE;
}

static void print_row(const struct diff_facts *f, const struct diff_row *r,
		      const struct diff_style *style, FILE *out)
{
	const struct diff_cost *self = &r->of[DIFF_SELF], *total = &r->of[DIFF_TOTAL];
	_cleanup_str_ struct str row = {}, before = {}, after = {};
	enum color color = !diff_row_counts(r)					     ? COLOR_OFF
			   : diff_effect(&f->diff, self->changed ? self : total) > 0 ? COLOR_RED
										     : COLOR_GREEN;
	bool colored = style->colored && color != COLOR_OFF;
	enum columns columns = MIN(columns_in(style->width), most_columns(f));

	add_cost(f, self, DIFF_A, &before);
	add_cost(f, self, DIFF_B, &after);
	add_cell(&row, &before, "", 10);
	if (columns > WITHOUT_AFTER)
		add_cell(&row, &after, "", 11);
	add_change(&row, self, !has_costs(f), "*", 11);
	if (columns > WITHOUT_SHARE)
		add_change(&row, self, true, "*", 11);
	if (columns > WITHOUT_TOTAL)
		add_change(&row, total, !has_costs(f), "*", 11);
	str_add(&row, " ");
	cells_add(&row, r->name, style->width - 22 - 11 * (int)columns, true, false);
	fprintf(out, "%s%s%s\n", color_code(colored, color), str_cstr(&row),
		color_code(colored, COLOR_OFF));
}

static int flush(FILE *out)
{
	return fflush(out) || ferror(out) ? err_sys(errno ? -errno : -EIO, "can't write the report")
					  : 0;
}

/*
 * Tells whether the row is printed. A caller that changed only because of what it calls has no row:
 * a sentence below the table names it.
 */
static bool worth_a_row(const struct diff_row *row)
{
	return !row->passes_on && (!is_nothing(&row->of[DIFF_SELF]) || row->of[DIFF_TOTAL].changed);
}

#define NAMED 3

/*
 * Appends which callers have no row: "Left out: 2 callers that changed only because they call ...:
 * main, <module>."
 */
static void add_folded(const struct diff_facts *f, struct str *b)
{
	_cleanup_str_ struct str names = {};
	size_t n = 0;

	vec_foreach(row, &f->diff.rows) {
		if (!row->passes_on)
			continue;
		if (n < NAMED)
			str_addf(&names, "%s%s", n ? ", " : "", row->name);
		n++;
	}
	if (n)
		str_addf(b,
			 "Left out: %zu caller%s that changed only because %s a function in the "
			 "table: %s%s.",
			 n, n == 1 ? "" : "s", n == 1 ? "it calls" : "they call", str_cstr(&names),
			 n > NAMED ? ", ..." : "");
}

/* how many lines a sentence may take at most: names in it may have any length */
#define MOST_LINES 8

static void print_words(FILE *out, const char *s, int width)
{
	_cleanup_str_ struct str b = {};

	cells_add(&b, s, MOST_LINES * width, false, false);
	fprintf(out, "%s\n", str_cstr(&b));
}

static bool has_rows(const struct diff_facts *f)
{
	vec_foreach(row, &f->diff.rows)
		if (worth_a_row(row))
			return true;
	return false;
}

static bool has_mark(const struct diff_facts *f, const struct diff_row *r, enum columns columns)
{
	const struct diff_cost *self = &r->of[DIFF_SELF], *total = &r->of[DIFF_TOTAL];
	bool costs = has_costs(f);

	return (costs ? self->changed : self->share_changed) ||
	       (costs && columns > WITHOUT_SHARE && self->share_changed) ||
	       (columns > WITHOUT_TOTAL && (costs ? total->changed : total->share_changed));
}

/*
 * Tells whether a change that is more than noise is marked among the first @limit rows and the
 * printed columns.
 */
static bool has_marks(const struct diff_facts *f, unsigned limit, enum columns columns)
{
	unsigned n = 0;

	vec_foreach(row, &f->diff.rows) {
		if (n == limit)
			break;
		if (!worth_a_row(row))
			continue;
		if (has_mark(f, row, columns))
			return true;
		n++;
	}
	return false;
}

/*
 * Prints what the marks mean. Also says that a change without a mark may be chance, because a large
 * one could look important.
 */
static void print_legend(const struct diff_facts *f, unsigned limit, enum columns columns,
			 const char *mark, FILE *out)
{
	const char *how = f->diff.timed ? "block permutation over time"
					: "samples assumed to be independent: a profile has no "
					  "times";

	if (has_marks(f, limit, columns))
		fprintf(out,
			"\n%s: the change is more than noise (%s, corrected for all rows); a "
			"change without %s may be chance.\n",
			mark, how, mark);
	else
		fprintf(out,
			"\nNo change in this table is more than noise "
			"(%s, corrected for all rows).\n",
			how);
}

static void print_heads(const struct diff_facts *f, enum columns columns, FILE *out)
{
	fprintf(out, "\n%10s", "before");
	if (columns > WITHOUT_AFTER)
		fprintf(out, "%11s", "after");
	fprintf(out, "%11s", "own  ");
	if (columns > WITHOUT_SHARE)
		fprintf(out, "%11s", "share  ");
	if (columns > WITHOUT_TOTAL)
		fprintf(out, "%11s", "total  ");
	fprintf(out, "  %s\n", f->groups ? f->by : "function");
}

static void print_table(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	enum columns columns = MIN(columns_in(style->width), most_columns(f));
	_cleanup_str_ struct str folded = {};
	unsigned n = 0;

	if (!has_rows(f))
		return;
	print_heads(f, columns, out);
	vec_foreach(row, &f->diff.rows) {
		if (n == style->limit)
			break;
		if (!worth_a_row(row))
			continue;
		print_row(f, row, style, out);
		n++;
	}
	print_legend(f, style->limit, columns, "*", out);
	add_folded(f, &folded);
	if (folded.n)
		print_words(out, str_cstr(&folded), style->width);
	if (columns < most_columns(f))
		fprintf(out, "A terminal of %d columns has room for all changes.\n",
			has_costs(f) ? 75 : 64);
}

int diff_print_text(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	_cleanup_str_ struct str verdict = {}, doubt = {}, sum = {}, idle = {}, gc = {};
	const struct str *const sentences[] = {&verdict, &doubt, &sum, &idle, &gc};

	diff_add_verdict(f, &verdict);
	diff_add_doubt(f, &doubt);
	diff_add_gc(f, &gc);
	diff_add_idle(f, &idle);
	/* if the table has no costs, the first sentences say what all functions together cost */
	if (has_costs(f))
		diff_add_sum(f, &sum);
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
		if (sentences[i]->n)
			print_words(out, str_cstr(sentences[i]), style->width);
	print_table(f, style, out);
	return flush(out);
}

static void print_md_row(const struct diff_facts *f, const struct diff_row *r, FILE *out)
{
	const struct diff_cost *self = &r->of[DIFF_SELF];
	_cleanup_str_ struct str row = {}, before = {}, after = {};

	add_cost(f, self, DIFF_A, &before);
	add_cost(f, self, DIFF_B, &after);
	str_add(&row, "| ");
	markup_add_md_code(&row, r->name, strlen(r->name));
	str_add(&row, " | ");
	markup_add_md(&row, str_cstr(&before), before.n);
	str_add(&row, " | ");
	markup_add_md(&row, str_cstr(&after), after.n);
	str_add(&row, " | ");
	add_change(&row, self, !has_costs(f), "!", 0);
	str_add(&row, " | ");
	if (has_costs(f)) {
		add_change(&row, self, true, "!", 0);
		str_add(&row, " | ");
	}
	add_change(&row, &r->of[DIFF_TOTAL], !has_costs(f), "!", 0);
	fprintf(out, "%s |\n", str_cstr(&row));
}

static void print_md_table(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	_cleanup_str_ struct str folded = {}, words = {};
	unsigned n = 0;

	if (!has_rows(f))
		return;
	fprintf(out, "\n| %s | before | after | own | %stotal |\n|---|---:|---:|---:|---:|%s\n",
		f->groups ? view_by_heading(f->by, f->type) : "function",
		has_costs(f) ? "share | " : "", has_costs(f) ? "---:|" : "");
	vec_foreach(row, &f->diff.rows) {
		if (n == style->limit)
			break;
		if (!worth_a_row(row))
			continue;
		print_md_row(f, row, out);
		n++;
	}
	print_legend(f, style->limit, ALL_COLUMNS, "!", out);
	add_folded(f, &folded);
	markup_add_md(&words, str_cstr(&folded), folded.n);
	if (words.n)
		fprintf(out, "\n%s\n", str_cstr(&words));
}

int diff_print_md(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	_cleanup_str_ struct str verdict = {}, doubt = {}, sum = {}, idle = {}, gc = {}, words = {};
	const struct str *const sentences[] = {&verdict, &doubt,       &sum,	    &idle,
					       &gc,	 &f->unmarked, &f->unjudged};

	diff_add_verdict(f, &verdict);
	diff_add_doubt(f, &doubt);
	if (has_costs(f))
		diff_add_sum(f, &sum);
	diff_add_idle(f, &idle);
	diff_add_gc(f, &gc);
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		str_add(&words, i && sentences[i]->n ? "\n\n" : "");
		markup_add_md(&words, str_cstr(sentences[i]), sentences[i]->n);
	}
	fprintf(out, "%s\n", str_cstr(&words));
	print_md_table(f, style, out);
	return flush(out);
}

static void put_cost(const struct diff_facts *f, FILE *out, const char *key,
		     const struct diff_cost *c)
{
	bool changed = (has_costs(f) || f->diff.by_share) && c->changed;

	fprintf(out,
		", \"%s\": {\"before\": %.9g, \"after\": %.9g, \"share_before\": %.6g, "
		"\"share_after\": %.6g, \"changed\": %s, \"share_changed\": %s}",
		key, c->value[DIFF_A], c->value[DIFF_B], c->share[DIFF_A], c->share[DIFF_B],
		changed ? "true" : "false", c->share_changed ? "true" : "false");
}

static const char *measure_name(const struct diff_facts *f)
{
	return f->diff.by_share ? "share" : f->per ? f->per : "seconds per second";
}

static void put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\n  \"%s\": ", key);
	json_put_string(out, text);
}

/*
 * Writes how krait knows the amount of work. If krait doesn't know it, writes which shares changed
 * most.
 */
static void put_work(const struct diff_facts *f, FILE *out)
{
	enum diff_what what;

	put_text(out, "work", f->runs[DIFF_A] ? "runs" : f->per ? "given" : "unknown");
	if (f->runs[DIFF_A])
		fprintf(out, ",\n  \"runs\": {\"before\": %llu, \"after\": %llu}",
			(unsigned long long)f->runs[DIFF_A], (unsigned long long)f->runs[DIFF_B]);
	for (int way = 1; !has_costs(f) && way >= -1; way -= 2) {
		const struct diff_row *row = diff_share_moved(f, way, &what);

		if (row)
			put_text(out, way > 0 ? "share_grew_most" : "share_fell_most", row->name);
	}
}

static void put_row(const struct diff_facts *f, const struct diff_row *row, FILE *out)
{
	fprintf(out, "    {\"name\": ");
	json_put_string(out, row->name);
	put_cost(f, out, "own", &row->of[DIFF_SELF]);
	put_cost(f, out, "total", &row->of[DIFF_TOTAL]);
	if (row->passes_on) {
		fputs(", \"passes_on\": ", out);
		json_put_string(out, row->passes_on);
	}
	fputs("}", out);
}

int diff_print_json(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	_cleanup_str_ struct str verdict = {};
	const char *apart = "\n";

	diff_add_verdict(f, &verdict);
	fputs("{\n  \"summary\": ", out);
	json_put_string(out, str_cstr(&verdict));
	put_text(out, "value", f->type);
	put_text(out, "per", measure_name(f));
	put_work(f, out);
	if (f->groups)
		put_text(out, "by", f->by);
	if (f->idle[DIFF_A] > 0 || f->idle[DIFF_B] > 0)
		fprintf(out, ",\n  \"idle\": {\"before\": %.9g, \"after\": %.9g}",
			(double)f->idle[DIFF_A] / f->diff.per[DIFF_A],
			(double)f->idle[DIFF_B] / f->diff.per[DIFF_B]);
	fprintf(out,
		",\n  \"all\": {\"before\": %.9g, \"after\": %.9g},\n"
		"  \"gc_share\": {\"before\": %.6g, \"after\": %.6g},\n  \"timed\": %s,\n"
		"  \"compared\": %zu,\n  \"changed\": %zu,\n  \"%s\": [",
		f->diff.all[DIFF_A], f->diff.all[DIFF_B], f->diff.gc[DIFF_A], f->diff.gc[DIFF_B],
		f->diff.timed ? "true" : "false", f->diff.checked, diff_count_changed(f),
		f->groups ? "groups" : "functions");
	vec_foreach(row, &f->diff.rows) {
		if (is_nothing(&row->of[DIFF_TOTAL]))
			continue;
		fputs(apart, out);
		put_row(f, row, out);
		apart = ",\n";
	}
	fputs("]\n}\n", out);
	return flush(out);
}
