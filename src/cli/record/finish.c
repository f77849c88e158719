/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of `krait record`: filters and writes the profile, and prints what was found. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/view_options.h"
#include "cli/record/closing.h"
#include "cli/record/fail.h"
#include "cli/record/recording.h"
#include "cli/record/viewer.h"
#include "cli/report/headline.h"
#include "view/wall.h"
#include "cli/write.h"
#include "format/common/options.h"
#include "format/format.h"
#include "record/label_intervals.h"
#include "record/command/signals.h"
#include "record/figures/summary.h"
#include "view/lede/cpu_words.h"
#include "view/names/origin.h"

/*
 * Writes a comment into the recording that says how the command and the recording ended. `krait
 * diff` compares two recordings as the same work only if both commands ran to their end, so it must
 * recognise that in this text.
 */
static void describe_end(struct recording *x, const struct summary *m, int broken)
{
	char how[32] = "by -d";

	if (!x->options->session.cmd)
		return;
	if (broken)
		strcpy(how, "by an error of krait");
	else if (x->stopped == SIGINT)
		strcpy(how, "by Ctrl-C");
	else if (x->stopped)
		snprintf(how, sizeof(how), "by signal %d", x->stopped);
	else if (x->session.spawn.ended)
		snprintf(how, sizeof(how), "%d", x->session.spawn.exit_code);
	profile_add_comment(x->session.profile, COMMENTS_ENDED, how);
	if (m->daemons.n)
		profile_add_comment(x->session.profile, COMMENTS_ENDED, "what it started goes on");
}

/* Applies the user's filters to the profile, and prints how many samples passed them. */
static int apply_filters(struct recording *x)
{
	struct view_options upright = x->options->view;
	struct view_totals totals;
	int r;

	if (!view_wanted(&x->options->view))
		return 0;
	r = view_options_warn(&x->options->view, x->session.profile);
	r = r ? r : view_apply(&x->session.profile, &x->options->view, &totals);
	if (r == -E2BIG) {
		log_warn("%s; the stacks are written without --invert", error_words());
		upright.invert = false;
		r = view_apply(&x->session.profile, &upright, &totals);
	}
	if (!r && totals.shown_samples < totals.all_samples)
		log_note("the filters let %llu of %llu samples through",
			 (unsigned long long)totals.shown_samples,
			 (unsigned long long)totals.all_samples);
	return r;
}

/*
 * Returns the label of --by; NULL: --by isn't given. Also returns NULL, with a warning, if no
 * sample has the label because the intervals, waits or services that could have brought it are
 * missing.
 */
static const char *shown_by(const struct recording *x)
{
	const struct profile *p = x->session.profile;
	const char *by = x->options->view.by;

	if (!record_by_may_lack(x->options))
		return by;
	for (uint32_t id = 1; id <= profile_n_labels(p); id++)
		if (profile_label_value(p, id, by))
			return by;
	log_warn("--by %s: no sample has that label, so the output isn't grouped by it", by);
	return NULL;
}

/*
 * Tells whether no output is written because there are no samples: an empty page or picture would
 * show nothing. Files for other tools are written in any case.
 */
static bool leaves_nothing(const struct recording *x)
{
	const char *name = x->options->format->name;

	return !profile_n_samples(x->session.profile) &&
	       (streq(name, "html") || streq(name, "svg"));
}

/* Writes the profile, and gives the file its name. 0 or -errno + message. */
static int write_profile(struct recording *x, struct output *out)
{
	struct render_options opt = {.title = x->session.title,
				     .open_source = x->session.sources ? source_files_open : NULL,
				     .source_arg = x->session.sources,
				     .by = shown_by(x),
				     .value = x->options->value,
				     .times = x->options->times,
				     .headline = str_cstr(&x->headline),
				     .tells_waits = x->tells_waits,
				     .annotate = x->options->annotate,
				     .bare = x->options->bare};
	int r, q;

	err_memory_begin();
	r = write_profile_to(out->stream, x->session.profile, x->options->format, &opt);
	if (r)
		return r;
	q = caller_enter(&x->session.caller);
	r = output_commit(out);
	caller_leave(&x->session.caller);
	return q ? q : r;
}

/*
 * Writes the profile to another directory, so that the recording isn't lost if the disk is full or
 * the directory is gone.
 */
static void write_elsewhere(struct recording *x)
{
	struct output out = {};
	char name[64];
	int r = caller_enter(&x->session.caller);

	snprintf(name, sizeof(name), "profile%s", x->options->format->extensions[0]);
	if (!r) {
		r = output_open_elsewhere(&out, name);
		caller_leave(&x->session.caller);
	}
	if (!r)
		r = write_profile(x, &out);
	if (!r) {
		log_warn("what was recorded is in %s", out.path);
		free(x->path);
		x->path = TAKE_PTR(out.path);
	}
	(void)!caller_enter(&x->session.caller);
	output_fini(&out);
	caller_leave(&x->session.caller);
}

/*
 * Tells whether waits were recorded, but the output shows another value. In that case a message
 * mentions --value off_cpu.
 */
static bool hides_waits(const struct recording *x, const struct summary *m)
{
	const char *value = x->options->value;

	return m->collect.n_waited && !(value && (streq(value, "off_cpu") || is_wall(value)));
}

/*
 * Tells whether the output has all values of the recording. Other formats have only the value that
 * --value names.
 */
static bool has_all_values(const struct recording *x)
{
	static const char *const formats[] = {"html", "svg", "pprof", "jsonl"};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (streq(x->options->format->name, formats[i]))
			return true;
	return false;
}

/*
 * Prints how long the program waited, unless the first sentence said so, and then how to see more
 * of the waits.
 */
static void say_use(struct recording *x, const struct summary *m)
{
	_cleanup_str_ struct str words = {}, path = {};
	const char *apart = "; ";
	pid_t living;

	if (x->tells_waits)
		apart = "";
	else if (!cpu_words_add(x->session.profile, &words))
		return;
	living = m->collect.n_waited ? 0 : session_use_living(&x->session);
	if (living)
		str_addf(&words,
			 "; `krait dump -p %d` shows where it waits now, a recording with --wall "
			 "where and for what",
			 living);
	if (hides_waits(x, m) && has_all_values(x) && !streq(x->path, "-")) {
		str_add_shell_word(&path, x->path);
		str_addf(&words, "%s`krait report --value off_cpu %s` shows where it waited", apart,
			 str_cstr(&path));
	}
	if (words.n)
		log_note("%s", str_cstr(&words));
}

/* Prints that waits were recorded, but that the output doesn't show them. (A page would.) */
static void say_hidden(const struct recording *x, const struct summary *m)
{
	const char *name = x->options->format->name;

	if (hides_waits(x, m) && (!has_all_values(x) || streq(name, "svg")))
		log_note("%s shows only one value, not the waits; --value off_cpu shows them",
			 name);
}

/*
 * Prints that no output was written, so that nobody takes an earlier page for one of this
 * recording.
 */
static void say_not_written(struct recording *x, const struct summary *m)
{
	bool earlier = !streq(x->path, "-") && access(x->path, F_OK) == 0;

	say_use(x, m);
	log_note("there is nothing to show, so %s isn't written%s",
		 streq(x->path, "-") ? "a page" : x->path,
		 earlier ? "; the file of that name is older than this recording" : "");
}

/* Prints what was found, where it was written, and how to see more. */
static void say_written(struct recording *x, const struct summary *m)
{
	_cleanup_str_ struct str path = {};

	if (!x->tells_waits)
		say_use(x, m);
	if (x->headline.n)
		log_note("%s", str_cstr(&x->headline));
	if (x->tells_waits)
		say_use(x, m);
	say_hidden(x, m);
	if (streq(x->path, "-"))
		return;
	str_add_shell_word(&path, x->path);
	log_note("the recording is written; to read it here: krait report %s", str_cstr(&path));
}

/*
 * Prints the closing lines, and returns the exit code. @written: 0, or the error because of which
 * there is no output.
 */
static int close_recording(struct recording *x, const struct summary *m,
			   const struct closing *closing, int written)
{
	int r = 0, code = written ? EXIT_FAILED : EXIT_DONE;

	closing_print(closing);
	if (x->options->summary_json) {
		r = caller_enter(&x->session.caller);
		r = r ? r
		      : closing_write_json(&x->session, m, leaves_nothing(x) ? NULL : x->path,
					   &x->summary);
		caller_leave(&x->session.caller);
	}
	if (r)
		code = fail(&x->session, EXIT_FAILED);
	if (x->options->require_samples && !m->collect.samples) {
		log_error("no samples, and --require-samples was given");
		code = EXIT_FAILED;
	}
	if (!written && leaves_nothing(x))
		say_not_written(x, m);
	else if (!written)
		say_written(x, m);
	return code;
}

/*
 * Tells whether the profile may be written to another directory instead. Another directory doesn't
 * help if the reader of the output is gone, if memory ran out, or if the profile can't be written
 * at all.
 */
static bool is_of_the_place(int error)
{
	return error != -EPIPE && error != -ENOMEM && error != -EINVAL;
}

static void add_intervals(struct recording *x)
{
	label_intervals_add(&x->session);
	vec_foreach(text, &x->session.interval_warnings)
		log_warn("--label-intervals %s: %s", x->options->session.label_intervals, *text);
}

/*
 * Adds the closing lines to the profile as comments, and writes it. 0, or -errno after printing a
 * message.
 */
static int write_with_closing(struct recording *x, const struct closing *closing)
{
	int r;

	vec_foreach(l, &closing->lines)
		if (l->kept)
			profile_add_comment(x->session.profile,
					    l->key		   ? l->key
					    : l->level <= LOG_WARN ? COMMENTS_WARNING
								   : "note",
					    l->text);
	add_intervals(x);
	view_say_unknown(view_mine(&x->options->view, x->session.profile));
	origin_note(x->session.profile);
	r = wall_derive(x->session.profile, x->options->value, x->options->format->name);
	r = r ? r : apply_filters(x);
	if (!r && x->options->reshape)
		r = x->options->reshape(x->options->reshape_arg, &x->session.profile);
	if (r) {
		log_error("%s", error_words());
		return r;
	}
	r = headline_add(x->session.profile, x->options->value, x->options->view.invert,
			 view_is_partial(&x->options->view), &x->headline);
	x->tells_waits = r > 0;
	if (r < 0)
		log_info("%s", error_words());
	r = leaves_nothing(x) ? 0 : write_profile(x, &x->output);
	/* -EPIPE: the reader has seen enough, as `head` has; that needs no message */
	if (r && r != -EPIPE)
		log_error("%s", error_words());
	if (r && is_of_the_place(r))
		write_elsewhere(x);
	return r;
}

int recording_finish(struct recording *x, int broken)
{
	struct summary m __attribute__((cleanup(summary_fini)));
	_cleanup_(closing_fini) struct closing closing = {};
	int r, code;

	summary_take(&m, &x->session);
	closing_compose(&closing, &x->session, &m);
	session_end_sampling(&x->session);
	signals_phase(SIGNALS_WRITING);
	describe_end(x, &m, broken);
	r = write_with_closing(x, &closing);
	code = close_recording(x, &m, &closing, r);
	signals_phase(SIGNALS_WRITTEN);
	if (!r && !leaves_nothing(x) && x->options->open &&
	    viewer_open(&x->session.caller, x->path))
		log_warn("%s", error_words());
	if (!x->options->session.cmd)
		return code;
	if (x->options->end_command) {
		spawn_kill(&x->session.spawn);
		return code;
	}
	spawn_pass_on_stop(&x->session.spawn);
	spawn_say_goes_on(&x->session.spawn);
	r = spawn_wait(&x->session.spawn);
	return code ? code : r;
}
