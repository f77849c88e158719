/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait record: starts what is to be recorded, runs until the end that was asked for, writes the
 * profile.
 */
#include "cli/record.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/doctor.h"
#include "cli/exit.h"
#include "cli/kernel_danger.h"
#include "cli/output_name.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/summary.h"
#include "cli/viewer.h"
#include "render/render.h"

#define POLL_MS 100 /* rings are emptied this often; nothing wakes krait up for a sample */

static int drain(struct session *s)
{
	int r;

	/* Side band first: a mapping is known before the samples that need it. */
	sideband_drain(s->sideband);
	r = sampler_drain(s->sampler);
	return r < 0 ? r : collect_flush(s->collect, false);
}

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

static int make_epoll(struct session *s)
{
	int fds[] = {sampler_fd(s->sampler), sideband_fd(s->sideband), s->spawn.pidfd};

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return err_sys(-errno, "epoll");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.fd = fds[i]};

		if (fds[i] >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fds[i], &e))
			return err_sys(-errno, "epoll");
	}
	return 0;
}

static bool finished(struct session *s, uint64_t now)
{
	if (signals_stop())
		return true;
	if (s->options->duration_ns && now - s->start_ns >= s->options->duration_ns)
		return true;
	if (s->options->cmd)
		return spawn_ended(&s->spawn);
	return session_targets_ended(s);
}

static int wait_ms(const struct session *s, uint64_t now)
{
	uint64_t end = s->start_ns + s->options->duration_ns;

	if (!s->options->duration_ns || end > now + POLL_MS * NSEC_PER_MSEC)
		return POLL_MS;
	return end > now ? (int)((end - now) / NSEC_PER_MSEC) + 1 : 0;
}

static int run(struct session *s)
{
	int r = 0;

	for (;;) {
		uint64_t now = session_clock_ns(CLOCK_MONOTONIC);
		struct epoll_event e[4];

		if (finished(s, now))
			break;
		epoll_wait(s->epoll_fd, e, ARRAY_SIZE(e), wait_ms(s, now));
		r = drain(s);
		if (r)
			break;
		show_progress(s, now);
	}
	log_progress(NULL);
	s->end_ns = session_clock_ns(CLOCK_MONOTONIC);
	return r;
}

static int start(struct session *s)
{
	int r = session_add_targets(s);

	if (!r)
		r = make_epoll(s);
	if (!r)
		r = sampler_enable(s->sampler, true);
	s->start_ns = session_clock_ns(CLOCK_MONOTONIC);
	s->start_cpu_ns = session_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (!r && s->options->cmd)
		r = spawn_go(&s->spawn);
	return r;
}

/* The first error of several is told and returned. */
static int broken_off(int before, int r)
{
	if (before || r >= 0)
		return before;
	log_error("%s; what was recorded until then is written", err_msg());
	return r;
}

/* Samples until the end that was asked for, takes in what is left. @s can be written then in any case. */
static int sample(struct session *s)
{
	int r = broken_off(0, run(s));

	r = broken_off(r, sampler_enable(s->sampler, false));
	sideband_drain(s->sideband);
	r = broken_off(r, sampler_drain(s->sampler));
	r = broken_off(r, collect_flush(s->collect, true));
	profile_meta(s->profile)->duration_ns = (int64_t)(s->end_ns - s->start_ns);
	return r;
}

static int write_profile(struct session *s)
{
	struct render_options opt = {.title = s->title,
				     .by = s->options->by,
				     .value = s->options->value,
				     .times = s->options->times};
	int r = s->options->format->write(s->profile, s->output.stream, &opt), q;

	if (r)
		return r;
	q = caller_enter(&s->caller);
	r = output_commit(&s->output);
	caller_leave(&s->caller);
	return q ? q : r;
}

static int name_output(struct session *s)
{
	if (!s->options->output)
		return output_name(s->options, time(NULL), &s->path);
	s->path = strdup(s->options->output);
	return s->path ? 0 : err_set(-ENOMEM, "out of memory");
}

/* Errors that only rights or the kernel explain are EXIT_RIGHTS, all others EXIT_FAILED. */
static int exit_of(int r)
{
	switch (-r) {
	case EPERM:
	case EACCES:
	case ENOSYS:
		return EXIT_RIGHTS;
	}
	return EXIT_FAILED;
}

static int fail(int r, int code)
{
	(void)r;
	log_error("%s", err_msg());
	return code;
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
		code = fail(r, EXIT_FAILED);
	if (s->options->require_samples && !m->collect.samples) {
		log_error("no samples, and --require-samples was given");
		code = EXIT_FAILED;
	}
	if (!written && !streq(s->path, "-"))
		log_note("%s", s->path);
	return code;
}

/* The recording says itself what it got and what it lost. */
static int write_with_summary(struct session *s, const struct summary *m)
{
	vec_foreach(l, &m->lines)
		if (l->level <= LOG_NOTE)
			session_add_comment(s, "note", l->text);
	return write_profile(s);
}

/* The end of a recording that worked: the file, the closing lines, the exit code. */
static int finish(struct session *s)
{
	struct summary m __attribute__((cleanup(summary_fini)));
	int r, code;

	summary_take(&m, s);
	r = write_with_summary(s, &m);
	if (r && r != -EPIPE) /* a reader that has seen enough, as `head`, needs no words */
		log_error("%s", err_msg());
	code = close_recording(s, &m, r);
	if (!r && s->options->open && viewer_open(&s->caller, s->path))
		log_warn("%s", err_msg());
	if (!s->options->cmd)
		return code;
	spawn_pass_on_stop(&s->spawn);
	r = spawn_wait(&s->spawn);
	return code ? code : r;
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
	q = output_open(&s->output, s->path);
	if (!q && s->options->summary_json)
		q = output_open(&s->summary, s->options->summary_json);
	caller_leave(&s->caller);
	if (q || !s->options->cmd)
		return q;
	return spawn_start(&s->spawn, s->options->cmd, caller_become, &s->caller);
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
		return fail(r, s->spawn.exit_code ? s->spawn.exit_code : EXIT_FAILED);
	return spawn_wait(&s->spawn);
}

static int check_permitted(struct session *s)
{
	int r = kernel_danger_refuse();

	rights_read(&s->rights);
	return r ? r : rights_check(&s->rights);
}

/*
 * What rights or the kernel refuse, the doctor explains: in a container, what to run outside. An
 * ordinary user without rights was told the command already.
 */
static int refuse(struct session *s, int r, int code)
{
	fail(r, code);
	if (code == EXIT_RIGHTS && (s->rights.uid == 0 || !rights_check(&s->rights)))
		doctor_explain(s->options->color);
	return code;
}

static int record(struct session *s)
{
	int r = check_permitted(s), broken;

	if (r && s->options->if_permitted && s->options->cmd)
		return run_unprofiled(s);
	if (r)
		return refuse(s, r, EXIT_RIGHTS);
	r = prepare(s);
	if (r)
		return fail(r, EXIT_FAILED);
	r = session_set_up(s);
	if (!r) {
		session_describe_target(s);
		r = rights_drop(s->caller.other);
	}
	if (r && exit_of(r) == EXIT_RIGHTS && s->options->if_permitted && s->options->cmd)
		return run_unprofiled(s);
	if (r)
		return refuse(s, r, exit_of(r));
	r = start(s);
	if (r)
		return fail(r, s->spawn.exit_code ? s->spawn.exit_code : exit_of(r));
	broken = sample(s);
	r = finish(s);
	return broken && r == EXIT_DONE ? EXIT_FAILED : r;
}

int cmd_record(const struct record_options *o)
{
	struct session s = {
		.options = o, .epoll_fd = -1, .spawn = {.pidfd = -1, .go_fd = -1, .error_fd = -1}};
	int code;

	signals_take();
	code = record(&s);
	session_fini(&s);
	return code;
}
