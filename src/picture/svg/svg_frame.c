/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes what surrounds the boxes: title, numbers of the recording, legend, and what wasn't drawn.
 */
#include "format/common/options.h"
#include "picture/svg/svg.h"

#include <time.h>
#include "picture/markup.h"

/* Longer titles, such as a long command line, are cut, so that the controls have room. */
enum { TITLE_COLUMNS = 64 };

static void add_title(const struct svg *s, size_t columns, struct str *b)
{
	_cleanup_str_ struct str made = {};
	const char *title;
	size_t n;

	roots_title(&s->roots, s->opt->title, &made);
	title = str_cstr(&made);
	n = markup_fit(title, columns);
	markup_add_xml(b, title, n);
	if (title[n])
		str_add(b, "\xe2\x80\xa6");
}

/*
 * Appends how often samples were taken: "999 Hz" if the period is a time, else "every 1,000,000
 * cycles". Appends nothing if the period is 1, because then each event was counted, or if it is the
 * period of a value that isn't shown.
 */
static void add_rate(const struct svg *s, struct str *b)
{
	const struct profile_meta *meta = profile_meta(s->p);

	if (meta->period <= 1 || !meta->period_type.unit || !profile_samples_are_of(meta, s->value))
		return;
	if (streq(meta->period_type.unit, "nanoseconds")) {
		str_addf(b, " \xc2\xb7 %.4g Hz", 1e9 / meta->period);
		return;
	}
	str_add(b, " \xc2\xb7 every ");
	markup_add_count(b, meta->period);
	str_add_c(b, ' ');
	markup_add_xml(b, meta->period_type.type, strlen(meta->period_type.type));
}

static void add_date(const struct profile_meta *meta, struct str *b)
{
	time_t t = meta->time_ns / (int64_t)NSEC_PER_SEC;
	char date[64];
	struct tm tm;

	/* The time is given in UTC, so that a recording makes the same picture on every machine. */
	if (meta->time_ns <= 0 || !gmtime_r(&t, &tm) ||
	    !strftime(date, sizeof(date), " \xc2\xb7 %Y-%m-%d %H:%M UTC", &tm))
		return;
	str_add(b, date);
}

static void add_numbers(const struct svg *s, struct str *b)
{
	const struct profile_meta *meta = profile_meta(s->p);
	bool counted = svg_add_count(s, s->counted, b);

	if (s->value || !counted) {
		const struct profile_value_type *type = &meta->values[s->value];
		bool cpu = streq(type->type, "cpu");

		str_add(b, counted ? " \xc2\xb7 " : "");
		svg_add_value(s, s->all, b);
		str_add_c(b, ' ');
		markup_add_xml(b, cpu ? "CPU time" : type->type,
			       strlen(cpu ? "CPU time" : type->type));
	}
	if (s->less) {
		str_add(b, ": ");
		svg_add_value(s, s->tree.nodes.v[0].value, b);
		str_add(b, " more, which is drawn, and ");
		svg_add_value(s, s->less, b);
		str_add(b, " less");
	}
	if (meta->duration_ns > 0) {
		str_add(b, " in ");
		markup_add_value(b, meta->duration_ns, "nanoseconds");
	}
	add_rate(s, b);
	add_date(meta, b);
}

/*
 * The rows of the legend, in order; each is a colour family of svg.css. .members: which colours of
 * the family the legend shows, as digits.
 */
static const struct {
	char family;
	const char *members;
} families[] = {{'p', "148"}, {'q', "148"}, {'s', "148"}, {'i', ""}, {'n', "02"},
		{'j', ""},    {'k', "02"},  {'g', ""},	  {'m', ""}};

/*
 * Draws a swatch (a small box that shows a colour). It has stripes if the colour family has several
 * colours.
 */
static void add_swatch(size_t row, double x, struct str *b)
{
	size_t n = *families[row].members ? strlen(families[row].members) : 1;

	for (size_t i = 0; i < n; i++) {
		char class[3] = {families[row].family, families[row].members[i]};

		str_addf(b,
			 "<g class=\"b %s\"><rect x=\"%.1f\" y=\"60\" width=\"%.1f\" "
			 "height=\"12\"/></g>",
			 class, x + 15.0 * i / n, 15.0 / n - (i + 1 < n));
	}
}

/* Explains the colours that the picture uses. */
static void add_legend(const struct svg *s, struct str *b)
{
	double x = SVG_MARGIN;

	str_add(b, "<g id=\"legend\">\n");
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		vec_foreach(f, &s->functions) {
			const char *name = function_kind_name(f);

			if (f->class[0] != families[i].family)
				continue;
			add_swatch(i, x, b);
			str_addf(b, "<text class=\"l\" x=\"%.1f\" y=\"70\">%s</text>\n", x + 20,
				 name);
			x += 20 + 7.1 * strlen(name) + 16;
			break;
		}
	}
	str_add(b, "</g>\n");
}

void svg_put_header(const struct svg *s, struct str *b)
{
	str_addf(b, "<text class=\"t\" id=\"title\" x=\"%d\" y=\"28\">", SVG_MARGIN);
	add_title(s, TITLE_COLUMNS, b);
	str_addf(b, "</text>\n<text class=\"l\" id=\"numbers\" x=\"%d\" y=\"48\">", SVG_MARGIN);
	add_numbers(s, b);
	str_add(b, "</text>\n");
	add_legend(s, b);
}

void svg_put_description(const struct svg *s, struct str *b)
{
	str_add(b, "<title>");
	add_title(s, SIZE_MAX, b);
	str_add(b, " - krait</title>\n<desc>Flame graph, root on top; a box is a function, its "
		   "width the "
		   "share of ");
	add_numbers(s, b);
	str_add(b, "</desc>\n");
}

void svg_put_footer(const struct svg *s, struct str *b)
{
	double total = s->shares_of;

	str_addf(b,
		 "<g id=\"footer\" transform=\"translate(0 %u)\"><text class=\"l\" x=\"%d\" "
		 "y=\"21\">",
		 SVG_HEADER + s->depth * SVG_ROW, SVG_MARGIN);
	if (!total)
		str_add(b, "No samples. ");
	if (s->not_drawn) {
		markup_add_count(b, s->not_drawn);
		str_add(b, s->not_drawn == 1 ? " box" : " boxes");
		str_add(b, " narrower than ");
		markup_add_percent(b, s->threshold, total);
		if (s->depth == SVG_MAX_DEPTH) {
			str_add(b, " or deeper than ");
			markup_add_count(b, SVG_MAX_DEPTH);
		}
		str_add(b, " not drawn, together ");
		markup_add_percent(b, s->not_drawn_value, total);
		str_add(b, " of all. ");
	}
	str_add(b, "The recording is in this file.");
	str_addf(b, "</text><text class=\"l\" id=\"made\" text-anchor=\"end\" x=\"%d\" y=\"21\">",
		 SVG_WIDTH - SVG_MARGIN);
	markup_add_xml(b, "krait " KRAIT_VERSION, strlen("krait " KRAIT_VERSION));
	str_add(b, "</text></g>\n");
}
