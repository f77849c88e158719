/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints which threads waited for which holders of the GIL (view/waits/gil.h): as a table, and as
 * JSON.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/cells.h"
#include "cli/report/print.h"
#include "picture/markup.h"
#include "view/waits/gil.h"

#define SHOWN	     6	 /* how many threads have a row and a column of their own in the table */
#define SHOWN_JSON   100 /* how many threads have a row and a column of their own in JSON */

#define NAME_COLUMNS 22
#define CELL_COLUMNS 11

/*
 * Returns how many columns of GIL holders fit into a line, beside the columns "others" and
 * "nobody".
 */
static size_t columns_in(int width)
{
	int n = (width - NAME_COLUMNS - 2) / CELL_COLUMNS - 2;

	return (size_t)MAX(MIN(n, SHOWN), 1);
}

static void add_cell(struct str *out, const char *text, bool md)
{
	int n = cells_width(text, strlen(text));

	if (md) {
		str_add(out, " | ");
		cells_add(out, text, NAME_COLUMNS, true, false);
		return;
	}
	str_addf(out, "%*s", MAX(CELL_COLUMNS - n, 1), "");
	cells_add(out, text, CELL_COLUMNS - 1, true, false);
}

static void add_ns(struct str *out, int64_t ns, bool md)
{
	_cleanup_str_ struct str text = {};

	if (ns)
		markup_add_value(&text, ns, "nanoseconds");
	add_cell(out, ns ? str_cstr(&text) : "-", md);
}

static void add_head(const struct gil_pairs *g, bool md, struct str *out)
{
	str_add(out, md ? "\n| waited for the GIL"
			: "\n  threads (rows) that waited for the GIL while other threads "
			  "(columns) held it\n");
	if (!md)
		cells_add(out, "", NAME_COLUMNS + 2, false, true);
	for (size_t column = 1; column <= g->columns.n; column++) {
		const struct gil_thread *t = gil_pairs_holder(g, column);
		_cleanup_str_ struct str name = {};
		bool numbered = gil_pairs_name(g, t, &name);

		/*
		 * if name and number of the thread are too wide for the column, only the
		 * number is shown
		 */
		if (!md && numbered && cells_width(str_cstr(&name), name.n) >= CELL_COLUMNS) {
			str_clear(&name);
			str_addf(&name, "tid %s", profile_label_text(g->p, t->labels, "tid"));
		}
		add_cell(out, str_cstr(&name), md);
	}
	add_cell(out, "others", md);
	add_cell(out, "nobody", md);
	str_add(out, md ? " |\n|---" : "\n");
	for (size_t i = 0; md && i < g->columns.n + 2; i++)
		str_add(out, "|---:");
	str_add(out, md ? "|\n" : "");
}

static void add_row(const struct gil_pairs *g, size_t row, bool md, struct str *out)
{
	_cleanup_str_ struct str name = {};

	if (row && row <= g->rows.n)
		gil_pairs_name(g, gil_pairs_waiter(g, row), &name);
	else
		str_add(&name, row ? "others" : "not known");
	str_add(out, md ? "| " : "  ");
	cells_add(out, str_cstr(&name), NAME_COLUMNS, true, !md);
	for (size_t column = 1; column < g->columns.n + 2; column++)
		add_ns(out, gil_pairs_cell(g, row, column), md);
	add_ns(out, gil_pairs_nobody(g, row), md);
	str_add(out, md ? " |\n" : "\n");
}

/* Tells whether the thread of row @row waited for the GIL. */
static bool has_row(const struct gil_pairs *g, size_t row)
{
	for (size_t column = 0; column < g->columns.n + 2; column++)
		if (gil_pairs_cell(g, row, column))
			return true;
	return gil_pairs_nobody(g, row) != 0;
}

static int add(void *arg, const struct profile_sample *s)
{
	return gil_pairs_add(arg, s);
}

/* Computes the table. Returns 1; 0 if there is nothing to show; or -errno + message. */
static int make(const struct report_facts *f, struct gil_pairs *g, size_t rows, size_t columns)
{
	int r;

	if (!gil_pairs_init(g, f->p) || f->costs.less)
		return 0;
	r = profile_each(f->p, add, g);
	if (!r && g->waits.n && !g->timeless)
		r = gil_pairs_make(g, rows, columns) ?: 1;
	return r == -ENOMEM ? err_set(r, "out of memory") : r;
}

static void add_table(const struct gil_pairs *g, bool md, struct str *out)
{
	add_head(g, md, out);
	for (size_t row = 1; row < g->rows.n + 2; row++)
		if (has_row(g, row))
			add_row(g, row, md, out);
	if (has_row(g, 0))
		add_row(g, 0, md, out);
}

int report_print_gil_matrix(struct report_printer *p)
{
	_cleanup_(gil_pairs_fini) struct gil_pairs g = {};
	_cleanup_str_ struct str out = {};
	int r;

	if (!streq(p->style->by, "gil"))
		return 0;
	r = make(p->f, &g, SHOWN, p->md ? SHOWN : columns_in(p->style->width));
	if (r > 0)
		add_table(&g, p->md, &out);
	else if (!r && g.waits.n && g.timeless)
		str_add(&out, "\nWho waited for whom isn't known: samples have no times.\n");
	if (r > 0 && p->f->totals.shown_samples < p->f->totals.all_samples)
		str_add(&out, "\nThe filters left out samples; holders in those are missing.\n");
	fputs(str_cstr(&out), p->out);
	return MIN(r, 0);
}

int report_put_gil_waits(const struct report_facts *f, FILE *out)
{
	_cleanup_(gil_pairs_fini) struct gil_pairs g = {};
	_cleanup_str_ struct str text = {};
	int r = make(f, &g, SHOWN_JSON, SHOWN_JSON);

	if (r <= 0)
		return r;
	gil_pairs_json(&g, &text);
	fprintf(out, "  \"gil_waits\": [%s],\n", str_cstr(&text));
	return text.failed ? err_set(-ENOMEM, "out of memory") : 0;
}
