/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the beginning of a report: how much was recorded, the first sentence, and notes on what
 * was left out when the file was read. text.c prints the tables after it.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "cli/cells.h"
#include "cli/report/print.h"
#include "picture/markup.h"
#include "view/lede/cpu_words.h"

/*
 * how many of the notes on reading a file are printed; a file from elsewhere may cause any number
 * of them
 */
#define NOTES 8

static int64_t count_samples(const struct report_facts *f)
{
	int64_t n = 0;

	for (size_t i = 0; i < f->n_sums; i++)
		if (__builtin_add_overflow(n, f->sums[i].values[0], &n))
			return INT64_MAX;
	return n;
}

/*
 * Tells whether the report's beginning has the number of samples (or whatever the first value
 * counts).
 */
static bool shows_count(const struct report_facts *f)
{
	const struct profile_meta *m = profile_meta(f->p);

	return profile_is_count(m->values[0].unit) && profile_samples_are_of(m, f->value);
}

void report_print_head(struct report_printer *p)
{
	const struct report_facts *f = p->f;
	const struct profile_meta *m = profile_meta(f->p);
	_cleanup_str_ struct str b = {}, md = {};

	report_add_totals(f, &b);
	if (m->duration_ns > 0) {
		str_add(&b, " in ");
		markup_add_value(&b, m->duration_ns, "nanoseconds");
	}
	if (f->value && shows_count(f)) {
		str_add(&b, ", ");
		markup_add_value(&b, count_samples(f), m->values[0].unit);
		str_addf(&b, " %s", m->values[0].type);
	}
	if (f->costs.less) {
		str_add(&b, "; shares are of ");
		markup_add_value(&b, costs_whole(&f->costs), m->values[f->value].unit);
	} else if (f->filtered && f->costs.all < f->totals.all[f->value]) {
		str_add(&b, "; ");
		markup_add_percent(&b, (double)f->costs.all, (double)f->totals.all[f->value]);
		str_add(&b, " of all; shares are of that");
	}
	if (f->idle) {
		str_add(&b, "; ");
		markup_add_value(&b, f->idle, m->values[f->value].unit);
		str_add(&b, " of threads without work left out (--idle)");
	}
	if (p->md)
		markup_add_md(&md, str_cstr(&b), b.n);
	cells_add(&p->row, str_cstr(p->md ? &md : &b), p->md ? INT32_MAX : p->style->width, false,
		  false);
	report_end_row(p);
}

/*
 * Prints the names of those values of the profile that neither the beginning nor the tables of the
 * report show.
 */
void report_print_other_values(struct report_printer *p)
{
	const struct profile_meta *m = profile_meta(p->f->p);
	_cleanup_str_ struct str b = {}, md = {};

	for (unsigned i = shows_count(p->f); i < m->n_values; i++)
		if (i != p->f->value)
			str_addf(&b, "%s %s",
				 b.n ? "," : "Other values, for --value:", m->values[i].type);
	if (!b.n)
		return;
	if (p->md) {
		str_add(&p->row, "\n");
		markup_add_md(&md, str_cstr(&b), b.n);
	}
	cells_add(&p->row, str_cstr(p->md ? &md : &b), p->md ? 2 * MD_COLUMNS : 2 * p->style->width,
		  false, false);
	report_end_row(p);
}

/* Prints the notes on what the reader of the file left out or mended, one in a line. */
void report_print_notes(struct report_printer *p)
{
	unsigned n = 0;

	vec_foreach(text, &profile_meta(p->f->p)->comments.list) {
		_cleanup_str_ struct str md = {};

		if (!report_is_note(*text) || n++ >= NOTES)
			continue;
		if (p->md)
			markup_add_md(&md, *text, strlen(*text));
		if (p->md)
			str_add(&p->row, "\n");
		cells_add(&p->row, p->md ? str_cstr(&md) : *text,
			  p->md ? 2 * MD_COLUMNS : p->style->width, false, false);
		report_end_row(p);
	}
	if (n > NOTES) {
		str_addf(&p->row, "%sand %u more such notes", p->md ? "\n" : "", n - NOTES);
		report_end_row(p);
	}
}

/* Prints a sentence. In a terminal, it is cut after @most columns. */
static void print_sentence(struct report_printer *p, struct str *b, int most)
{
	_cleanup_str_ struct str md = {};

	str_add_c(b, '.');
	if (p->md) {
		str_add(&p->row, "**");
		cells_add(&md, str_cstr(b), 2 * MD_COLUMNS, false, false);
		markup_add_md(&p->row, str_cstr(&md), md.n);
		str_add(&p->row, "**\n");
	} else {
		cells_add(&p->row, str_cstr(b), most, false, false);
	}
	/* A terminal breaks the sentence into several lines, which are counted here. */
	if (!p->md)
		p->above += (unsigned)(MAX(cells_width(str_cstr(&p->row), p->row.n) - 1, 0) /
				       p->style->width);
	report_end_row(p);
}

/*
 * Prints how long the program ran and waited. This stands before the shares, because the shares may
 * be shares of little time.
 */
void report_print_use(struct report_printer *p)
{
	_cleanup_str_ struct str b = {};

	/*
	 * The sentence about waits, if there is one, says how much the most important thread ran
	 * and waited.
	 */
	if (!p->f->waits.n && cpu_words_add(p->f->p, &b))
		print_sentence(p, &b, 4 * p->style->width);
}

void report_print_lede(struct report_printer *p)
{
	_cleanup_str_ struct str b = {};

	report_add_lede(p->f, &b);
	/*
	 * Without tables, the sentence says why there are none, and may have any length. Above
	 * tables it may take two lines, or four if it is about waits. One column is left free,
	 * because a wide character may not fit at the end of a line.
	 */
	print_sentence(p, &b,
		       p->f->waits.n		   ? 4 * p->style->width - 1
		       : costs_whole(&p->f->costs) ? 2 * p->style->width - 1
						   : INT32_MAX);
}
