/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `krait record` is to do. options.c fills it from the command line, record.c executes it. Its
 * values were checked. Its strings point into argv.
 */
#ifndef CLI_RECORD_RECORD_H
#define CLI_RECORD_RECORD_H

#include <sys/types.h>
#include "base/vec.h"
#include "cli/color.h"
#include "cli/options/source_options.h"
#include "profile/sample_order.h"
#include "record/events.h"
#include "record/options.h"
#include "view/view.h"

struct render_format;

struct record_options {
	struct session_options session; /* whom to sample, how, and which frames; must come first */
	struct session_events events;	/* the events of .session, parsed */

	/* Where and how the output is written. */
	/* name of the output; "-": standard output; NULL: record.c makes a name */
	const char *output;
	/* the format, by --format, -f or the extension; never NULL */
	const struct render_format *format;
	const char *value; /* name of the value type that is written; NULL: the format's default */
	bool annotate;	   /* --annotate, for folded stacks only */
	enum profile_times times;
	struct view_options view; /* which part of the recording is written (filters) */
	/* file for the closing lines as JSON; "-": standard output; NULL: none */
	const char *summary_json;
	bool open; /* --open: the output is shown when it is written */
	struct source_options source;
	enum source_mode source_mode; /* whether a page has source text */
	enum color_mode color;

	/* How the command behaves. */
	bool require_samples; /* EXIT_FAILED is returned if there are no samples */
	/* if rights are missing, the command runs without being profiled, with one warning */
	bool if_permitted;
	/* when the recording ends, krait kills the command, and ignores the command's exit code */
	bool end_command;
	int verbose; /* -q -1, default 0, -v 1, -vv 2; log_set_level() already has it */

	/*
	 * Called before the profile is written; may replace it. 0, or -errno + message. NULL: the
	 * profile stays as it is.
	 */
	int (*reshape)(void *arg, struct profile **p);
	void *reshape_arg;
	bool bare; /* becomes render_options.bare */

	/* These members are needed only while options are parsed. */
	const char *format_name;
	bool folded, quiet;
};

void record_options_init(struct record_options *o);
void record_options_fini(struct record_options *o);

/*
 * Fills in the defaults, and checks that the options go together. 0, or -EINVAL + message: the
 * command line is wrong.
 */
_must_use_ int record_options_check(struct record_options *o);

int record_value_services(void *field, const char *text); /* sets a struct service_rules */

/* Tells whether samples will certainly have the label @key. */
bool record_has_label(const struct record_options *o, const char *key);

/* --by service needs no --service-from. Returns 0, or -EINVAL + message. */
_must_use_ int record_choose_services(struct record_options *o);

/*
 * Is --by a label that perhaps no sample has? That may be so for labels of --label-intervals, of
 * services, and of some waits.
 */
bool record_by_may_lack(const struct record_options *o);

/* Does what `krait record` was asked to do; returns the exit code (exit.h). */
int cmd_record(const struct record_options *o);

#endif
