/* SPDX-License-Identifier: BSD-2-Clause */
/* What `krait report` shows without -o: the facts, and those who print them. */
#ifndef CLI_REPORT_REPORT_H
#define CLI_REPORT_REPORT_H

#include <stdio.h>
#include "cli/color.h"
#include "cli/source_recorded.h"
#include "picture/html/page_text.h"
#include "view/costs.h"
#include "view/view.h"

struct report_facts {
	const char *path;
	struct profile *p;
	unsigned value; /* index */
	struct view_totals totals;
	bool filtered, frames_left_out; /* by the filters: samples, frames of them */
	struct profile_sum *sums;
	size_t n_sums;
	struct costs costs; /* sorted */
	struct lede lede;
	struct source_recorded source; /* whose text may be shown */
	struct page_text page;	       /* what the file itself has, if it is a page */
};

struct report_style {
	unsigned limit;	 /* rows of a table */
	bool fit;	 /* fewer lines where all would be more than .height */
	unsigned height; /* rows of the terminal, 0 = it is none */
	bool tree, per_process, per_thread;
	enum view_grain grain; /* what a row is */
	bool colored;
	int width;
	const char *by;
};

#define REPORT_TALL 40 /* rows of a terminal that has room for long tables */

/* Text that only --source shows, and why; bits, for many lines. */
enum source_hidden {
	SOURCE_SHOWN,
	SOURCE_FOREIGN = 1, /* another user's file */
	SOURCE_PRIVATE = 2, /* root's, who asked, and others may not read it */
};

/* A line of source text without the blanks around it; what most of its time is in, if that is known. */
struct report_source_line {
	struct str text; /* empty: none to be shown */
	size_t from, to; /* bytes; equal: not known, or it is all of the text */
	bool changed;	 /* there is a file, but it isn't the one that ran */
	enum source_hidden hidden;
};

/* Never fails: what may not be shown is left empty. */
void report_source_find(const struct report_facts *f, const struct cost_line *l,
			struct report_source_line *ret);
void report_source_line_fini(struct report_source_line *l);

/* Appends the first of sorted lines of .costs; @md: as Markdown. */
void report_add_lines(const struct report_facts *f, const struct cost_lines *lines,
		      const struct report_style *style, bool md, struct str *b);
double report_percent(const struct report_facts *f, int64_t value);
/* Appends it for a table; @style NULL: as a cell of Markdown, still open. */
void report_add_percent(const struct report_facts *f, const struct report_style *style,
			int64_t value, struct str *b);

/* 0 or -errno + message. */
_must_use_ int report_print_text(const struct report_facts *f, const struct report_style *style,
				 FILE *out);
_must_use_ int report_print_md(const struct report_facts *f, const struct report_style *style,
			       FILE *out);
_must_use_ int report_print_json(const struct report_facts *f, const struct report_style *style,
				 FILE *out);

/* Index of value @type, NULL = the profile's default, in .value. 0; -EINVAL + message. */
_must_use_ int report_find_value(struct report_facts *f, const char *type);
/*
 * Costs, unsorted, and the first sentence, of .sums. @inverted: stacks begin with their innermost frame.
 * 0 or -ENOMEM + message.
 */
_must_use_ int report_find_costs(struct report_facts *f, enum costs_by by, bool inverted);

/* Parts that text and Markdown share: the sentence, "1.73 s of CPU time", "CPU time". */
void report_add_lede(const struct report_facts *f, struct str *b);
void report_add_totals(const struct report_facts *f, struct str *b);
/* Lines about the GIL, each with its newline; none where the recording says nothing of it. 0 or -errno + message. */
_must_use_ int report_add_gil(const struct report_facts *f, int width, struct str *out);
const char *report_value_words(const struct report_facts *f);
/* A comment of the profile that every report says: what a reader left out or mended. */
bool report_is_note(const char *comment);

/* Samples' values by process or thread, largest first; see roots.h for the names. */
struct report_share {
	char *name;
	int64_t value;
	unsigned n; /* processes or threads; 0 = one */
};
typedef VEC(struct report_share) report_shares;
_must_use_ int report_shares_of(const struct report_facts *f, const char *by, report_shares *ret);
void report_shares_fini(report_shares *s);
/*
 * fold.c: those of @by, process or thread, whose names differ by numbers alone become one,
 * "Thread-N (work)". 0 or -ENOMEM + message.
 */
_must_use_ int report_shares_fold(report_shares *s, const char *by);

#endif
