/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes one box of the picture: rectangle, label, and the title that browsers show without a
 * script.
 */
#include "picture/svg/svg.h"

#include "picture/markup.h"

/*
 * Width of a character in a 12 px fixed-width font: it is 7.22 in DejaVu Sans Mono and Menlo, and
 * less in other fonts.
 */
static const double char_px = 7.23, pad_px = 4;

/*
 * Returns the last part of a Python name: "eggs" of "Spam.eggs", "<lambda>" of
 * "f.<locals>.<lambda>". A native name is returned whole.
 */
static const char *last_part(const struct function *f)
{
	const char *dot = f->kind == KIND_PYTHON && !f->root ? strrchr(f->name, '.') : NULL;

	return dot && dot[1] ? dot + 1 : f->name;
}

/*
 * Appends the longest of these texts that fits: name and file; the name; the name's last part; the
 * beginning of the name's last part.
 */
static void add_label(const struct function *f, size_t columns, struct str *b)
{
	const char *where = *f->file ? f->file : f->kind == KIND_PYTHON ? "" : f->module;
	const char *name = f->name;
	size_t n = markup_columns(name);

	if (n > columns) {
		name = last_part(f);
		n = markup_columns(name);
	}
	if (n > columns) {
		size_t fit = columns >= 3 ? markup_fit(name, columns - 1) : 0;

		if (!fit)
			return;
		markup_add_xml(b, name, fit);
		str_add(b, "\xe2\x80\xa6");
		return;
	}
	markup_add_xml(b, name, strlen(name));
	if (!*where || f->kind == KIND_MARK || n + 1 + markup_columns(where) > columns)
		return;
	str_add(b, "<tspan class=\"f\" dx=\"7\">");
	markup_add_xml(b, where, strlen(where));
	str_add(b, "</tspan>");
}

/*
 * Returns the index in tree.lines of the node's first line; if it has no lines, the index at which
 * they would be.
 */
static size_t first_line(const struct tree *t, uint32_t node)
{
	size_t low = 0, high = t->lines.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->lines.v[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Appends "lines 12: 45.0 %, 14: 30.0 %, 3 more": the function's lines, each with its share of this
 * box's value.
 */
static void add_lines(const struct svg *s, uint32_t node, struct str *b)
{
	size_t i = first_line(&s->tree, node), end = i, shown = 0;

	while (end < s->tree.lines.n && s->tree.lines.v[end].node == node)
		end++;
	if (i == end || (end - i == 1 && s->tree.lines.v[i].line <= 0))
		return;
	str_add(b, "\nlines ");
	for (; i < end && shown < 6; i++, shown++) {
		const struct tree_line *l = &s->tree.lines.v[i];

		str_add(b, shown ? ", " : "");
		str_addf(b, l->line > 0 ? "%d: " : "unknown: ", l->line);
		markup_add_percent(b, l->value, s->tree.nodes.v[node].value);
	}
	if (i < end)
		str_addf(b, ", %zu more", end - i);
}

/* Appends a line that says in which file the function is. */
static void add_place(const struct function *f, const char *place, struct str *b)
{
	if (!*place || f->root)
		return;
	str_add_c(b, '\n');
	markup_add_xml(b, place, strlen(place));
}

const char *svg_counted(const struct svg *s)
{
	const struct profile_meta *meta = profile_meta(s->p);
	bool counts = streq(meta->values[0].unit, "count");

	return counts && profile_samples_are_of(meta, s->value) ? meta->values[0].type : "";
}

bool svg_add_count(const struct svg *s, int64_t n, struct str *b)
{
	const char *what = svg_counted(s);

	if (!*what)
		return false;
	markup_add_count(b, n);
	str_add_c(b, ' ');
	markup_add_xml(b, what, strlen(what) - (n == 1 && streq(what, "samples")));
	return true;
}

void svg_add_value(const struct svg *s, int64_t value, struct str *b)
{
	_cleanup_str_ struct str text = {};

	markup_add_value(&text, value, profile_meta(s->p)->values[s->value].unit);
	markup_add_xml(b, str_cstr(&text), text.n);
	b->failed |= text.failed;
}

static void add_title(const struct svg *s, const struct svg_box *box, struct str *b)
{
	const struct function *f = &s->functions.v[box->function];
	const struct tree_node *n = &s->tree.nodes.v[box->node];
	int64_t total = s->shares_of;
	const struct profile_value_type *type = &profile_meta(s->p)->values[s->value];
	bool counts = *svg_counted(s);

	markup_add_xml(b, f->name, strlen(f->name));
	add_place(f, f->path, b);
	if (f->kind != KIND_PYTHON || !*f->path)
		add_place(f, f->module, b);
	if (*f->language)
		str_addf(b, ", %s", f->language);
	str_add_c(b, '\n');
	markup_add_percent(b, n->value, total);
	str_add(b, " of all, ");
	if (s->value || !counts) {
		svg_add_value(s, n->value, b);
		if (streq(type->unit, "count")) {
			str_add_c(b, ' ');
			markup_add_xml(b, type->type, strlen(type->type));
		}
		str_add(b, counts ? ", " : "");
	}
	svg_add_count(s, n->samples, b);
	if (n->self) {
		str_add(b, "; itself ");
		markup_add_percent(b, n->self, total);
	}
	add_lines(s, box->node, b);
}

void svg_put_box(const struct svg *s, const struct svg_box *box, struct str *b)
{
	const struct function *f = &s->functions.v[box->function];
	const struct tree_node *n = &s->tree.nodes.v[box->node];
	double scale = (double)(SVG_WIDTH - 2 * SVG_MARGIN) / MAX(s->tree.nodes.v[0].value, 1);
	double x = SVG_MARGIN + box->start * scale, width = n->value * scale;
	unsigned y = SVG_HEADER + n->depth * SVG_ROW;

	/* A gap of one pixel separates boxes; narrow boxes get a smaller gap. */
	str_addf(b, "<g class=\"b %s\"><title>", f->class);
	add_title(s, box, b);
	str_addf(b, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>", x, y,
		 width > 3 ? width - 1 : width * 0.7, SVG_ROW - 1);
	if (width >= 2 * pad_px + 3 * char_px) {
		str_addf(b, "<text x=\"%.1f\" y=\"%u\">", x + pad_px, y + 13);
		add_label(f, (width - 2 * pad_px) / char_px, b);
		str_add(b, "</text>");
	}
	str_add(b, "</g>\n");
}
