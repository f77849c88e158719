/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the user asked `krait record` for. options.c fills this in from the command line and checks
 * it; record.c executes it. The texts point into argv.
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
	/* whom to sample, how, and which frames; must be the first member */
	struct session_options session;
	struct session_events events; /* the events of .session, as they were parsed */

	/* Where and how the output is written. */
	/* path of the output; "-": standard output; NULL: record.c makes a name */
	const char *output;
	/*
	 * the output's format, chosen by --format, -f or the file's extension; never NULL after the
	 * checks
	 */
	const struct render_format *format;
	const char *value; /* name of the value that the output shows; NULL: the format's default */
	bool annotate;	   /* option --annotate, for folded stacks only */
	enum profile_times times;
	struct view_options view; /* the filters: which part of the recording is written */
	/*
	 * file for the numbers of the closing lines, as JSON; "-": standard output; NULL: they
	 * aren't written as JSON
	 */
	const char *summary_json;
	bool open; /* option --open: when the page is written, it is opened for the user */
	struct source_options source;
	enum source_mode source_mode; /* which source text a page may have */
	enum color_mode color;

	/* How `krait record` behaves, apart from its output. */
	bool require_samples; /* if there are no samples, the exit code is EXIT_FAILED */
	/* if rights are missing, krait warns once, and runs the command without recording */
	bool if_permitted;
	/* when the recording ends, krait kills the command; the command's exit code isn't used */
	bool end_command;
	/* -1 with -q, 1 with -v, 2 with -vv, else 0; log_set_level() was called with it already */
	int verbose;

	/*
	 * Called before the profile is written; may replace the profile. 0, or -errno + message.
	 * NULL: nothing is called.
	 */
	int (*reshape)(void *arg, struct profile **p);
	void *reshape_arg;
	/* for `krait py-spy`: the trace format has only the list of events (render_options.bare) */
	bool bare;

	/* These members are needed only until the options are checked. */
	const char *format_name;
	bool folded, quiet;
};

void record_options_init(struct record_options *o);
void record_options_fini(struct record_options *o);

/*
 * Sets the defaults, and checks that the options don't exclude each other. 0, or -EINVAL + message.
 */
_must_use_ int record_options_check(struct record_options *o);

/* sets a struct service_rules from a list of rules */
int record_value_services(void *field, const char *text);

/* Tells whether each sample will certainly have the label @key. */
bool record_has_label(const struct record_options *o, const char *key);

/*
 * If --by needs labels of services and --service-from isn't given, chooses the default rules.
 * Returns 0, or -EINVAL + message.
 */
_must_use_ int record_choose_services(struct record_options *o);

/*
 * Tells whether --by names a label that perhaps no sample will have: one of --label-intervals, of
 * services, or of waits.
 */
bool record_by_may_lack(const struct record_options *o);

/* Runs `krait record` with the options @o. Returns the exit code (exit.h). */
int cmd_record(const struct record_options *o);

#endif
