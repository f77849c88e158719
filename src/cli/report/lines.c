/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the lines that cost most: their source text, with carets below the expression that
 * takes most of a line's time.
 */
#include "base/cleanup.h"
#include "cli/cells.h"
#include "cli/report/report.h"
#include "picture/markup.h"

#define PERCENT_WIDTH 11 /* how many columns a percentage takes, including the blanks after it */

static const char changed[] = "(the file changed since)";

struct lines {
	const struct report_facts *f;
	const struct cost_lines *lines;
	const struct report_style *style;
	struct str *b;
	int for_place; /* how many columns the place (file and line) of a row may take */
	/* why source text is hidden: bits of enum source_hidden, of all lines together */
	unsigned hidden;
};

static void add_place(const struct lines *x, const struct cost_line *l, struct str *b)
{
	costs_place(&x->f->costs, l->location, l->line, b);
}

/*
 * Returns at which byte of the source line to begin, so that the marked expression is visible in
 * @width columns. "…" stands at each end that is cut.
 */
static size_t window(const struct report_source_line *s, int width)
{
	const char *text = str_cstr(&s->text), *at = text;

	while (at < text + s->from &&
	       cells_width(at, (size_t)(text + s->to - at)) > width - 1 - (at > text))
		markup_next(&at);
	return MIN((size_t)(at - text), s->from);
}

static void add_carets(const struct lines *x, const struct report_source_line *s, size_t start,
		       int width)
{
	const char *text = str_cstr(&s->text);
	int before = (start > 0) + cells_width(text + start, s->from - start);
	int n = cells_width(text + s->from, s->to - s->from);

	n = MIN(n, width - before);
	if (s->from == s->to || n <= 0)
		return;
	str_addf(x->b, "%*s%s", PERCENT_WIDTH + x->for_place + 2 + before, "",
		 color_code(x->style->colored, COLOR_RED));
	while (n--)
		str_add_c(x->b, '^');
	str_addf(x->b, "%s\n", color_code(x->style->colored, COLOR_OFF));
}

static void add_text(struct lines *x, const struct cost_line *l)
{
	_cleanup_(report_source_line_fini) struct report_source_line s = {};
	int width = x->style->width - PERCENT_WIDTH - x->for_place - 2;
	_cleanup_str_ struct str place = {};
	bool any;
	size_t start;

	add_place(x, l, &place);
	report_source_find(x->f, l, &s);
	any = s.text.n || s.changed;
	x->hidden |= s.hidden;
	report_add_percent(x->f, x->style, l->self, x->b);
	str_add(x->b, "   ");
	cells_add(x->b, str_cstr(&place), x->for_place, true, any);
	start = window(&s, width);
	if (any)
		str_addf(x->b, "  %s", start ? "…" : "");
	cells_add(x->b, s.changed ? changed : str_cstr(&s.text) + start, width - (start > 0), false,
		  false);
	str_add_c(x->b, '\n');
	add_carets(x, &s, start, width);
}

static void add_md(struct lines *x, const struct cost_line *l)
{
	_cleanup_(report_source_line_fini) struct report_source_line s = {};
	_cleanup_str_ struct str place = {};
	const char *text;

	add_place(x, l, &place);
	report_source_find(x->f, l, &s);
	text = str_cstr(&s.text);
	report_add_percent(x->f, NULL, l->self, x->b);
	str_add(x->b, "| ");
	markup_add_md_code(x->b, str_cstr(&place), place.n);
	str_add(x->b, " | ");
	if (s.changed)
		str_add(x->b, changed);
	markup_add_md_code(x->b, text, s.from);
	if (s.from < s.to) {
		str_add(x->b, "<ins>");
		markup_add_md_code(x->b, text + s.from, s.to - s.from);
		str_add(x->b, "</ins>");
	}
	markup_add_md_code(x->b, text + s.to, s.text.n - s.to);
	str_add(x->b, " |\n");
}

/* Returns how many columns the places of the first @n lines need. The source text gets the rest. */
static int place_width(const struct lines *x, size_t n)
{
	int widest = 0, most = MAX((x->style->width - PERCENT_WIDTH) * 2 / 5, 20);

	for (size_t i = 0; i < n; i++) {
		_cleanup_str_ struct str place = {};

		add_place(x, &x->lines->list.v[i], &place);
		widest = MAX(widest, cells_width(str_cstr(&place), place.n));
	}
	return MIN(widest, most);
}

static void add_hidden(const struct lines *x, const char *files)
{
	bool narrow = x->style->width < 64;

	str_addf(x->b, "%*s(%s: --source%s)\n", narrow ? 0 : PERCENT_WIDTH, "", files,
		 narrow ? "" : " shows their text");
}

void report_add_lines(const struct report_facts *f, const struct cost_lines *lines,
		      const struct report_style *style, bool md, struct str *b)
{
	size_t n = MIN(lines->list.n, (size_t)style->limit);
	struct lines x = {.f = f, .lines = lines, .style = style, .b = b};

	x.for_place = place_width(&x, n);
	for (size_t i = 0; i < n; i++)
		(md ? add_md : add_text)(&x, &lines->list.v[i]);
	if (x.hidden & SOURCE_FOREIGN)
		add_hidden(&x, "files that aren't yours");
	if (x.hidden & SOURCE_PRIVATE)
		add_hidden(&x, "files not everybody may read");
}
