/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait record: starts what is to be recorded, runs until the end that was asked for, writes the
 * profile.
 */
#include "cli/record/record.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/nomem.h"
#include "cli/exit.h"
#include "cli/options/view_options.h"
#include "cli/record/output_name.h"
#include "cli/record/viewer.h"
#include "cli/report/headline.h"
#include "cli/write.h"
#include "record/label_intervals.h"
#include "record/session.h"
#include "record/signals.h"
#include "record/summary.h"
#include "render/cpu_words.h"
#include "render/origin.h"
#include "render/render.h"

static void show_progress(struct session *s, uint64_t now)
{
	const struct record_options *o = s->options;
	struct collect_stats st;
	char rate[96];

	if (now - s->shown_ns < 500 * NSEC_PER_MSEC)
		return;
	s->shown_ns = now;
	collect_stats(s->collect, &st);
	if (o->freq_hz)
		snprintf(rate, sizeof(rate), "at %u Hz", o->freq_hz);
	else if (s->event.clock)
		snprintf(rate, sizeof(rate), "every %llu ns", (unsigned long long)o->count);
	else
		snprintf(rate, sizeof(rate), "one in %llu %s", (unsigned long long)o->count,
			 s->event.name);
	log_progress("Sampling %s, %.0f s, %llu samples — Ctrl-C to stop", rate,
		     (double)(now - s->start_ns) / NSEC_PER_SEC, (unsigned long long)st.samples);
}

static int run(struct session *s)
{
	int r = 0;

	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		struct epoll_event e[4];

		if (session_finished(s, now))
			break;
		epoll_wait(s->epoll_fd, e, ARRAY_SIZE(e), session_wait_ms(s, now));
		r = session_drain(s);
		r = r < 0 ? r : session_bound(s);
		if (r)
			break;
		show_progress(s, now);
	}
	log_progress(NULL);
	return r;
}

/* Samples until the end that was asked for, takes in what is left. @s can be written then in any case. */
static int sample(struct session *s)
{
	int r = run(s);

	s->stopped = signals_stop();
	return session_stop(s, r);
}

/*
 * How the command ended, and the recording with it: only two that came to their end did the same work
 * (krait diff). Another end is another line, so that it isn't one.
 */
static void describe_end(struct session *s, const struct summary *m, int broken)
{
	char how[32] = "by -d";

	if (!s->options->cmd)
		return;
	if (broken)
		strcpy(how, "by an error of krait");
	else if (s->stopped == SIGINT)
		strcpy(how, "by Ctrl-C");
	else if (s->stopped)
		snprintf(how, sizeof(how), "by signal %d", s->stopped);
	else if (s->spawn.ended)
		snprintf(how, sizeof(how), "%d", s->spawn.exit_code);
	profile_add_comment(s->profile, COMMENTS_ENDED, how);
	if (m->goes_on)
		profile_add_comment(s->profile, COMMENTS_ENDED, "what it started goes on");
}

/* Filters leave out samples that were taken: it is said how many. */
static int apply_filters(struct session *s)
{
	struct view_options upright = s->options->view;
	struct view_totals totals;
	int r;

	if (!view_wanted(&s->options->view))
		return 0;
	r = view_options_warn(&s->options->view, s->profile);
	r = r ? r : view_apply(&s->profile, &s->options->view, &totals);
	if (r == -E2BIG) {
		log_warn("%s; they are written from the outermost function on", err_msg());
		upright.invert = false;
		r = view_apply(&s->profile, &upright, &totals);
	}
	if (!r && totals.shown_samples < totals.all_samples)
		log_note("the filters let %llu of %llu samples through",
			 (unsigned long long)totals.shown_samples,
			 (unsigned long long)totals.all_samples);
	return r;
}

/* The profile, whole, in its place. 0 or -errno + message. */
static int write_profile(struct session *s, struct output *out)
{
	struct render_options opt = {.title = s->title,
				     .open_source = s->sources ? source_files_open : NULL,
				     .source_arg = s->sources,
				     .by = label_intervals_by(s),
				     .value = s->options->value,
				     .times = s->options->times,
				     .headline = str_cstr(&s->headline),
				     .annotate = s->options->annotate,
				     .bare = s->options->bare};
	int r, q;

	err_memory_begin();
	r = write_profile_to(out->stream, s->profile, s->options->format, &opt);
	if (r)
		return r;
	q = caller_enter(&s->caller);
	r = output_commit(out);
	caller_leave(&s->caller);
	return q ? q : r;
}

/* The disk is full, the directory gone: what was recorded isn't. */
static void write_elsewhere(struct session *s)
{
	struct output out = {};
	char name[64];
	int r = caller_enter(&s->caller);

	snprintf(name, sizeof(name), "profile%s", s->options->format->extensions[0]);
	if (!r) {
		r = output_open_elsewhere(&out, name);
		caller_leave(&s->caller);
	}
	if (!r)
		r = write_profile(s, &out);
	if (!r) {
		log_warn("what was recorded is in %s", out.path);
		free(s->path);
		s->path = TAKE_PTR(out.path);
	}
	(void)!caller_enter(&s->caller);
	output_fini(&out);
	caller_leave(&s->caller);
}

static int name_output(struct session *s)
{
	if (!s->options->output)
		return output_name(s->options, time(NULL), &s->path);
	s->path = strdup(s->options->output);
	return s->path ? 0 : err_set(-ENOMEM, "out of memory");
}

/* How much of the time the program waited, which the headline's shares don't show. */
static void say_use(struct session *s)
{
	_cleanup_str_ struct str words = {};
	pid_t living;

	if (!cpu_words_add(s->profile, &words))
		return;
	living = session_use_living(s);
	if (living)
		str_addf(&words, "; `krait dump -p %d` shows where it waits", living);
	log_note("%s", str_cstr(&words));
}

/* Nobody is to open a page that has nothing, or take an earlier one for this recording's. */
static void say_not_written(struct session *s)
{
	bool earlier = !streq(s->path, "-") && access(s->path, F_OK) == 0;

	say_use(s);
	log_note("there is nothing to show, so %s isn't written%s",
		 streq(s->path, "-") ? "a page" : s->path,
		 earlier ? "; what has that name is of an earlier time" : "");
}

/* What it found, and how to see more. */
static void say_written(struct session *s)
{
	_cleanup_str_ struct str path = {};

	say_use(s);
	if (s->headline.n)
		log_note("%s", str_cstr(&s->headline));
	if (streq(s->path, "-"))
		return;
	str_add_shell_word(&path, s->path);
	log_note("written; to read it here: krait report %s", str_cstr(&path));
}

/* The closing lines and what they decide. @written: 0, or why there is no output. */
static int close_recording(struct session *s, const struct summary *m, int written)
{
	int r = 0, code = written ? EXIT_FAILED : EXIT_DONE;

	summary_print(m);
	if (s->options->summary_json) {
		r = caller_enter(&s->caller);
		r = r ? r : summary_write_json(s, m, &s->summary);
		caller_leave(&s->caller);
	}
	if (r)
		code = session_fail(EXIT_FAILED);
	if (s->options->require_samples && !m->collect.samples) {
		log_error("no samples, and --require-samples was given");
		code = EXIT_FAILED;
	}
	if (!written && summary_leaves_nothing(s))
		say_not_written(s);
	else if (!written)
		say_written(s);
	return code;
}

/* Will the same profile be written where there is room for it? Not if the reader or memory is gone, or it can't be. */
static bool is_of_the_place(int error)
{
	return error != -EPIPE && error != -ENOMEM && error != -EINVAL;
}

/* The recording says itself what it got and what it lost. 0 or -errno, said why. */
static int write_with_summary(struct session *s, const struct summary *m)
{
	int r;

	vec_foreach(l, &m->lines)
		if (l->kept)
			profile_add_comment(s->profile,
					    l->key		   ? l->key
					    : l->level <= LOG_WARN ? COMMENTS_WARNING
								   : "note",
					    l->text);
	label_intervals_add(s);
	view_say_unknown(view_mine(&s->options->view, s->profile));
	origin_note(s->profile);
	r = apply_filters(s);
	if (!r && s->options->reshape)
		r = s->options->reshape(s->options->reshape_arg, &s->profile);
	if (r) {
		log_error("%s", err_msg());
		return r;
	}
	if (headline_add(s->profile, s->options->value, s->options->view.invert, &s->headline))
		log_info("%s", err_msg());
	r = summary_leaves_nothing(s) ? 0 : write_profile(s, &s->output);
	if (r && r != -EPIPE) /* a reader that has seen enough, as `head`, needs no words */
		log_error("%s", err_msg());
	if (r && is_of_the_place(r))
		write_elsewhere(s);
	return r;
}

/* The end of a recording that worked: the file, the closing lines, the exit code. */
static int finish(struct session *s, int broken)
{
	struct summary m __attribute__((cleanup(summary_fini)));
	int r, code;

	summary_take(&m, s);
	session_end_sampling(s);
	signals_phase(SIGNALS_WRITING);
	describe_end(s, &m, broken);
	r = write_with_summary(s, &m);
	code = close_recording(s, &m, r);
	signals_phase(SIGNALS_WRITTEN);
	if (!r && !summary_leaves_nothing(s) && s->options->open &&
	    viewer_open(&s->caller, s->path))
		log_warn("%s", err_msg());
	if (!s->options->cmd)
		return code;
	if (s->options->end_command) {
		spawn_kill(&s->spawn);
		return code;
	}
	spawn_pass_on_stop(&s->spawn);
	spawn_say_goes_on(&s->spawn);
	r = spawn_wait(&s->spawn);
	return code ? code : r;
}

static int open_outputs(struct session *s)
{
	const char *summary = s->options->summary_json;
	int r = s->options->output ? output_open(&s->output, s->path)
				   : output_open_chosen(&s->output, s->path);

	if (r || !summary)
		return r;
	r = output_open(&s->summary, summary);
	if (!r && output_same(&s->output, &s->summary))
		return err_set(-EINVAL,
			       "--summary-json %s would replace the profile; give it another name",
			       summary);
	return r;
}

/* Between fork and exec. Where the recording goes to standard output, what the command says doesn't. */
static int become_command(void *arg)
{
	struct session *s = arg;
	int r = s->path && streq(s->path, "-") ? spawn_say_to(STDERR_FILENO) : 0;

	return r ? r : caller_become(&s->caller);
}

/* Who asks, and the files: before anything is started, so that what can't be written is said now. */
static int prepare(struct session *s)
{
	int r = caller_find(&s->caller), q;

	if (!r)
		r = name_output(s);
	if (r)
		return r;
	r = caller_enter(&s->caller);
	if (r)
		return r;
	q = open_outputs(s);
	caller_leave(&s->caller);
	if (q || !s->options->cmd)
		return q;
	return spawn_start(&s->spawn, s->options->cmd, become_command, s);
}

/* --if-permitted: the command runs all the same. It may wait for its start already. */
static int run_unprofiled(struct session *s)
{
	int r = 0;

	log_warn("%s; running the command without a profile", err_msg());
	if (s->spawn.go_fd < 0) {
		r = caller_find(&s->caller);
		r = r ? r : spawn_start(&s->spawn, s->options->cmd, caller_become, &s->caller);
	}
	if (!r)
		r = spawn_go(&s->spawn);
	if (r)
		return session_fail(s->spawn.exit_code ? s->spawn.exit_code : EXIT_FAILED);
	return spawn_wait(&s->spawn);
}

/* Source text is for pages. */
static int find_sources(struct session *s, struct source_files *sources)
{
	struct source_rules rules = {.caller = &s->caller, .mode = s->options->source_mode};

	if (!streq(s->options->format->name, "html") || rules.mode == SOURCE_NONE)
		return 0;
	s->sources = sources;
	return source_files_init(sources, &rules, s->options->cmd);
}

static int record(struct session *s, struct source_files *sources)
{
	int r = session_check_permitted(s), broken;

	if (r && s->options->if_permitted && s->options->cmd)
		return run_unprofiled(s);
	if (r)
		return session_refuse(s, EXIT_RIGHTS);
	if (s->options->kernel_addresses && rights_kernel_addresses(&s->rights))
		return session_fail(EXIT_RIGHTS);
	r = prepare(s);
	if (!r)
		r = find_sources(s, sources);
	if (r)
		return session_fail(EXIT_FAILED);
	r = session_set_up(s);
	if (!r) {
		session_describe_target(s);
		r = rights_drop(s->caller.other);
	}
	if (r && session_exit_of(r) == EXIT_RIGHTS && s->options->if_permitted && s->options->cmd)
		return run_unprofiled(s);
	if (r)
		return session_refuse(s, session_exit_of(r));
	r = session_start(s);
	if (r)
		return session_fail(s->spawn.exit_code ? s->spawn.exit_code : session_exit_of(r));
	log_info("sampling began"); /* packaging/python waits for it */
	broken = sample(s);
	r = finish(s, broken);
	return broken && r == EXIT_DONE ? EXIT_FAILED : r;
}

int cmd_record(const struct record_options *o)
{
	struct session s = {.options = o,
			    .epoll_fd = -1,
			    .kallsyms_fd = -1,
			    .end_positions = true,
			    .tells_use = true,
			    .spawn = {.pidfd = -1, .go_fd = -1, .error_fd = -1}};
	struct source_files sources = {.root = -1};
	int code;

	session_bound_init(&s);
	signals_take();
	code = record(&s, &sources);
	session_fini(&s);
	source_files_fini(&sources);
	return session_exit_code(&s, code);
}
