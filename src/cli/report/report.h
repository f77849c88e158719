/* SPDX-License-Identifier: BSD-2-Clause */
/* What `krait report` shows: the facts, and the functions that print them. */
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
	unsigned value; /* index of the value type that is shown */
	struct view_totals totals;
	/* .filtered: filters left out samples; .frames_left_out: filters left out frames */
	bool filtered, frames_left_out;
	/*
	 * true: filters chose samples by their stacks or labels, so some of a thread's samples may
	 * be missing
	 */
	bool partial;
	/* sum of the waits that were left out because their threads had no work (--idle) */
	int64_t idle;
	bool too_few; /* there are too few samples to say where most of the value is */
	struct profile_sum *sums;
	size_t n_sums;
	struct costs costs; /* what functions and lines cost, the largest first */
	struct lede lede;
	struct str waits; /* the sentence about what threads wait for; empty: it isn't made */
	struct source_recorded source; /* rules for which files' source text may be shown */
	struct page_text page;	       /* the source text in the profile file, if it is a page */
};

struct report_style {
	unsigned limit;	 /* the most rows of a table */
	bool fit;	 /* true: a table has fewer rows if they wouldn't fit into .height */
	unsigned height; /* rows of the terminal; 0: output isn't a terminal */
	bool tree, per_process, per_thread;
	enum view_grain grain; /* what a row stands for: function, line or module */
	bool colored;
	int width;
	const char *by;
};

#define REPORT_TALL 40 /* rows of a terminal that has room for long tables */

/*
 * Why --source would show a source line that isn't shown now. These are bits, so the reasons of
 * several lines can be combined.
 */
enum source_hidden {
	SOURCE_SHOWN,
	SOURCE_FOREIGN = 1, /* the file belongs to another user */
	SOURCE_PRIVATE = 2, /* root asks, and the file is root's and not readable for others */
};

/*
 * A source line without blanks around it, and the expression in it that takes most of the line's
 * time, if known.
 */
struct report_source_line {
	struct str text; /* the source line; empty: it isn't shown */
	/* byte offsets of the expression in .text; equal: not known, or it is all of .text */
	size_t from, to;
	bool changed; /* the file on disk isn't the one that ran */
	enum source_hidden hidden;
};

/* Finds a source line. Never fails: text that may not be shown is left empty. */
void report_source_find(const struct report_facts *f, const struct cost_line *l,
			struct report_source_line *ret);
void report_source_line_fini(struct report_source_line *l);

/* Appends the first lines of @f->costs, which must be sorted. @md: as Markdown. */
void report_add_lines(const struct report_facts *f, const struct cost_lines *lines,
		      const struct report_style *style, bool md, struct str *b);
double report_percent(const struct report_facts *f, int64_t value);
/* Appends a percentage for a table. @style NULL: as a Markdown cell that isn't closed. */
void report_add_percent(const struct report_facts *f, const struct report_style *style,
			int64_t value, struct str *b);

/* Print the report. 0 or -errno + message. */
_must_use_ int report_print_text(const struct report_facts *f, const struct report_style *style,
				 FILE *out);
_must_use_ int report_print_md(const struct report_facts *f, const struct report_style *style,
			       FILE *out);
_must_use_ int report_print_json(const struct report_facts *f, const struct report_style *style,
				 FILE *out);

/* Sets .value to the index of value @type (NULL: the profile's default). 0; -EINVAL + message. */
_must_use_ int report_find_value(struct report_facts *f, const char *type);
/* Sets .too_few. 0 or -errno + message. */
_must_use_ int report_find_too_few(struct report_facts *f);
/*
 * Computes .costs (unsorted), .lede, .waits and .too_few from .sums. @inverted: stacks begin with
 * their innermost frame. 0 or -ENOMEM + message.
 */
_must_use_ int report_find_costs(struct report_facts *f, enum costs_by by, bool inverted);

/*
 * Makes .waits from all samples of .p, for a caller that leaves out some samples after that and
 * sets .partial.
 * @by, @inverted: as for report_find_costs(). 0 or -errno + message.
 */
_must_use_ int report_find_waits(struct report_facts *f, enum costs_by by, bool inverted);

/* Frees what report_find_costs() and the caller put into @f: .costs, .waits and .sums. */
void report_facts_fini(struct report_facts *f);

/* Parts that text and Markdown share. They append the first sentence, and "1.73 s of CPU time". */
void report_add_lede(const struct report_facts *f, struct str *b);
void report_add_totals(const struct report_facts *f, struct str *b);
/*
 * Appends lines about the GIL, each with its newline; nothing if the recording says nothing of the
 * GIL. 0 or -errno + message.
 */
_must_use_ int report_add_gil(const struct report_facts *f, int width, struct str *out);
/*
 * Appends rows on how long threads were in which state, each with its newline; nothing if the
 * recording has no states. 0 or -errno + message.
 */
_must_use_ int report_add_states(const struct report_facts *f, bool md, struct str *out);
/*
 * Appends what the values gil_wait and gil_blame say, in lines of @width columns; @md: as Markdown,
 * a line for each sentence. Returns what report_add_gil() returns.
 */
_must_use_ int report_add_gil_waits(const struct report_facts *f, int width, bool md,
				    struct str *out);
/*
 * Write who waited for whom for the GIL and for locks, as a member of JSON. 0 or -errno + message.
 */
_must_use_ int report_put_gil_waits(const struct report_facts *f, FILE *out);
_must_use_ int report_put_lock_waits(const struct report_facts *f, FILE *out);
const char *report_value_words(const struct report_facts *f);
/*
 * Must every report print this comment of a profile? Such comments say what was left out, mended or
 * too little to count.
 */
bool report_is_note(const char *comment);

/*
 * A process or thread, and the value of its samples. In a list, the largest value comes first.
 * roots.h describes the names.
 */
struct report_share {
	char *name;
	int64_t value;
	unsigned n; /* number of processes or threads that fold.c has merged into the row; 0: one */
};
typedef VEC(struct report_share) report_shares;
_must_use_ int report_shares_of(const struct report_facts *f, const char *by, report_shares *ret);
void report_shares_fini(report_shares *s);
/*
 * fold.c: merges processes or threads (@by) whose names differ only in numbers: "Thread-N (work)".
 * 0 or -ENOMEM + message.
 */
_must_use_ int report_shares_fold(report_shares *s, const char *by);

#endif
