/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait diff`: functions that print the comparison, and that check it against limits for scripts.
 */
#ifndef CLI_DIFF_DIFF_H
#define CLI_DIFF_DIFF_H

#include <stdio.h>
#include "cli/source_recorded.h"
#include "view/compare/diff.h"
#include "view/filter/pattern.h"
#include "view/filter/unmatched.h"

struct diff_facts {
	/* the sides' names: names of files, or values of a label */
	const char *name[DIFF_SIDES];
	struct diff diff;
	const char *type, *unit; /* type and unit of the compared values */
	/*
	 * The unit of work, in the plural: "requests", or "run". NULL: the amount of work isn't
	 * known; costs are per second of wall time or, with .by_share, only shares are compared.
	 */
	const char *per;
	/* if .per is "run": how many runs of each side's command ended with exit code 0; else 0 */
	uint64_t runs[DIFF_SIDES];
	/* label (--by) whose values are a page's root frames or a table's rows; NULL: none */
	const char *by;
	bool groups; /* rows are groups by the values of label .by, not functions */
	/*
	 * for each side: how long threads without work waited; the comparison leaves these waits
	 * out
	 */
	int64_t idle[DIFF_SIDES];
	/* the user's patterns that match nothing on either side */
	struct unmatched unmatched;

	struct str unjudged; /* sentences of fail_rule_unjudged() for all --fail-if options */
	struct str unmarked; /* sentences of fail_rule_unmarked() for all --fail-if options */

	/*
	 * For a page: .source decides which source text may be shown. .text is the source text of
	 * the page from which a side was read, or "".
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
 * Tells whether the two profiles have samples of different events (docs/decisions/0021), so that
 * their numbers of samples can't be compared.
 */
bool diff_samples_differ(const struct profile_meta *a, const struct profile_meta *b);

/*
 * Chooses the value that is compared: the value called @name or, if @name is NULL, the default
 * value of side A. Sets .diff.value, .type and .unit. 0 or -EINVAL + message.
 */
_must_use_ int diff_choose_values(struct diff_facts *f, const char *name);

/*
 * Sets .type and .unit again. Call it after the profile of side A, which owns these texts, was
 * replaced.
 */
void diff_name_value(struct diff_facts *f);

_must_use_ int diff_print_page(const struct diff_facts *f, const struct diff_style *style,
			       FILE *out);

/*
 * These functions append sentences, which say: diff_add_verdict(): if it is known how much work was
 * done, which function's cost changed most; otherwise what all functions together cost, and which
 * shares changed most. diff_add_doubt(): that a function's large change may be chance.
 * diff_add_sum(): what all functions together cost, which the verdict may have said already.
 */
void diff_add_verdict(const struct diff_facts *f, struct str *b);
void diff_add_doubt(const struct diff_facts *f, struct str *b);
void diff_add_sum(const struct diff_facts *f, struct str *b);
/* Appends how long threads without work waited, if the comparison leaves these waits out. */
void diff_add_idle(const struct diff_facts *f, struct str *b);
/*
 * Appends which share the garbage collector took on each side, if it took enough to be mentioned.
 */
void diff_add_gc(const struct diff_facts *f, struct str *b);

/*
 * Tells whether the row is worth mentioning: its function changed by more than noise, and not only
 * because of the functions that it calls.
 */
bool diff_row_counts(const struct diff_row *row);
size_t diff_count_changed(const struct diff_facts *f);

/*
 * Returns the row whose share grew (@way 1) or fell (-1) most. *@what: whether it is the share of
 * the function's own cost or of its total. NULL: no share changed that way by more than noise.
 */
const struct diff_row *diff_share_moved(const struct diff_facts *f, int way, enum diff_what *what);

/*
 * diff_add_value() appends a value in the unit of the comparison: "338 ms/s", "1.2 ms", "33.8 %".
 */
void diff_add_value(const struct diff_facts *f, double value, struct str *b);
/* Appends a change in percent, "+15.7 %", or "new" or "gone". */
void diff_add_relative(const struct diff_cost *c, struct str *b);

/* A limit of --fail-if for a change: "own:NAME>+5%", "total:json.*>2points". */
struct fail_rule {
	const char *text; /* the limit as the user typed it; borrowed */
	enum diff_what what;
	char *name; /* the pattern for names of functions that the limit has; heap */
	bool less, points;
	/* the limit in percent or, with .points, in percentage points; negative for a decrease */
	double limit;
};

/*
 * Parses the limit @text. Returns 0, or -EINVAL + message. If it returns 0, call fail_rule_fini()
 * later.
 */
_must_use_ int fail_rule_parse(const char *text, struct fail_rule *ret);
void fail_rule_fini(struct fail_rule *r);

/*
 * Tells whether a change that is more than noise exceeds the limit. Returns 1 if so, and the reason
 * in @why; 0 if not; or -ENOMEM + message. Warns if no function has the limit's name.
 */
_must_use_ int fail_rule_hit(const struct fail_rule *r, const struct diff_facts *f,
			     struct str *why);

/*
 * Appends a sentence about a change that exceeds the limit but doesn't count: most functions
 * changed as much, or the limit's name is a pattern and the function is new. 0 or -ENOMEM +
 * message.
 */
_must_use_ int fail_rule_unjudged(const struct fail_rule *r, const struct diff_facts *f,
				  struct str *b);

/*
 * Appends a sentence about the change that exceeds the limit, if neither the first sentence nor a
 * mark in the table shows it. 0 or -ENOMEM + message.
 */
_must_use_ int fail_rule_unmarked(const struct fail_rule *r, const struct diff_facts *f,
				  struct str *b);

#endif
