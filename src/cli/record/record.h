/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `krait record` was asked to do: filled by options.c from the command line, done by
 * record.c. Everything in here is already checked; strings belong to argv and live as long as it.
 */
#ifndef CLI_RECORD_RECORD_H
#define CLI_RECORD_RECORD_H

#include <sys/types.h>
#include "base/vec.h"
#include "cli/color.h"
#include "cli/options/source_options.h"
#include "profile/sample_order.h"
#include "record/options.h"
#include "view/view.h"

struct render_format;

struct record_options {
	struct session_options session; /* first: whom, how, which frames */

	/* Output. */
	const char *output;		    /* file, "-" = stdout, NULL = a name made by record.c */
	const struct render_format *format; /* by --format, -f, the extension; never NULL */
	const char *value;		    /* value type, NULL = the format's default */
	bool annotate;			    /* only where the format is folded */
	enum profile_times times;
	struct view_options view; /* what of the recording is written */
	const char *summary_json; /* file for the closing lines as JSON, or NULL; "-" = stdout */
	bool open;		  /* show the output when it is written */
	struct source_options source;
	enum source_mode source_mode; /* only where the format is html */
	enum color_mode color;

	/* Conduct. */
	bool require_samples; /* no sample = EXIT_FAILED */
	bool if_permitted;    /* without rights run cmd unprofiled, with one warning */
	bool end_command;     /* the recording's end kills cmd, and its exit code isn't krait's */
	int verbose; /* -q -1, default 0, -v 1, -vv 2; log_set_level() was already called */

	/* Replaces the profile before it is written, by 0; or -errno + message. NULL: it stays. */
	int (*reshape)(void *arg, struct profile **p);
	void *reshape_arg;
	bool bare; /* render_options.bare */

	/* While parsing. */
	const char *format_name;
	bool folded, quiet;
};

void record_options_init(struct record_options *o);
void record_options_fini(struct record_options *o);

/*
 * Checks what one option alone can't show and fills the defaults in; 0, or -EINVAL + message: the
 * command line is wrong.
 */
_must_use_ int record_options_check(struct record_options *o);

/* --by is a label that only the intervals of --label-intervals may bring. */
bool record_by_interval(const struct record_options *o);

/* The whole of `krait record` after the command line; returns the exit code (exit.h). */
int cmd_record(const struct record_options *o);

#endif
