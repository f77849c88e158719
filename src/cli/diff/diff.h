/* SPDX-License-Identifier: BSD-2-Clause */
/* krait diff: its printers and its verdict for scripts. */
#ifndef CLI_DIFF_DIFF_H
#define CLI_DIFF_DIFF_H

#include <stdio.h>
#include "cli/source_recorded.h"
#include "view/diff.h"
#include "view/pattern.h"
#include "view/unmatched.h"

struct diff_facts {
	const char *name[DIFF_SIDES]; /* files, or labels */
	struct diff diff;
	const char *type, *unit; /* of the values */
	const char
		*per; /* "requests", "run"; NULL = a second of wall time, or nothing (by_share) */
	uint64_t runs[DIFF_SIDES];  /* of .per "run": whole runs that ended with 0; else 0 */
	const char *by;		    /* root frames of a page; rows of a table; or NULL */
	bool groups;		    /* rows are groups of .by, not functions */
	struct unmatched unmatched; /* of both */

	struct str unjudged; /* by a --fail-if: see fail_rule_unjudged() */
	struct str unmarked; /* likewise */

	/* A page's: whose text it may hold, and what the page that a recording was in has, or "". */
	struct source_recorded source[DIFF_SIDES];
	struct str text[DIFF_SIDES];
};

struct diff_style {
	unsigned limit;
	bool colored;
	int width;
};

/* 0 or -errno + message. */
_must_use_ int diff_print_text(const struct diff_facts *f, const struct diff_style *style,
			       FILE *out);
_must_use_ int diff_print_md(const struct diff_facts *f, const struct diff_style *style, FILE *out);
_must_use_ int diff_print_json(const struct diff_facts *f, const struct diff_style *style,
			       FILE *out);

_must_use_ int diff_print_page(const struct diff_facts *f, const struct diff_style *style,
			       FILE *out);

/*
 * Appends sentences: the first line, what changed most, of the cost where the work is known, else of the
 * shares and of the whole; which function chance may have changed by as much, if any; what all cost
 * together (where the work isn't known the first line has it).
 */
void diff_add_verdict(const struct diff_facts *f, struct str *b);
void diff_add_doubt(const struct diff_facts *f, struct str *b);
void diff_add_sum(const struct diff_facts *f, struct str *b);
/* How much the garbage collector took of each side, where that is worth a word. */
void diff_add_gc(const struct diff_facts *f, struct str *b);

/* Does it say something new: it changed by more than noise, and not only because what it calls did? */
bool diff_row_counts(const struct diff_row *row);
size_t diff_count_changed(const struct diff_facts *f);

/* The row whose share grew (@way 1) or fell (-1) most, of what; NULL: none by more than noise. */
const struct diff_row *diff_share_moved(const struct diff_facts *f, int way, enum diff_what *what);

/* Appends a value of the measure: "338 ms/s", "1.2 ms", "33.8 %"; and what it is of. */
void diff_add_value(const struct diff_facts *f, double value, struct str *b);
/* "+15.7 %", "new", "gone". */
void diff_add_relative(const struct diff_cost *c, struct str *b);

/* --fail-if "self:NAME>+5%", "total:json.*>2points". */
struct fail_rule {
	const char *text; /* borrowed: as it was typed */
	enum diff_what what;
	char *name; /* pattern; heap */
	bool less, points;
	double limit; /* in percent or points; signed */
};

/* 0, or -EINVAL + message. */
_must_use_ int fail_rule_parse(const char *text, struct fail_rule *ret);
void fail_rule_fini(struct fail_rule *r);

/*
 * Is it hit, by a change that is more than noise? Then 1 and the reason in @why; 0; -ENOMEM +
 * message. Says so where no function has the name.
 */
_must_use_ int fail_rule_hit(const struct fail_rule *r, const struct diff_facts *f,
			     struct str *why);

/*
 * Appends a sentence on what went beyond the limit and isn't judged by it: what most functions share, and what
 * is new where the name is a pattern. 0 or -ENOMEM + message.
 */
_must_use_ int fail_rule_unjudged(const struct fail_rule *r, const struct diff_facts *f,
				  struct str *b);

/* Appends a sentence on the change that hits it, if neither first line nor table mark that one. 0 or -ENOMEM + message. */
_must_use_ int fail_rule_unmarked(const struct fail_rule *r, const struct diff_facts *f,
				  struct str *b);

#endif
