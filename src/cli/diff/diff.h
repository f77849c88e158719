/* SPDX-License-Identifier: BSD-2-Clause */
/* krait diff: its printers, and its verdict for scripts. */
#ifndef CLI_DIFF_DIFF_H
#define CLI_DIFF_DIFF_H

#include <stdio.h>
#include "cli/source_recorded.h"
#include "view/compare/diff.h"
#include "view/filter/pattern.h"
#include "view/filter/unmatched.h"

struct diff_facts {
	/* names of the two sides of the comparison: files, or values of a label */
	const char *name[DIFF_SIDES];
	struct diff diff;
	const char *type, *unit; /* the type of the compared values, and the unit of that type */
	/*
	 * What a unit of work is: "requests", "run". NULL: costs are per second of wall time, or
	 * with .by_share only shares are compared.
	 */
	const char *per;
	uint64_t runs[DIFF_SIDES]; /* if .per is "run": how many whole runs ended with 0; else 0 */
	const char *by; /* label for a page's root frames or a table's rows; NULL: none */
	bool groups;	/* rows are groups by the label .by, not functions */
	/* for each side: how long threads without work waited, which the comparison leaves out */
	int64_t idle[DIFF_SIDES];
	struct unmatched unmatched; /* the user's patterns that match on neither side */

	struct str unjudged; /* what fail_rule_unjudged() says, for all --fail-if options */
	struct str unmarked; /* what fail_rule_unmarked() says, for all --fail-if options */

	/*
	 * For a page: rules for which source text it may show. .text is the source text in the page
	 * from which a side was read, or "".
	 */
	struct source_recorded source[DIFF_SIDES];
	struct str text[DIFF_SIDES];
};

struct diff_style {
	unsigned limit;
	bool colored;
	int width;
};

/* Prints the comparison as text. 0 or -errno + message. */
_must_use_ int diff_print_text(const struct diff_facts *f, const struct diff_style *style,
			       FILE *out);
_must_use_ int diff_print_md(const struct diff_facts *f, const struct diff_style *style, FILE *out);
_must_use_ int diff_print_json(const struct diff_facts *f, const struct diff_style *style,
			       FILE *out);

/*
 * Do the two profiles have samples of different events (docs/decisions/0021)? Then their numbers of
 * samples can't be compared.
 */
bool diff_samples_differ(const struct profile_meta *a, const struct profile_meta *b);

/*
 * Chooses the value that is compared: the one called @name; if @name is NULL, the default value of
 * side A. Sets .diff.value, .type and .unit. 0 or -EINVAL + message.
 */
_must_use_ int diff_choose_values(struct diff_facts *f, const char *name);

/* Sets .type and .unit again after the profile of side A, which owns these texts, was replaced. */
void diff_name_value(struct diff_facts *f);

_must_use_ int diff_print_page(const struct diff_facts *f, const struct diff_style *style,
			       FILE *out);

/*
 * diff_add_verdict(): appends the first sentences. If it is known how much work was done, they say
 * which function's cost changed most. Otherwise they say what all functions together cost, and
 * which shares changed most. diff_add_doubt(): if a function's large change may still be chance,
 * appends a sentence about it. diff_add_sum(): appends what all functions together cost; not needed
 * if the verdict says so.
 */
void diff_add_verdict(const struct diff_facts *f, struct str *b);
void diff_add_doubt(const struct diff_facts *f, struct str *b);
void diff_add_sum(const struct diff_facts *f, struct str *b);
/* Appends how long threads without work waited, if that was left out. */
void diff_add_idle(const struct diff_facts *f, struct str *b);
/*
 * Appends which share of each side the garbage collector took, if that is enough to be worth a
 * sentence.
 */
void diff_add_gc(const struct diff_facts *f, struct str *b);

/*
 * Is the row worth mentioning? It is if its function changed by more than noise, and not only
 * because of the functions that it calls.
 */
bool diff_row_counts(const struct diff_row *row);
size_t diff_count_changed(const struct diff_facts *f);

/*
 * Returns the row whose share grew (@way 1) or fell (-1) most, and in *@what whether that is the
 * share of self or of total. NULL: no share did so by more than noise.
 */
const struct diff_row *diff_share_moved(const struct diff_facts *f, int way, enum diff_what *what);

/* diff_add_value(): appends a value of the measure: "338 ms/s", "1.2 ms", "33.8 %". */
void diff_add_value(const struct diff_facts *f, double value, struct str *b);
/* Appends a relative change: "+15.7 %", "new" or "gone". */
void diff_add_relative(const struct diff_cost *c, struct str *b);

/* A limit that a change may not exceed: --fail-if "own:NAME>+5%", "total:json.*>2points". */
struct fail_rule {
	const char *text; /* the limit as it was typed; borrowed */
	enum diff_what what;
	char *name; /* the name in the limit, a pattern; heap */
	bool less, points;
	/* the limit in percent or, if .points, in points; negative for a decrease */
	double limit;
};

/* Parses the limit @text. 0, or -EINVAL + message. On success, call fail_rule_fini(). */
_must_use_ int fail_rule_parse(const char *text, struct fail_rule *ret);
void fail_rule_fini(struct fail_rule *r);

/*
 * Is the limit exceeded by a change that is more than noise? Returns 1 with the reason in @why; 0;
 * -ENOMEM + message. Warns if no function has the name.
 */
_must_use_ int fail_rule_hit(const struct fail_rule *r, const struct diff_facts *f,
			     struct str *why);

/*
 * Appends a sentence about changes that exceed the limit but aren't judged: most functions changed
 * as much; or a function is new, and the limit's name is a pattern. 0 or -ENOMEM + message.
 */
_must_use_ int fail_rule_unjudged(const struct fail_rule *r, const struct diff_facts *f,
				  struct str *b);

/*
 * Appends a sentence about the change that exceeds the limit, if neither the first line nor a mark
 * in the table shows that change. 0 or -ENOMEM + message.
 */
_must_use_ int fail_rule_unmarked(const struct fail_rule *r, const struct diff_facts *f,
				  struct str *b);

#endif
