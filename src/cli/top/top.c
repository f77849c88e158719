/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait top`: sets up a recording, ends one interval after the other, and finishes; see top.h. */
#include "cli/top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "cli/exit.h"
#include "cli/options/view_options.h"
#include "cli/record/closing.h"
#include "cli/record/fail.h"
#include "record/command/signals.h"
#include "record/figures/summary.h"
#include "view/wall.h"

static int added(void *ctx, const struct profile_sample *sample)
{
	return live_add(ctx, sample);
}

static double percent(int64_t value, double of)
{
	return of > 0 ? 100.0 * (double)value / of : 0;
}

void top_facts(const struct top *t, struct browse_facts *ret)
{
	const struct live *l = t->live;
	const struct live_count *last = &l->interval;
	struct collect_stats st;
	struct sampler_stats kernel;
	/*
	 * Value 0 is the number of samples, and value i measures event i - 1. Later values, such as
	 * gil_wait, belong to no event.
	 */
	bool own = l->value && l->value <= t->session->events.n;
	const struct event *event = &t->session->events.v[own ? l->value - 1 : 0];
	double period = event->source->clock ? event->period : 0;

	collect_stats(t->session->collect, &st);
	sampler_stats(t->session->sampler, &kernel);
	*ret = (struct browse_facts){
		.hz = period > 0 ? NSEC_PER_SEC / period : 0,
		.interval = (double)t->interval_ns / NSEC_PER_SEC,
		.samples = st.samples,
		.lost = sampler_lost(&kernel),
		.unsupported = st.outcomes[WALK_UNSUPPORTED],
		.unknown = st.unknown + st.crowded.samples,
		.condensed = t->session->condensed,
		.processes = st.processes,
		.threads = st.threads,
		.interval_samples = (uint64_t)last->samples,
		.recent = l->window > 0 ? l->seconds[LIVE_RECENT] : 0,
		.cpu = t->shown.clock && (int)l->value != l->waits
			       ? percent(last->running, NSEC_PER_SEC * l->interval_seconds)
			       : -1,
		.gil = -1,
		.gc = table_gc(last),
	};
	/*
	 * summing up rare code (condensing) also joins all processes of the profile that have
	 * ended, so they can't be counted any more
	 */
	if (!ret->condensed) {
		ret->processes = (unsigned)t->census.processes.n;
		ret->threads = (unsigned)t->census.threads.n;
	}
	for (unsigned i = WALK_OK + 1; i < WALK_OUTCOME_MAX; i++)
		if (i != WALK_UNSUPPORTED && i != WALK_NO_PYTHON && i != WALK_STARTING &&
		    i != WALK_ENDING)
			ret->incomplete += st.outcomes[i];
	ret->processes_alive = (unsigned)t->alive.processes.n;
	ret->threads_alive = (unsigned)t->alive.threads.n;
	if (last->known && ret->cpu >= 0)
		ret->gil = ret->cpu * last->held / last->running;
}

/*
 * Shares are those of the last RECENT_SECONDS. Shares of a single second would change so much from
 * one second to the next that rows would change places.
 */
#define RECENT_SECONDS 10

/*
 * A session may run for days: its samples must not fill the disk, and its stacks must not fill the
 * memory.
 */
/* how many samples keep their times; 4M samples take 25 MB in a file */
#define KEEP_SAMPLES   (4u << 20)
#define CONDENSE_BYTES (32u << 20)
#define KEEP_FUNCTIONS 8192
/* how many bytes the profile may have, even if they all come in a single interval */
#define MAX_BYTES (256u << 20)

static int bound_samples(struct top *t)
{
	struct profile *p = t->session->profile;
	int r;

	if (profile_n_samples(p) < t->fold_at)
		return 0;
	if (t->fold_at == KEEP_SAMPLES)
		profile_add_comment(t->session->profile, "note",
				    "older samples were summed up without their times");
	r = profile_forget_times(p);
	t->fold_at = profile_n_samples(p) + KEEP_SAMPLES + 1;
	return r;
}

static int condense(struct top *t)
{
	struct session *s = t->session;
	struct condense c;
	int r = live_condense(t->live, &c, KEEP_FUNCTIONS);

	if (r)
		return r;
	r = session_condense(s, &c);
	if (t->browse)
		browse_condense(t->browse, &c);
	r = r ? r : live_condensed(t->live, &c);
	alive_condensed(&t->alive);
	log_debug("to save memory, %zu rare functions became one row", c.given_up);
	r = condense_end(&c, r);
	s->void_ids |= r != 0;
	if (!r && t->browse)
		r = browse_reset(t->browse);
	return r;
}

static size_t bytes(const struct top *t)
{
	return collect_bytes(t->session->collect) + live_bytes(t->live);
}

int top_bound(struct top *t)
{
	size_t before = bytes(t), after;
	int r = bound_samples(t);

	if (r || before < t->condense_at)
		return r;
	r = condense(t);
	after = bytes(t);
	/*
	 * If condensing (summing up rare code) freed little, condensing again in the next interval
	 * would be useless. So the profile is first allowed to grow by half.
	 */
	t->condense_at = MAX(CONDENSE_BYTES, after + after / 2);
	log_debug("summing up rare functions left %zu of %zu bytes in use", after, before);
	return r;
}

static int add_open(void *ctx, const struct profile_sample *sample, bool left)
{
	return live_open_add(ctx, sample, left);
}

/* Counts waits that aren't over, by their length so far. */
static int add_open_waits(struct top *t)
{
	int r;

	live_open_begin(t->live);
	r = session_open_waits(t->session, add_open, t->live);
	return r ? r : live_open_end(t->live);
}

int top_tick_now(struct top *t, uint64_t now)
{
	double seconds = (double)(now - t->tick_ns) / NSEC_PER_SEC;
	int r = add_open_waits(t);

	t->tick_ns = now;
	if (!t->session->condensed)
		census_take(&t->census, t->session->profile);
	alive_look(&t->alive, t->session->profile);
	return r ?: live_tick(t->live, seconds) ?: top_bound(t);
}

int top_tick(struct top *t, uint64_t now)
{
	int r;

	if (now - t->tick_ns < t->interval_ns)
		return 0;
	r = top_tick_now(t, now);
	return r ? r : 1;
}

static int print(struct top *t)
{
	int r = table_refresh(&t->shown);

	t->printed++;
	if (r)
		return r;
	return t->options->json ? top_print_json(t) : top_print_plain(t);
}

/*
 * Adds even those samples to the profile whose frames still lack names, because no later interval
 * will show them.
 */
static int drain_last(struct top *t)
{
	int r = session_drain(t->session);

	return r < 0 ? r : collect_flush(t->session->collect, true);
}

/* The targets have ended in the middle of an interval: prints what came in it. */
static int print_rest(struct top *t, uint64_t now)
{
	int r = drain_last(t);

	r = r ? r : top_tick_now(t, now);
	return r ? r : print(t);
}

static bool is_last(const struct top *t, uint64_t now)
{
	return t->options->times && t->printed + 1 >= t->options->times &&
	       now - t->tick_ns >= t->interval_ns;
}

static int run_printing(struct top *t)
{
	struct session *s = t->session;
	int r = 0;

	while (!r) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		uint64_t due = t->tick_ns + t->interval_ns;
		struct epoll_event e[4];
		int ms = due > now ? (int)((due - now) / NSEC_PER_MSEC) + 1 : 0;

		if (t->options->times && t->printed >= t->options->times)
			return 0;
		if (session_finished(s, now))
			return signals_stop() ? 0 : print_rest(t, now);
		epoll_wait(s->epoll_fd, e, ARRAY_SIZE(e), MIN(ms, session_wait_ms(s, now)));
		now = clock_ns(CLOCK_MONOTONIC);
		r = is_last(t, now) ? drain_last(t) : session_drain(s);
		if (!r)
			r = top_tick(t, now);
		if (r > 0)
			r = print(t);
	}
	return r;
}

/* Chooses the value that is shown, by --value, whose name was checked, or by --wall. */
static void choose_value(struct top *t)
{
	const struct profile_meta *m = profile_meta(t->session->profile);
	const char *name = t->options->record.value;
	/*
	 * --value wall shows the sum of CPU time and waiting time, and so does --wall without
	 * --value.
	 */
	bool wall = name ? is_wall(name) : t->session->options->wall;

	if (wall)
		name = "cpu";
	for (unsigned i = 0; name && i < m->n_values; i++)
		if (streq(name, m->values[i].type))
			t->live->value = i;
	t->live->wall = wall;
}

static int make_live(struct top *t)
{
	t->live = live_new(t->session->profile, &t->options->record.view);
	if (!t->live)
		return err_set(-ENOMEM, "out of memory");
	t->live->table = t->options->table;
	choose_value(t);
	/*
	 * A script that reads JSON gets the values of single intervals, which it can add up itself.
	 */
	t->live->window = t->options->json ? 0 : RECENT_SECONDS;
	t->live->hide[KIND_NATIVE] = t->live->hide[KIND_KERNEL] = !t->options->with_native;
	t->live->hide[KIND_JIT] = !t->options->with_native;
	table_init(&t->shown, t->live);
	(void)table_sort(&t->shown, t->options->sort);
	if (t->options->filter)
		snprintf(t->shown.filter, sizeof(t->shown.filter), "%s", t->options->filter);
	t->session->added_ctx = t->live;
	t->session->added = added;
	return 0;
}

static int set_up(struct top *t)
{
	struct session *s = t->session;
	int r = caller_find(&s->caller);

	if (!r && s->options->cmd)
		r = top_command_start(t);
	if (!r)
		r = session_set_up(s);
	if (!r) {
		session_describe_target(s);
		r = rights_drop(s->caller.other);
	}
	return r ? r : make_live(t);
}

static int finish(struct top *t, int r)
{
	struct summary m __attribute__((cleanup(summary_fini)));
	_cleanup_(closing_fini) struct closing closing = {};
	int code;

	/* krait has printed its tables already, so it doesn't wait for names any more */
	t->session->patience.over = true;
	r = fail_stop(t->session, r);
	/*
	 * after condensing (summing up rare code), frames that a pattern had matched may be missing
	 * in the profile
	 */
	if (!r && !t->session->condensed)
		r = view_options_warn(&t->options->record.view, t->session->profile);
	summary_take(&m, t->session);
	closing_compose(&closing, t->session, &m);
	closing_print(&closing);
	code = t->session->options->cmd ? top_command_finish(t) : EXIT_DONE;
	return r ? EXIT_FAILED : code;
}

static int refuse(const struct top *t, int code)
{
	return fail_refused(t->session, t->options->record.color, code);
}

static int top(struct top *t)
{
	int r = session_check_permitted(t->session);

	if (r)
		return refuse(t, EXIT_RIGHTS);
	r = set_up(t);
	if (r)
		return refuse(t, fail_code(r));
	r = session_start(t->session);
	if (r)
		return fail(t->session, t->session->spawn.exit_code ?: fail_code(r));
	t->tick_ns = t->session->start_ns;
	r = t->options->json || t->options->plain ? run_printing(t) : top_screen(t);
	return finish(t, r == -EPIPE ? 0 : r);
}

int cmd_top(const struct top_options *o)
{
	struct session s;
	struct top t = {.options = o,
			.session = &s,
			.fold_at = KEEP_SAMPLES,
			.condense_at = CONDENSE_BYTES,
			.said_fd = -1,
			.interval_ns = o->interval_ns};
	int code;

	session_init(&s, &o->record.session);
	s.max_bytes = MAX_BYTES;
	s.prompt = true;
	s.patient = !o->record.session.pids.n && !o->record.session.cmd;
	signals_take();
	/*
	 * krait top writes nothing at its end that must not be lost, so a signal may end it at once
	 */
	signals_phase(SIGNALS_WRITTEN);
	code = top(&t);
	table_fini(&t.shown);
	live_free(t.live);
	census_fini(&t.census);
	alive_fini(&t.alive);
	str_fini(&t.said);
	cleanup_close(&t.said_fd);
	session_fini(&s);
	return fail_exit_code(&s, code);
}
