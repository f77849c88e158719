/* SPDX-License-Identifier: BSD-2-Clause */
/* What the user asked `krait diff` for. */
#ifndef CLI_DIFF_OPTIONS_H
#define CLI_DIFF_OPTIONS_H

#include "cli/color.h"
#include "cli/diff/diff.h"
#include "cli/options/options.h"
#include "cli/options/source_options.h"
#include "cli/options/view_options.h"

struct diff_options {
	pattern_texts side[DIFF_SIDES]; /* values of --a and --b */
	/*
	 * value of --store: directory of a store; the operands are windows of time in it. NULL: the
	 * operands are files.
	 */
	const char *store;
	VEC(const char *) fail_texts;
	VEC(struct fail_rule) rules;
	const char *per, *value, *output, *format_name;
	char *per_name;
	double per_counts[DIFF_SIDES];
	struct view_options view;
	struct source_options source;
	enum source_mode source_mode;
	unsigned limit;
	enum color_mode color;
	bool json, quiet, idle;
	int (*print)(const struct diff_facts *f, const struct diff_style *style, FILE *out);
};

extern const struct option_row diff_rows[];
extern const struct option_refusal diff_refused[];

/*
 * Checks what the rows of diff_rows have stored, and parses it further. Returns 0, or -EINVAL or
 * -ENOMEM + message.
 */
_must_use_ int diff_options_check(struct diff_options *o, const struct operands *operands);
void diff_options_fini(struct diff_options *o);

/* Tells whether the comparison is written as a page. */
bool diff_is_page(const struct diff_options *o);
/*
 * Tells whether one file holds both sides: it is a page that shows a comparison, or folded stacks
 * with two counts on each line.
 */
bool diff_of_one_file(const struct diff_options *o, const struct operands *operands);

#endif
