/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait record`: starts a recording, and samples until the user's limit or a signal ends it.
 * finish.c does the rest.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/record/fail.h"
#include "cli/record/output_name.h"
#include "cli/record/recording.h"
#include "cli/words.h"
#include "format/format.h"
#include "record/command/signals.h"

static int show_progress(void *ctx, uint64_t now)
{
	struct recording *x = ctx;
	const struct session_events *events = &x->session.events;
	const struct event *first = &events->v[0];
	struct collect_stats st;
	char rate[96];

	if (now - x->shown_ns < 500 * NSEC_PER_MSEC)
		return 0;
	x->shown_ns = now;
	if (!words_show_progress())
		return 0;
	collect_stats(x->session.collect, &st);
	if (events->n > 1)
		snprintf(rate, sizeof(rate), "%u events", events->n);
	else if (first->source->whole)
		snprintf(rate, sizeof(rate), "every %s", first->name);
	else if (first->hz)
		snprintf(rate, sizeof(rate), "at %u Hz", first->hz);
	else if (first->source->clock)
		snprintf(rate, sizeof(rate), "every %llu ns", (unsigned long long)first->period);
	else
		snprintf(rate, sizeof(rate), "one in %llu %s", (unsigned long long)first->period,
			 first->name);
	log_progress("Sampling %s, %.0f s, %llu samples — Ctrl-C to stop", rate,
		     (double)(now - x->session.start_ns) / NSEC_PER_SEC,
		     (unsigned long long)st.samples);
	return 0;
}

/*
 * Samples until the recording is to end, and then reads the samples that are still in the kernel's
 * ring buffers. Even after an error, the profile of @x can be written.
 */
static int sample(struct recording *x)
{
	int r = session_run(&x->session, show_progress, x);

	log_progress(NULL);
	x->stopped = signals_stop();
	return fail_stop(&x->session, r);
}

static int name_output(struct recording *x)
{
	if (!x->options->output)
		return output_name(x->options, time(NULL), &x->path);
	x->path = strdup(x->options->output);
	return x->path ? 0 : err_set(-ENOMEM, "out of memory");
}

static int open_outputs(struct recording *x)
{
	const char *summary = x->options->summary_json;
	int r = x->options->output ? output_open(&x->output, x->path)
				   : output_open_chosen(&x->output, x->path);

	if (r || !summary)
		return r;
	r = output_open(&x->summary, summary);
	if (!r && output_same(&x->output, &x->summary))
		return err_set(-EINVAL,
			       "--summary-json %s would replace the profile; give it another name",
			       summary);
	return r;
}

/*
 * Runs in the child between fork and exec. If the profile is written to standard output, the
 * command's output goes to standard error.
 */
static int become_command(void *arg)
{
	struct recording *x = arg;
	int r = x->path && streq(x->path, "-") ? spawn_say_to(STDERR_FILENO) : 0;

	return r ? r : caller_become(&x->session.caller);
}

/*
 * Finds the user who called krait, opens the outputs, and forks the command's process, which then
 * waits. All this comes before the recording, so errors show early.
 */
static int prepare(struct recording *x)
{
	int r = caller_find(&x->session.caller), q;

	if (!r)
		r = name_output(x);
	if (r)
		return r;
	r = caller_enter(&x->session.caller);
	if (r)
		return r;
	q = open_outputs(x);
	caller_leave(&x->session.caller);
	if (q || !x->options->session.cmd)
		return q;
	return spawn_start(&x->session.spawn, x->options->session.cmd, become_command, x);
}

/*
 * For --if-permitted: runs the command without recording. The command's process may exist already,
 * waiting for its start.
 */
static int run_unprofiled(struct recording *x)
{
	int r = 0;

	log_warn("%s; running the command without a profile", error_words());
	if (x->session.spawn.go_fd < 0) {
		r = caller_find(&x->session.caller);
		r = r ? r
		      : spawn_start(&x->session.spawn, x->options->session.cmd, caller_become,
				    &x->session.caller);
	}
	if (!r)
		r = spawn_go(&x->session.spawn);
	if (r)
		return fail(&x->session,
			    x->session.spawn.exit_code ? x->session.spawn.exit_code : EXIT_FAILED);
	return spawn_wait(&x->session.spawn);
}

/* Prepares to note source files, if the output is a page: only pages have source text. */
static int find_sources(struct recording *x)
{
	struct source_rules rules = {.caller = &x->session.caller, .mode = x->options->source_mode};

	if (!streq(x->options->format->name, "html") || rules.mode == SOURCE_NONE)
		return 0;
	x->texts =
		(struct collect_texts){&x->sources, source_files_wants_text, source_files_met_text};
	x->session.sources = &x->sources;
	x->session.texts = &x->texts;
	return source_files_init(&x->sources, &rules, x->options->session.cmd);
}

static int refuse_addresses(const struct recording *x)
{
	(void)err_set(-EPERM, "%s; leave --kernel-addresses out, or record as root", error_words());
	return fail(&x->session, EXIT_RIGHTS);
}

static int record(struct recording *x)
{
	int r = session_check_permitted(&x->session), broken;

	if (r && x->options->if_permitted && x->options->session.cmd)
		return run_unprofiled(x);
	if (r)
		return fail_refused(&x->session, x->options->color, EXIT_RIGHTS);
	if (x->options->session.kernel_addresses && rights_kernel_addresses(&x->session.rights))
		return refuse_addresses(x);
	r = prepare(x);
	if (!r)
		r = find_sources(x);
	if (r)
		return fail(&x->session, EXIT_FAILED);
	r = session_set_up(&x->session);
	if (!r) {
		session_describe_target(&x->session);
		r = rights_drop(x->session.caller.other);
	}
	if (r && fail_code(r) == EXIT_RIGHTS && x->options->if_permitted && x->options->session.cmd)
		return run_unprofiled(x);
	if (r)
		return fail_refused(&x->session, x->options->color, fail_code(r));
	r = session_start(&x->session);
	if (r)
		return fail(&x->session,
			    x->session.spawn.exit_code ? x->session.spawn.exit_code : fail_code(r));
	log_info("sampling began"); /* packaging/python waits until krait prints this message */
	broken = sample(x);
	r = recording_finish(x, broken);
	return broken && r == EXIT_DONE ? EXIT_FAILED : r;
}

/*
 * Closes the outputs with the rights of the user who called krait: root has already given up its
 * access to other users' directories.
 */
static void close_outputs(struct recording *x)
{
	(void)!caller_enter(&x->session.caller);
	output_fini(&x->output);
	output_fini(&x->summary);
	caller_leave(&x->session.caller);
	free(x->path);
	str_fini(&x->headline);
}

int cmd_record(const struct record_options *o)
{
	struct recording x = {.options = o, .sources.root = -1};
	int code;

	session_init(&x.session, &o->session);
	x.session.end_positions = true;
	x.session.tells_use = true;
	session_bound_init(&x.session);
	signals_take();
	code = record(&x);
	/* the session's threads must end before ids of the profile change */
	session_end_sampling(&x.session);
	close_outputs(&x);
	session_fini(&x.session);
	source_files_fini(&x.sources);
	return fail_exit_code(&x.session, code);
}
