/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs between two profiles: in the terminal, as Markdown and as JSON. */
#include <errno.h>
#include <math.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/cells.h"
#include "cli/color.h"
#include "cli/diff.h"
#include "render/markup.h"

void diff_add_value(const struct diff_facts *f, double value, struct str *b)
{
	if (f->diff.by_share)
		str_addf(b, "%.1f %%", 100 * value);
	else if (f->per && streq(f->unit, "nanoseconds") && value < 1000)
		str_addf(b, "%.0f ns", value);
	else if (f->per)
		markup_add_value(b, (int64_t)value, f->unit);
	else
		str_addf(b, value > 0 && value < 0.01 ? "%.2f ms/s" : "%.0f ms/s", 1000 * value);
}

void diff_add_relative(const struct diff_cost *c, struct str *b)
{
	double before = c->value[DIFF_A], change = diff_change(c);

	if (before <= 0)
		str_add(b, change > 0 ? "new" : "");
	else if (c->value[DIFF_B] <= 0)
		str_add(b, "gone");
	else
		str_addf(b, "%+.1f %%", 100 * change / before);
}

static bool changed(const struct diff_cost *c)
{
	return c->value_changed || c->share_changed;
}

static bool row_changed(const struct diff_row *row)
{
	return changed(&row->of[DIFF_SELF]) || changed(&row->of[DIFF_TOTAL]);
}

static size_t count_changed(const struct diff_facts *f)
{
	size_t n = 0;

	vec_foreach(row, &f->diff.rows)
		n += row_changed(row);
	return n;
}

/* "the CPU time went from 420 to 480 ms/s". */
void diff_add_sum(const struct diff_facts *f, struct str *b)
{
	struct diff_cost all = {.value = {f->diff.all[DIFF_A], f->diff.all[DIFF_B]}};

	str_addf(b, "All together, %s", streq(f->type, "cpu") ? "CPU time" : f->type);
	if (f->per)
		str_addf(b, " per %s", f->per);
	if (f->diff.by_share) {
		str_add(b,
			": only shares can be compared, the profiles don't say how long they took");
		return;
	}
	str_add(b, ": ");
	diff_add_value(f, all.value[DIFF_A], b);
	str_add(b, " before, ");
	diff_add_value(f, all.value[DIFF_B], b);
	str_add(b, " after");
	if (all.value[DIFF_A] <= 0 && all.value[DIFF_B] <= 0)
		return;
	str_add(b, " (");
	diff_add_relative(&all, b);
	str_add_c(b, ')');
}

void diff_add_verdict(const struct diff_facts *f, struct str *b)
{
	size_t n = count_changed(f);
	const struct diff_row *row = f->diff.rows.v;
	const char *noun = f->groups ? "group" : "function";
	const struct diff_cost *c;

	if (f->diff.all[DIFF_A] <= 0 && f->diff.all[DIFF_B] <= 0) {
		str_add(b, "There is nothing to compare: no samples on either side.");
		return;
	}
	if (!n) {
		str_addf(b, "No %s changed by more than noise (%zu compared).", noun,
			 f->diff.checked);
		return;
	}
	c = changed(&row->of[DIFF_SELF]) ? &row->of[DIFF_SELF] : &row->of[DIFF_TOTAL];
	str_addf(b, "%zu %s%s changed by more than noise; most of all %s: ", n, noun,
		 n == 1 ? "" : "s", row->name);
	diff_add_value(f, c->value[DIFF_A], b);
	str_add(b, " before, ");
	diff_add_value(f, c->value[DIFF_B], b);
	str_add(b, " after (");
	diff_add_relative(c, b);
	str_add(b, ").");
}

static const struct diff_row *most_doubtful(const struct diff_facts *f, enum diff_what what)
{
	const struct diff_row *most = NULL;

	vec_foreach(row, &f->diff.rows)
		if (row->of[what].doubtful &&
		    (!most || fabs(diff_share_change(&row->of[what])) >
				      fabs(diff_share_change(&most->of[what]))))
			most = row;
	return most;
}

/* What one stretch of time did, another one of the same program may do otherwise. */
void diff_add_doubt(const struct diff_facts *f, struct str *b)
{
	const struct diff_row *own = most_doubtful(f, DIFF_SELF);
	const struct diff_row *row = own ? own : most_doubtful(f, DIFF_TOTAL);
	enum diff_what what = own ? DIFF_SELF : DIFF_TOTAL;

	if (row)
		str_addf(b,
			 "%s%s went from %.1f to %.1f %% of all, but in too few stretches of time "
			 "to tell that from chance; repeat the work.",
			 what == DIFF_TOTAL ? "The total of " : "", row->name,
			 100 * row->of[what].share[DIFF_A], 100 * row->of[what].share[DIFF_B]);
}

/* A cell and its mark, right-justified in @width columns. */
static void add_cell(struct str *row, const struct str *cell, const char *mark, int width)
{
	int n = cells_width(str_cstr(cell), cell->n) + (int)strlen(mark);

	str_addf(row, "%*s", MAX(width - n, 0), "");
	cells_add(row, str_cstr(cell), INT32_MAX, false, false);
	str_add(row, mark);
}

/* What costs nothing on either side: its total may have changed. */
static bool is_nothing(const struct diff_cost *c)
{
	return c->value[DIFF_A] <= 0 && c->value[DIFF_B] <= 0;
}

static void add_cost(const struct diff_facts *f, const struct diff_cost *c, enum diff_side side,
		     struct str *b)
{
	if (is_nothing(c))
		str_add(b, "-");
	else
		diff_add_value(f, c->value[side], b);
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
	add_cell(row, &cell, (share ? c->share_changed : c->value_changed) ? mark : " ", width);
}

/* What a narrow terminal leaves out, in this order, so that a name has 18 columns. */
enum columns { WITHOUT_AFTER, WITHOUT_TOTAL, WITHOUT_SHARE, ALL_COLUMNS };

static enum columns columns_in(int width)
{
	return width >= 75   ? ALL_COLUMNS
	       : width >= 64 ? WITHOUT_SHARE
	       : width >= 53 ? WITHOUT_TOTAL
			     : WITHOUT_AFTER;
}

static void print_row(const struct diff_facts *f, const struct diff_row *r,
		      const struct diff_style *style, FILE *out)
{
	const struct diff_cost *self = &r->of[DIFF_SELF];
	_cleanup_str_ struct str row = {}, before = {}, after = {};
	enum color color = !row_changed(r) ? COLOR_OFF
			   : diff_change(changed(self) ? self : &r->of[DIFF_TOTAL]) > 0
				   ? COLOR_RED
				   : COLOR_GREEN;
	bool colored = style->colored && color != COLOR_OFF;
	enum columns columns = columns_in(style->width);

	add_cost(f, self, DIFF_A, &before);
	add_cost(f, self, DIFF_B, &after);
	add_cell(&row, &before, "", 10);
	if (columns > WITHOUT_AFTER)
		add_cell(&row, &after, "", 11);
	add_change(&row, self, false, "*", 11);
	if (columns > WITHOUT_SHARE)
		add_change(&row, self, true, "*", 11);
	if (columns > WITHOUT_TOTAL)
		add_change(&row, &r->of[DIFF_TOTAL], false, "*", 11);
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

static bool worth_a_row(const struct diff_row *row)
{
	return row->of[DIFF_SELF].value[DIFF_A] > 0 || row->of[DIFF_SELF].value[DIFF_B] > 0 ||
	       row_changed(row);
}

static void print_words(FILE *out, const char *s, int width)
{
	_cleanup_str_ struct str b = {};

	cells_add(&b, s, 2 * width, false, false);
	fprintf(out, "%s\n", str_cstr(&b));
}

/* The first row is the one that is worth most. */
static bool has_rows(const struct diff_facts *f)
{
	return f->diff.rows.n && worth_a_row(f->diff.rows.v);
}

static void print_table(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	enum columns columns = columns_in(style->width);
	unsigned n = 0;

	if (!has_rows(f))
		return;
	fprintf(out, "\n%10s", "before");
	if (columns > WITHOUT_AFTER)
		fprintf(out, "%11s", "after");
	fprintf(out, "%11s", "own  ");
	if (columns > WITHOUT_SHARE)
		fprintf(out, "%11s", "share  ");
	if (columns > WITHOUT_TOTAL)
		fprintf(out, "%11s", "total  ");
	fprintf(out, "  %s\n", f->groups ? f->by : "function");
	vec_foreach(row, &f->diff.rows) {
		if (n == style->limit || !worth_a_row(row))
			break;
		print_row(f, row, style, out);
		n++;
	}
	fprintf(out, "\n* is more than noise (%s, corrected for all rows).\n",
		f->diff.timed ? "block permutation over time"
			      : "samples taken as independent: no times in a profile");
	if (columns < ALL_COLUMNS)
		fputs("A terminal of 75 columns has room for all changes.\n", out);
}

int diff_print_text(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	_cleanup_str_ struct str verdict = {}, doubt = {}, sum = {};

	diff_add_verdict(f, &verdict);
	diff_add_doubt(f, &doubt);
	diff_add_sum(f, &sum);
	print_words(out, str_cstr(&verdict), style->width);
	if (doubt.n)
		print_words(out, str_cstr(&doubt), style->width);
	print_words(out, str_cstr(&sum), style->width);
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
	add_change(&row, self, false, "!", 0);
	str_add(&row, " | ");
	add_change(&row, self, true, "!", 0);
	str_add(&row, " | ");
	add_change(&row, &r->of[DIFF_TOTAL], false, "!", 0);
	fprintf(out, "%s |\n", str_cstr(&row));
}

static void print_md_table(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	unsigned n = 0;

	if (!has_rows(f))
		return;
	fprintf(out,
		"\n| %s | before | after | own | share | total |\n|---|---:|---:|---:|---:|---:|\n",
		f->groups ? f->by : "function");
	vec_foreach(row, &f->diff.rows) {
		if (n == style->limit || !worth_a_row(row))
			break;
		print_md_row(f, row, out);
		n++;
	}
	fputs("\n! is more than noise.\n", out);
}

int diff_print_md(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	_cleanup_str_ struct str verdict = {}, doubt = {}, sum = {}, words = {};

	diff_add_verdict(f, &verdict);
	diff_add_doubt(f, &doubt);
	diff_add_sum(f, &sum);
	markup_add_md(&words, str_cstr(&verdict), verdict.n);
	str_add(&words, doubt.n ? "\n\n" : "");
	markup_add_md(&words, str_cstr(&doubt), doubt.n);
	str_add(&words, "\n\n");
	markup_add_md(&words, str_cstr(&sum), sum.n);
	fprintf(out, "%s\n", str_cstr(&words));
	print_md_table(f, style, out);
	return flush(out);
}

static void put_cost(FILE *out, const char *key, const struct diff_cost *c)
{
	fprintf(out,
		", \"%s\": {\"before\": %.9g, \"after\": %.9g, \"share_before\": %.6g, "
		"\"share_after\": %.6g, \"changed\": %s, \"share_changed\": %s}",
		key, c->value[DIFF_A], c->value[DIFF_B], c->share[DIFF_A], c->share[DIFF_B],
		c->value_changed ? "true" : "false", c->share_changed ? "true" : "false");
}

static const char *measure_name(const struct diff_facts *f)
{
	return f->diff.by_share ? "share" : f->per ? f->per : "seconds per second";
}

int diff_print_json(const struct diff_facts *f, const struct diff_style *style, FILE *out)
{
	_cleanup_str_ struct str verdict = {};
	const char *apart = "\n";

	diff_add_verdict(f, &verdict);
	fputs("{\n  \"summary\": ", out);
	json_put_string(out, str_cstr(&verdict));
	fputs(",\n  \"value\": ", out);
	json_put_string(out, f->type);
	fputs(",\n  \"per\": ", out);
	json_put_string(out, measure_name(f));
	if (f->groups) {
		fputs(",\n  \"by\": ", out);
		json_put_string(out, f->by);
	}
	fprintf(out,
		",\n  \"all\": {\"before\": %.9g, \"after\": %.9g},\n  \"timed\": %s,\n"
		"  \"compared\": %zu,\n  \"changed\": %zu,\n  \"%s\": [",
		f->diff.all[DIFF_A], f->diff.all[DIFF_B], f->diff.timed ? "true" : "false",
		f->diff.checked, count_changed(f), f->groups ? "groups" : "functions");
	vec_foreach(row, &f->diff.rows) {
		if (row->of[DIFF_TOTAL].value[DIFF_A] <= 0 &&
		    row->of[DIFF_TOTAL].value[DIFF_B] <= 0)
			continue;
		fprintf(out, "%s    {\"name\": ", apart);
		json_put_string(out, row->name);
		put_cost(out, "own", &row->of[DIFF_SELF]);
		put_cost(out, "total", &row->of[DIFF_TOTAL]);
		fputs("}", out);
		apart = ",\n";
	}
	fputs("]\n}\n", out);
	return flush(out);
}
