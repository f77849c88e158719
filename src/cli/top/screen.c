/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the interactive screen of `krait top`: reads keys, ends intervals, draws lines. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "cli/advice.h"
#include "cli/top/top.h"
#include "cli/write.h"
#include "host/files/output.h"
#include "live/terminal.h"
#include "record/command/signals.h"
#include "view/filter/unmatched.h"

#define INTERVAL_MIN_NS (100 * NSEC_PER_MSEC)
#define INTERVAL_MAX_NS (60 * NSEC_PER_SEC)
#define IDLE_MS		100 /* a signal that ends krait is noticed after at most this many ms */

struct interactive {
	struct top *top;
	struct terminal terminal;
	struct screen screen;
	struct browse browse;
	struct str target; /* words that say what is sampled */
	bool quit;
	unsigned intervals; /* in how many intervals the profile had samples */
};

static void add_names(struct str *b, const char *what, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		str_addf(b, "%s%s %s", b->n ? ", " : "", what, v[i]);
}

static void describe(const struct session_options *o, struct str *b)
{
	for (size_t i = 0; i < o->pids.n; i++)
		str_addf(b, "%s%d", i ? ", " : "pid ", o->pids.v[i]);
	for (char **word = o->cmd; word && *word; word++)
		str_addf(b, "%s%s", b->n ? " " : "", *word);
	add_names(b, "comm", o->comms.v, o->comms.n);
	add_names(b, "cgroup", o->cgroups.v, o->cgroups.n);
	add_names(b, "container", o->containers.v, o->containers.n);
	if (!b->n)
		str_add(b, o->all ? "every process" : "every Python process");
}

/* Writes a file with the rights of the user who called krait. */
static int write_named(struct top *t, const char *path, int (*fn)(struct interactive *i, FILE *f),
		       struct interactive *i)
{
	_cleanup_(output_fini) struct output out = {};
	int r = caller_enter(&t->session->caller);

	if (r)
		return r;
	r = output_open(&out, path);
	caller_leave(&t->session->caller);
	err_memory_begin();
	r = r ? r : fn(i, out.stream);
	if (r)
		return r;
	r = caller_enter(&t->session->caller);
	r = r ? r : output_commit(&out);
	caller_leave(&t->session->caller);
	return r;
}

static int write_screen(struct interactive *i, FILE *f)
{
	_cleanup_str_ struct str text = {};

	screen_text(&i->screen, &text);
	if (text.failed || fwrite(text.s, 1, text.n, f) != text.n)
		return err_sys(text.failed ? err_nomem() : -errno, "can't write the screen");
	return 0;
}

static int write_profile(struct interactive *i, FILE *f)
{
	struct session *s = i->top->session;
	const struct render_format *format = render_by_file(str_cstr(&i->browse.input));
	struct render_options opt = {.title = s->title};

	profile_meta(s->profile)->duration_ns = (int64_t)(clock_ns(CLOCK_MONOTONIC) - s->start_ns);
	return write_profile_to(f, s->profile, format, &opt);
}

static void save(struct interactive *i, bool profile)
{
	const char *path = str_cstr(&i->browse.input);
	int r = 0;

	if (streq(path, "-"))
		r = err_set(-EINVAL, "standard output is the screen; name a file");
	else if (profile && !render_by_file(path))
		r = -EINVAL;
	if (!r)
		r = write_named(i->top, path, profile ? write_profile : write_screen, i);
	if (r)
		browse_say(&i->browse, "%s", error_words());
	else
		browse_say(&i->browse, "written: %s", path);
}

static void change_interval(struct interactive *i, bool faster)
{
	uint64_t ns = i->top->interval_ns;

	ns = faster ? ns / 2 : ns * 2;
	i->top->interval_ns = MAX(MIN(ns, INTERVAL_MAX_NS), INTERVAL_MIN_NS);
}

static int reset(struct interactive *i)
{
	live_reset(i->top->live);
	i->top->tick_ns = clock_ns(CLOCK_MONOTONIC);
	return browse_reset(&i->browse);
}

static int obey(struct interactive *i, enum browse_do what)
{
	switch (what) {
	case DO_NOTHING:
	case DO_PAUSE:
		break;
	case DO_QUIT:
		i->quit = true;
		break;
	case DO_RESET:
		return reset(i);
	case DO_FASTER:
	case DO_SLOWER:
		change_interval(i, what == DO_FASTER);
		break;
	case DO_WRITE_SCREEN:
	case DO_WRITE_PROFILE:
		save(i, what == DO_WRITE_PROFILE);
		break;
	}
	return 0;
}

/*
 * Handles the keys that were typed. Returns 1 if there were any, 0 if not, or -errno. If the
 * terminal is gone, ends the screen.
 */
static int take_keys(struct interactive *i)
{
	enum browse_do what;
	int key, r = 0, any = 0;

	if (!terminal_read(&i->terminal))
		i->quit = true;
	while (!r && !i->quit && (key = terminal_key(&i->terminal)) != KEY_NONE) {
		any = 1;
		r = browse_key(&i->browse, key, &what);
		r = r ? r : obey(i, what);
	}
	return r ? r : any;
}

static int resize(struct interactive *i)
{
	int rows, cols;

	terminal_size(&i->terminal, &rows, &cols);
	return screen_resize(&i->screen, rows, cols);
}

static int draw(struct interactive *i)
{
	_cleanup_str_ struct str bytes = {};
	int r;

	top_facts(i->top, &i->browse.facts);
	i->browse.facts.target = str_cstr(&i->target);
	r = browse_draw(&i->browse, &i->screen);
	if (r)
		return r;
	screen_update(&i->screen, &bytes);
	if (bytes.failed)
		return err_set(-ENOMEM, "out of memory for the screen");
	return bytes.n ? terminal_write(&i->terminal, &bytes) : 0;
}

/*
 * If all targets have ended, the screen stays, so that the user can read it. If the time of
 * --duration is over, or a signal came, the screen is closed.
 */
static void notice_end(struct interactive *i, uint64_t now)
{
	struct session *s = i->top->session;

	if (i->browse.ended || !session_finished(s, now))
		return;
	if (signals_stop() ||
	    (s->options->duration_ns && now - s->start_ns >= s->options->duration_ns))
		i->quit = true;
	i->browse.ended = true;
	i->browse.paused = false;
}

/*
 * The user's patterns are checked after this many intervals: by then the program has shown most of
 * its functions.
 */
#define LOOK_AT 3

/*
 * Shows on the screen which of the user's patterns match nothing. The closing lines say it too, but
 * only at the end.
 */
static int say_unmatched(struct interactive *i)
{
	_cleanup_(unmatched_fini) struct unmatched u = {};
	_cleanup_str_ struct str words = {};
	struct top *t = i->top;
	int r;

	if (!profile_n_samples(t->session->profile))
		return 0;
	if (++i->intervals != LOOK_AT || t->session->condensed)
		return 0;
	r = unmatched_init(&u, &t->options->record.view);
	r = r ? r : unmatched_look(&u, t->session->profile);
	for (size_t k = 0; !r && k < u.list.n && !words.n; k++)
		unmatched_words(&u, k, &words);
	if (words.n)
		browse_say(&i->browse, "--%s", str_cstr(&words));
	return r;
}

/*
 * Reads the samples that have come, and ends the interval if it is over. Returns 1 if the screen
 * must be drawn again, 0 if not, or -errno.
 */
static int go_on(struct interactive *i)
{
	bool had_ended = i->browse.ended;
	uint64_t now;
	int r;

	top_command_listen(i->top);
	if (had_ended)
		return 0;
	r = session_drain(i->top->session);
	now = clock_ns(CLOCK_MONOTONIC);
	notice_end(i, now);
	if (r)
		return r;
	if (i->browse.paused)
		return top_bound(i->top);
	if (i->browse.ended) {
		r = top_tick_now(i->top, now);
		r = r ? r : 1;
	} else {
		r = top_tick(i->top, now);
	}
	if (r > 0)
		r = say_unmatched(i) ?: browse_refresh(&i->browse) ?: 1;
	return r;
}

static int sleep_ms(const struct interactive *i)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t due = i->top->tick_ns + i->top->interval_ns;
	int ms = i->browse.ended ? IDLE_MS : session_wait_ms(i->top->session, now);

	if (i->browse.ended || i->browse.paused)
		return ms;
	return MIN(ms, due > now ? (int)((due - now) / NSEC_PER_MSEC) + 1 : 0);
}

static int run(struct interactive *i)
{
	int r = 1;

	while (r >= 0 && !i->quit && !signals_stop()) {
		struct epoll_event e[8];
		bool typed = false, resized;
		int n, keys = 0;

		r = r ? draw(i) : 0;
		if (r)
			return r;
		n = epoll_wait(i->top->session->epoll_fd, e, ARRAY_SIZE(e), sleep_ms(i));
		for (int k = 0; k < n; k++)
			typed |= e[k].data.fd == i->terminal.in;
		resized = terminal_resized(&i->terminal);
		r = resized ? resize(i) : 0;
		if (!r && typed)
			r = keys = take_keys(i);
		if (r >= 0)
			r = go_on(i);
		if (!r)
			r = resized || keys;
	}
	return r < 0 ? r : 0;
}

static int watch(struct interactive *i, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(i->top->session->epoll_fd, EPOLL_CTL_ADD, fd, &e)
		       ? err_sys(-errno, "epoll")
		       : 0;
}

static int set_up(struct interactive *i)
{
	int r;

	describe(i->top->session->options, &i->target);
	browse_init(&i->browse, &i->top->shown);
	i->top->browse = &i->browse;
	i->browse.invert = i->top->options->record.view.invert;
	i->browse.several_by = "give -e NAME more than once to record several";
	i->screen.color = color_wanted(i->top->options->record.color, stdout);
	i->screen.utf8 = terminal_is_utf8();
	signals_undo(terminal_restore, &i->terminal);
	r = terminal_open(&i->terminal);
	r = r ? r : resize(i);
	r = r ? r : watch(i, i->terminal.in);
	if (!r && i->top->said_fd >= 0)
		r = watch(i, i->top->said_fd);
	return r ? r : watch(i, i->terminal.resized_fd);
}

int top_screen(struct top *t)
{
	struct interactive i = {.top = t};
	enum log_level level = log_level();
	int r;

	/* messages would destroy the screen; the closing lines have them */
	log_set_level(LOG_ERROR);
	r = set_up(&i);
	r = r ? r : run(&i);
	terminal_close(&i.terminal);
	signals_undo(NULL, NULL);
	log_set_level(level);
	t->browse = NULL;
	browse_fini(&i.browse);
	screen_fini(&i.screen);
	str_fini(&i.target);
	return r;
}
