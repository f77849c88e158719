/* SPDX-License-Identifier: BSD-2-Clause */
/* What `krait report` shows: facts about a profile, and the functions that print them. */
#ifndef CLI_REPORT_REPORT_H
#define CLI_REPORT_REPORT_H

#include <stdio.h>
#include "cli/color.h"
#include "cli/source_recorded.h"
#include "picture/html/page_text.h"
#include "view/costs/costs.h"
#include "view/view.h"

struct report_facts {
	const char *path;
	struct profile *p;
	unsigned value; /* index of the value that is shown */
	struct view_totals totals;
	/* .filtered: filters left out samples; .frames_left_out: filters left out frames */
	bool filtered, frames_left_out;
	/*
	 * filters chose samples by stacks or labels, so some of a thread's samples may be missing
	 */
	bool partial;
	/*
	 * how long threads waited because they had no work, if these waits were left out (see
	 * --idle)
	 */
	int64_t idle;
	bool too_few; /* the samples are too few to say which code has most of the value */
	struct profile_sum *sums;
	size_t n_sums;
	struct costs costs; /* what functions and lines cost, the largest first */
	struct lede lede;
	struct str waits; /* the sentence about what threads wait for; empty: there is none */
	struct source_recorded source; /* decides which files' source text may be shown */
	/* the source text in the profile's file, if that is a page */
	struct page_text page;
};

struct report_style {
	unsigned limit; /* how many rows a table may have */
	/* a table has fewer rows than .limit if .limit rows don't fit into .height */
	bool fit;
	unsigned height; /* rows of the terminal; 0: output isn't a terminal */
	bool tree, per_process, per_thread;
	enum view_grain grain; /* what a row stands for: function, line or module */
	bool colored;
	int width;
	const char *by;
};

#define REPORT_TALL 40 /* a terminal with at least this many rows has room for long tables */

/*
 * Why a source line isn't shown, although it would be with --source. The values are bits, so that
 * the reasons for several lines can be combined.
 */
enum source_hidden {
	SOURCE_SHOWN,
	SOURCE_FOREIGN = 1, /* the file belongs to another user */
	SOURCE_PRIVATE = 2, /* krait runs as root, and other users may not read root's file */
};

/*
 * A source line without the blanks around it. If it is known, also the expression in it that takes
 * most of the line's time.
 */
struct report_source_line {
	struct str text; /* the source line; empty: it isn't shown */
	/*
	 * where the expression begins and ends in .text, in bytes; if both are equal, the
	 * expression isn't known, or is all of .text
	 */
	size_t from, to;
	bool changed; /* the file was changed, so its text isn't what ran */
	enum source_hidden hidden;
};

/* Finds a source line. If its text may not be shown, ret->text stays empty. Never fails. */
void report_source_find(const struct report_facts *f, const struct cost_line *l,
			struct report_source_line *ret);
void report_source_line_fini(struct report_source_line *l);

/* Appends the first lines of @lines, as rows of a table. @md: as Markdown. */
void report_add_lines(const struct report_facts *f, const struct cost_lines *lines,
		      const struct report_style *style, bool md, struct str *b);
double report_percent(const struct report_facts *f, int64_t value);
/* Appends a percentage as a cell of a table. @style NULL: as a Markdown cell, without its end. */
void report_add_percent(const struct report_facts *f, const struct report_style *style,
			int64_t value, struct str *b);

/* Print the report. 0 or -errno + message. */
_must_use_ int report_print_text(const struct report_facts *f, const struct report_style *style,
				 FILE *out);
_must_use_ int report_print_md(const struct report_facts *f, const struct report_style *style,
			       FILE *out);
_must_use_ int report_print_json(const struct report_facts *f, const struct report_style *style,
				 FILE *out);

/*
 * Sets .value to the index of the value called @type; NULL: the profile's default. 0, or -EINVAL +
 * message.
 */
_must_use_ int report_find_value(struct report_facts *f, const char *type);
/* Finds out whether the samples are too few (.too_few). 0 or -errno + message. */
_must_use_ int report_find_too_few(struct report_facts *f);
/*
 * Computes .costs (unsorted), .lede, .waits and .too_few from .sums. @inverted: stacks begin with
 * their innermost frame. 0 or -ENOMEM + message.
 */
_must_use_ int report_find_costs(struct report_facts *f, enum costs_by by, bool inverted);

/*
 * Makes the sentence about what threads wait for (.waits), from all samples of .p. Call it before
 * samples are left out and .partial is set. @by, @inverted: as for report_find_costs(). 0 or -errno
 * + message.
 */
_must_use_ int report_find_waits(struct report_facts *f, enum costs_by by, bool inverted);

/* Frees what report_find_costs() and the caller put into @f: .costs, .waits and .sums. */
void report_facts_fini(struct report_facts *f);

/*
 * Append what text and Markdown both have: report_add_lede() the first sentence,
 * report_add_totals() how much was recorded, such as "1.73 s of CPU time".
 */
void report_add_lede(const struct report_facts *f, struct str *b);
void report_add_totals(const struct report_facts *f, struct str *b);
/*
 * Appends lines about the GIL, each with its newline. Appends nothing if the recording has no
 * information about the GIL. 0 or -errno + message.
 */
_must_use_ int report_add_gil(const struct report_facts *f, int width, struct str *out);
/*
 * Appends rows that say how long threads were in each state, each with its newline. Appends nothing
 * if the recording has no states. 0 or -errno + message.
 */
_must_use_ int report_add_states(const struct report_facts *f, bool md, struct str *out);
/*
 * Appends sentences about the values gil_wait and gil_blame, in lines of @width columns. With @md,
 * as Markdown: one line for each sentence. 0 or -errno + message.
 */
_must_use_ int report_add_gil_waits(const struct report_facts *f, int width, bool md,
				    struct str *out);
/*
 * Write a member of JSON each: which threads waited for which holders of the GIL, and who ended
 * which threads' waits for locks. 0 or -errno + message.
 */
_must_use_ int report_put_gil_waits(const struct report_facts *f, FILE *out);
_must_use_ int report_put_lock_waits(const struct report_facts *f, FILE *out);
const char *report_value_words(const struct report_facts *f);
/*
 * Tells whether each report has to print this comment of a profile, because it says what was left
 * out, mended, or too little to count.
 */
bool report_is_note(const char *comment);

/*
 * A process or thread, and the sum of its samples' values. Lists of these begin with the largest.
 * roots.h describes the names.
 */
struct report_share {
	char *name;
	int64_t value;
	/* how many processes or threads fold.c has joined into this row; 0: it is a single one */
	unsigned n;
};
typedef VEC(struct report_share) report_shares;
_must_use_ int report_shares_of(const struct report_facts *f, const char *by, report_shares *ret);
void report_shares_fini(report_shares *s);
/*
 * fold.c: joins the processes or threads (@by) whose names differ only in numbers: "Thread-N
 * (work)". 0 or -ENOMEM + message.
 */
_must_use_ int report_shares_fold(report_shares *s, const char *by);

#endif
