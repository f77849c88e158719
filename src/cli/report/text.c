/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the report as text, in as many rows as the terminal has: one sentence, and the functions
 * and lines that cost most. If the user asked for them, it also prints trees and shares. Also
 * prints the report as Markdown, for the summary of a CI job.
 */
#include <errno.h>
#include <math.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/cells.h"
#include "cli/options/view_options.h"
#include "cli/report/print.h"
#include "picture/markup.h"

/* in a terminal with few rows, the table of the user's own lines has this many */
#define OWN_ROWS 3

void report_end_row(struct report_printer *p)
{
	while (p->row.n && p->row.s[p->row.n - 1] == ' ')
		p->row.s[--p->row.n] = '\0';
	fprintf(p->out, "%s\n", str_cstr(&p->row));
	p->above++;
	str_clear(&p->row);
}

static void add_percent(struct report_printer *p, int64_t value)
{
	report_add_percent(p->f, p->md ? NULL : p->style, value, &p->row);
}

static void add_code(struct str *b, const char *s, bool keep_end)
{
	_cleanup_str_ struct str shown = {};

	cells_add(&shown, s, MD_COLUMNS, keep_end, false);
	markup_add_md_code(b, str_cstr(&shown), shown.n);
}

static void heading(struct report_printer *p, const char *md, const char *text)
{
	fprintf(p->out, "\n%s\n", p->md ? md : text);
	p->above += 2;
}

bool report_keeps_end(const struct report_printer *p, uint32_t location)
{
	const struct profile_location *l =
		location ? profile_get_location(p->f->p, location) : NULL;

	return l && profile_get_mapping(p->f->p, l->mapping)->kind == KIND_PYTHON;
}

/* a function's share of garbage collection isn't mentioned if it is below this percentage */
#define GC_LEAST 0.5

/*
 * Appends which part of a function's own time is garbage collection. Appends nothing if it is
 * little, or if the function is the collector itself.
 */
static void add_gc_part(const struct report_printer *p, const struct cost *c, struct str *b)
{
	double share = report_percent(p->f, c->gc);

	/*
	 * If all of the recorded time is garbage collection, saying so for each function would be
	 * useless.
	 */
	if (p->f->costs.kinds[KIND_GC] == p->f->costs.all || !c->location)
		return;
	if (share >= GC_LEAST && costs_kind(&p->f->costs, c->location) != KIND_GC)
		str_addf(b, "including GC %.1f %%", share);
}

static void print_function(struct report_printer *p, const struct cost *c)
{
	_cleanup_str_ struct str name = {}, place = {}, gc = {};
	int width = p->style->width - 2 * 9 - 2;

	add_gc_part(p, c, &gc);
	width -= gc.n ? (int)gc.n + 2 : 0;
	costs_name(&p->f->costs, c->location, &name);
	costs_place(&p->f->costs, c->location, 0, &place);
	if (p->md) {
		add_percent(p, c->self);
		add_percent(p, c->total);
		str_add(&p->row, "| ");
		add_code(&p->row, str_cstr(&name), report_keeps_end(p, c->location));
		str_addf(&p->row, "%s%s | ", gc.n ? ", " : "", str_cstr(&gc));
		add_code(&p->row, str_cstr(&place), true);
		str_add(&p->row, " |");
	} else {
		add_percent(p, c->self);
		str_add(&p->row, " ");
		add_percent(p, c->total);
		str_add(&p->row, "   ");
		width -= cells_add(&p->row, str_cstr(&name), MIN(width, MAX(width * 3 / 5, 30)),
				   report_keeps_end(p, c->location), false) +
			 2;
		if (width > 8 && place.n) {
			str_add(&p->row, "  ");
			cells_add(&p->row, str_cstr(&place), width, true, false);
		}
		str_addf(&p->row, "%s%s", gc.n ? "  " : "", str_cstr(&gc));
	}
	report_end_row(p);
}

static void print_functions(struct report_printer *p)
{
	const char *noun = p->style->grain == VIEW_MODULES ? "module"
			   : p->style->grain == VIEW_LINES ? "line"
							   : "function";
	char md[80], text[80];
	unsigned n = 0;

	snprintf(md, sizeof(md), "| own | total | %s | file |\n|---:|---:|---|---|", noun);
	snprintf(text, sizeof(text), "    own    total    %s", noun);
	heading(p, md, text);
	vec_foreach(c, &p->f->costs.functions) {
		if (n == p->style->limit || !c->self)
			break;
		print_function(p, c);
		n++;
	}
}

static unsigned count_rows(const struct str *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->s[i] == '\n';
	return n;
}

/*
 * Prints as many source lines as the screen has room for. @below: how many rows must still fit
 * below them. A line with carets takes two rows, and the shell's prompt takes one.
 */
static void print_lines(struct report_printer *p, const struct cost_lines *lines, unsigned limit,
			unsigned below)
{
	struct report_style style = *p->style;
	bool fit = style.fit && style.height && !p->md;

	style.limit = limit;
	report_add_lines(p->f, lines, &style, p->md, &p->row);
	while (fit && style.limit > 1 &&
	       p->above + count_rows(&p->row) + below + count_rows(&p->shares) >=
		       p->style->height) {
		style.limit--;
		str_clear(&p->row);
		report_add_lines(p->f, lines, &style, p->md, &p->row);
	}
	p->above += count_rows(&p->row);
	fputs(str_cstr(&p->row), p->out);
	str_clear(&p->row);
}

/* Tells whether the first @n rows of the user's own lines are the same as those of all lines. */
static bool are_alike(const struct cost_lines *own, const struct cost_lines *all, size_t n)
{
	for (size_t i = 0; i < MIN(own->list.n, n); i++)
		if (i >= all->list.n || own->list.v[i].line != all->list.v[i].line ||
		    own->list.v[i].location != all->list.v[i].location ||
		    own->list.v[i].self != all->list.v[i].self)
			return false;
	return true;
}

#define BELOW 3 /* how many rows of the next table must still fit below this table */

static void print_own_lines(struct report_printer *p)
{
	const struct costs *c = &p->f->costs;
	unsigned limit = p->style->limit;

	if (are_alike(&c->own, &c->lines, limit))
		return;
	heading(p,
		"| share | your line, with the library code that it calls | source "
		"|\n|---:|---|---|",
		"  share    your line, with the library code that it calls");
	if (p->style->fit && !p->md && p->style->height && p->style->height < REPORT_TALL)
		limit = MIN(limit, (unsigned)OWN_ROWS);
	print_lines(p, &c->own, limit, BELOW);
}

static void print_all_lines(struct report_printer *p)
{
	if (!p->f->costs.lines.list.n)
		return;
	heading(p, "| own | line | source |\n|---:|---|---|", "    own    line");
	print_lines(p, &p->f->costs.lines, p->style->limit, 0);
}

/* Appends a share to a line like "WHAT: WORD 1.2 %, WORD 3.4 %", unless it is small. */
static void add_share(struct report_printer *p, const char *what, const char *word, int64_t value,
		      bool *first)
{
	double share = report_percent(p->f, value);

	if (fabs(share) < 0.05)
		return;
	str_addf(&p->row, "%s%s%s %.1f %%", *first ? what : ", ", *first ? ": " : "", word, share);
	*first = false;
}

/*
 * Ends a line of shares. In Markdown a blank line comes before it; a terminal with 24 rows has no
 * room for that.
 */
static void end_shares(struct report_printer *p, bool none)
{
	_cleanup_str_ struct str b = {};

	if (none)
		return;
	cells_add(&b, str_cstr(&p->row), p->md ? INT32_MAX : p->style->width, false, false);
	str_addf(&p->shares, "%s%s\n", p->md ? "\n" : "", str_cstr(&b));
	str_clear(&p->row);
}

/*
 * Adds how much code of each kind ran: the kind is that of the innermost frame, but all that the
 * garbage collector calls counts as GC.
 */
static void add_kinds(struct report_printer *p)
{
	static const char *const words[KIND_MAX] = {
		[KIND_PYTHON] = "Python", [KIND_NATIVE] = "native", [KIND_KERNEL] = "kernel",
		[KIND_JIT] = "JIT",	  [KIND_GC] = "GC",	    [KIND_MARK] = "unknown"};
	bool first = true;

	for (int i = 0; i < KIND_MAX; i++)
		add_share(p, "What ran", words[i], p->f->costs.kinds[i], &first);
	end_shares(p, first);
}

/* Adds the lines about the GIL. In Markdown, each line is a paragraph. */
static int add_gil(struct report_printer *p)
{
	_cleanup_str_ struct str b = {};
	int r = report_add_gil(p->f, p->md ? INT32_MAX : p->style->width, &b);

	r = r ? r : report_add_gil_waits(p->f, p->style->width, p->md, &b);
	for (const char *s = str_cstr(&b), *end; !r && (end = strchr(s, '\n')); s = end + 1) {
		str_add(&p->shares, p->md ? "\n" : "");
		str_add_n(&p->shares, s, (size_t)(end + 1 - s));
	}
	return r;
}

/* Prints one share. @many: a plural such as "threads", for a share of several. */
static void print_share(struct report_printer *p, const struct report_share *s, const char *many,
			bool code)
{
	_cleanup_str_ struct str count = {};

	if (s->n > 1)
		str_addf(&count, ", %u %s", s->n, many);
	add_percent(p, s->value);
	if (p->md) {
		str_add(&p->row, "| ");
		if (code)
			add_code(&p->row, s->name, false);
		else
			str_add(&p->row, s->name);
		str_addf(&p->row, "%s |", str_cstr(&count));
	} else {
		str_add(&p->row, "   ");
		cells_add(&p->row, s->name, p->style->width - 11 - (int)count.n, false, false);
		str_add(&p->row, str_cstr(&count));
	}
	report_end_row(p);
}

static int print_shares(struct report_printer *p, const char *by)
{
	const char *value = profile_meta(p->f->p)->values[p->f->value].type;
	report_shares shares = {};
	int r = report_shares_of(p->f, by, &shares);
	const char *many = streq(by, "process")	 ? "processes"
			   : streq(by, "thread") ? "threads"
						 : NULL;
	size_t shown;
	unsigned n_rest = 0;
	char others[32];
	int64_t rest = 0;

	if (!r && many && shares.n > p->style->limit)
		r = report_shares_fold(&shares, by);
	shown = MIN(shares.n, (size_t)p->style->limit);
	if (!r && p->md)
		fprintf(p->out, "\n| share | %s |\n|---:|---|\n", view_by_heading(by, value));
	else if (!r)
		fprintf(p->out, "\n  share    %s\n", view_by_heading(by, value));
	for (size_t i = 0; !r && i < shown; i++)
		print_share(p, &shares.v[i], many, true);
	for (size_t i = shown; !r && i < shares.n; i++) {
		rest += shares.v[i].value;
		n_rest += MAX(shares.v[i].n, 1u);
	}
	snprintf(others, sizeof(others), "%u more", n_rest);
	if (!r && shares.n > shown)
		print_share(p, &(struct report_share){.name = others, .value = rest}, many, false);
	report_shares_fini(&shares);
	return r;
}

/* Prints the shares of processes or threads (@of), unless --by has printed them already. */
static int print_other_shares(struct report_printer *p, const char *of)
{
	const char *by = p->style->tree ? NULL : p->style->by;

	return by && streq(by, of) ? 0 : print_shares(p, of);
}

static int print_tables(struct report_printer *p)
{
	int r;

	add_kinds(p);
	r = add_gil(p);
	r = r ? r : report_add_states(p->f, p->md, &p->shares);
	print_functions(p);
	print_own_lines(p);
	print_all_lines(p);
	fputs(str_cstr(&p->shares), p->out);
	if (!r && p->style->tree)
		r = report_print_tree(p);
	else if (!r && p->style->by)
		r = print_shares(p, p->style->by)
			    ?: report_print_gil_matrix(p)
			    ?: report_print_wakers(p);
	if (!r && p->style->per_process)
		r = print_other_shares(p, "process");
	if (!r && p->style->per_thread)
		r = print_other_shares(p, "thread");
	return r;
}

/*
 * Prints only the table of states, without the other tables. It is called if the profile has no
 * samples of the shown value.
 */
static int print_states(struct report_printer *p)
{
	int r = report_add_states(p->f, p->md, &p->shares);

	fputs(str_cstr(&p->shares), p->out);
	return r;
}

static int print_all(struct report_printer *p)
{
	int r;

	report_print_use(p);
	report_print_lede(p);
	report_print_head(p);
	report_print_other_values(p);
	report_print_notes(p);
	r = costs_whole(&p->f->costs) ? print_tables(p) : print_states(p);
	str_fini(&p->row);
	str_fini(&p->shares);
	if (!r && (fflush(p->out) || ferror(p->out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the report");
	return r;
}

int report_print_text(const struct report_facts *f, const struct report_style *style, FILE *out)
{
	struct report_printer p = {.f = f, .style = style, .out = out};

	return print_all(&p);
}

int report_print_md(const struct report_facts *f, const struct report_style *style, FILE *out)
{
	struct report_printer p = {.f = f, .style = style, .out = out, .md = true};

	return print_all(&p);
}
