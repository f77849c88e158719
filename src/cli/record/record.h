/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `krait record` is to do. options.c fills it from the command line, record.c executes it. All
 * of it was checked; strings are in argv and live as long.
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
	struct session_options session; /* whom to sample, how, which frames; must be first */

	/* Output. */
	const char *output;		    /* file; "-": stdout; NULL: record.c makes a name */
	const struct render_format *format; /* by --format, -f or the extension; never NULL */
	const char *value;		    /* value type; NULL: the format's default */
	bool annotate;			    /* only if the format is folded */
	enum profile_times times;
	struct view_options view; /* which part of the recording is written */
	const char *summary_json; /* file for the closing lines as JSON; NULL: none; "-": stdout */
	bool open;		  /* show the output when it is written */
	struct source_options source;
	enum source_mode source_mode; /* only if the format is html */
	enum color_mode color;

	/* Conduct. */
	bool require_samples; /* return EXIT_FAILED if there are no samples */
	bool if_permitted;    /* without rights, run cmd unprofiled, with one warning */
	bool end_command;     /* at the recording's end, kill cmd and ignore its exit code */
	int verbose; /* -q -1, default 0, -v 1, -vv 2; log_set_level() was already called */

	/*
	 * Replaces the profile before it is written. 0, or -errno + message. NULL: the profile
	 * stays as it is.
	 */
	int (*reshape)(void *arg, struct profile **p);
	void *reshape_arg;
	bool bare; /* render_options.bare */

	/* For parsing. */
	const char *format_name;
	bool folded, quiet;
};

void record_options_init(struct record_options *o);
void record_options_fini(struct record_options *o);

/*
 * Fills the defaults in, and checks what no single option can. 0, or -EINVAL + message: the command
 * line is wrong.
 */
_must_use_ int record_options_check(struct record_options *o);

/* Is --by a label that only the intervals of --label-intervals could bring? */
bool record_by_interval(const struct record_options *o);

/* Does what `krait record` was asked to do; returns the exit code (exit.h). */
int cmd_record(const struct record_options *o);

#endif
