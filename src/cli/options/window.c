/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses windows of time that users have typed, and reads them from the store; see window.h. */
#include "cli/options/window.h"

#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "format/pprof/pprof.h"
#include "query/ask.h"

#define WRITE "write 10m, 03:00, 2026-03-01 or \"2026-03-01 03:00:00+01:00\""

static bool same_time(const struct tm *a, const struct tm *b)
{
	return a->tm_mday == b->tm_mday && a->tm_hour == b->tm_hour && a->tm_min == b->tm_min;
}

/*
 * Returns the moment of a local time. When clocks are set back, an hour comes twice, so a local
 * time in it has two moments. For a window's end (@end) the later one is taken, else the earlier
 * one.
 */
static time_t local(const struct tm *tm, bool end)
{
	struct tm try;
	time_t found[2];
	int n = 0;

	for (int summer = 0; summer < 2; summer++) {
		try = *tm;
		try.tm_isdst = summer;
		found[n] = mktime(&try);
		n += same_time(&try, tm);
	}
	if (n == 2)
		return end ? MAX(found[0], found[1]) : MIN(found[0], found[1]);
	if (n == 1)
		return found[0];
	/*
	 * this local time doesn't exist, because clocks are set forward past it; mktime() chooses a
	 * moment near it
	 */
	try = *tm;
	try.tm_isdst = -1;
	return mktime(&try);
}

/* Reads an offset from UTC, such as +01:00, +0100 or Z. Returns false if @text is none. */
static bool read_offset(const char *text, long *ret)
{
	struct tm tm = {};
	const char *rest = strptime(text, "%z", &tm);

	*ret = tm.tm_gmtoff;
	return rest && !*rest;
}

/*
 * Reads a time of day or a date into @tm. *dated: it is a date. *offset: the rest of @text, which
 * is empty or an offset from UTC. Returns false if @text is neither a time nor a date.
 */
static bool read_clock(const char *text, struct tm *tm, bool *dated, const char **offset)
{
	static const struct {
		const char *format;
		bool dated;
	} forms[] = {
		{"%Y-%m-%dT%H:%M:%S", true},
		{"%Y-%m-%d %H:%M:%S", true},
		{"%Y-%m-%dT%H:%M", true},
		{"%Y-%m-%d %H:%M", true},
		{"%Y-%m-%d", true},
		{"%H:%M:%S", false},
		{"%H:%M", false},
	};
	const struct tm today = *tm;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		long ignored;

		*tm = (struct tm){
			.tm_year = today.tm_year, .tm_mon = today.tm_mon, .tm_mday = today.tm_mday};
		*offset = strptime(text, forms[i].format, tm);
		*dated = forms[i].dated;
		if (*offset && (!**offset || read_offset(*offset, &ignored)))
			return true;
	}
	return false;
}

/*
 * Returns the moment of @tm, a time @offset ahead of UTC. If @dated is false, @tm has no date: the
 * day is that of @now or, if the moment would be in the future, the day before.
 */
static time_t at_offset(struct tm *tm, long offset, bool dated, time_t now)
{
	time_t there = now + offset, at;
	struct tm day;

	if (!dated) {
		gmtime_r(&there, &day);
		tm->tm_year = day.tm_year;
		tm->tm_mon = day.tm_mon;
		tm->tm_mday = day.tm_mday;
	}
	at = timegm(tm) - offset;
	return dated || at <= now ? at : at - 24 * 3600;
}

/*
 * Reads a moment. A time of day without a date means the last time before now that clocks showed
 * it.
 */
static int read_moment(const char *text, int64_t now_ms, bool end, int64_t *ret)
{
	time_t now = (time_t)(now_ms / 1000), at;
	const char *rest;
	struct tm tm;
	long offset;
	bool dated;

	if (!localtime_r(&now, &tm) || !read_clock(text, &tm, &dated, &rest))
		return err_set(-EINVAL, "'%s' is not a time; " WRITE, text);
	if (*rest && read_offset(rest, &offset)) {
		at = at_offset(&tm, offset, dated, now);
	} else {
		at = local(&tm, end);
		if (!dated && at > now) {
			tm.tm_mday--;
			(void)timegm(&tm);
			at = local(&tm, end);
		}
	}
	*ret = (int64_t)at * 1000;
	return 0;
}

static int moment(const char *text, int64_t now_ms, bool end, struct window *w, int64_t *ret)
{
	uint64_t ago;

	if (streq(text, "now")) {
		*ret = now_ms;
		return 0;
	}
	if (!strchr(text, ':') && !strchr(text, '-')) {
		int r = value_time(&ago, text);

		*ret = now_ms - (int64_t)(r ? 0 : ago / NSEC_PER_MSEC);
		return r ? err_set(-EINVAL, "'%s' is not a time; " WRITE, text) : 0;
	}
	w->absolute = true;
	return read_moment(text, now_ms, end, ret);
}

/* Makes a window from its beginning and its end. If @until is NULL, the window ends at @now_ms. */
static int between(const char *since, const char *until, int64_t now_ms, struct window *ret)
{
	int r;

	*ret = (struct window){.until_ms = now_ms};
	r = moment(since, now_ms, false, ret, &ret->since_ms);
	if (!r && until)
		r = moment(until, now_ms, true, ret, &ret->until_ms);
	if (!r && ret->since_ms < 0)
		ret->since_ms = 0;
	if (!r && ret->until_ms <= ret->since_ms)
		r = err_set(-EINVAL, "the window from %s to %s ends before it begins", since,
			    until ? until : "now");
	return r;
}

int window_parse(const char *text, int64_t now_ms, struct window *ret)
{
	const char *dots = strstr(text, "..");
	_cleanup_free_ char *since = dots ? strndup(text, (size_t)(dots - text)) : strdup(text);

	if (!since)
		return err_nomem();
	return between(since, dots ? dots + 2 : NULL, now_ms, ret);
}

int window_options(const char *since, const char *until, struct window *ret)
{
	int64_t now = (int64_t)(clock_ns(CLOCK_REALTIME) / NSEC_PER_MSEC);

	if (!strstr(since, ".."))
		return between(since, until, now, ret);
	return until ? err_set(-EINVAL, "--since A..B names the end already; leave --until out")
		     : window_parse(since, now, ret);
}

static void add_moment(int64_t ms, struct str *b)
{
	char text[64];

	clock_local(ms, "%F %T %z", text);
	str_add(b, text);
}

void window_say(const struct window *w)
{
	_cleanup_str_ struct str b = {};

	if (!w->absolute)
		return;
	str_add(&b, "the window is from ");
	add_moment(w->since_ms, &b);
	str_add(&b, " to ");
	add_moment(w->until_ms, &b);
	log_note("%s", str_cstr(&b));
}

/* Asks the server of queries for a window, for a user who can't read the store. */
static int ask_server(const char *socket, const struct store_query *wanted, struct profile **ret)
{
	_cleanup_(query_fini) struct query q = {.kind = QUERY_PROFILE,
						.since_ms = wanted->since_ms,
						.until_ms = wanted->until_ms,
						.outline = wanted->outline != OUTLINE_NONE};
	_cleanup_str_ struct str body = {};
	int r;

	for (size_t i = 0; i < wanted->n_labels; i++)
		if (vec_push(&q.labels, wanted->labels[i]))
			return err_nomem();
	r = ask(socket, &q, &body);
	return r ? r : pprof_read((const uint8_t *)str_cstr(&body), body.n, ret);
}

int window_read(const char *dir, const char *socket, const struct store_query *q,
		struct profile **ret)
{
	struct store *s = NULL;
	int r = store_open(dir, 0, &s);

	r = r ? r : store_read(s, q, ret);
	store_close(s);
	/*
	 * without --socket the server at the default socket is asked, which has the default store
	 * only
	 */
	if (r != -EACCES || (!socket && !streq(dir, STORE_DIRECTORY)))
		return r;
	return ask_server(socket ? socket : QUERY_SOCKET, q, ret);
}

int window_read_pins(const char *dir, const char *socket, struct pins *ret)
{
	_cleanup_(query_fini) struct query q = {.kind = QUERY_PINS};
	_cleanup_str_ struct str body = {};
	struct store *s = NULL;
	int r = store_open(dir, 0, &s);

	r = r ? r : store_read_pins(s, ret);
	store_close(s);
	if (r != -EACCES || (!socket && !streq(dir, STORE_DIRECTORY)))
		return r;
	r = ask(socket ? socket : QUERY_SOCKET, &q, &body);
	return r ? r : pins_read(ret, str_cstr(&body));
}

int window_read_text(const char *dir, const char *text, struct profile **ret)
{
	int64_t now = (int64_t)(clock_ns(CLOCK_REALTIME) / NSEC_PER_MSEC);
	struct store_query q = {};
	struct window w;
	int r = window_parse(text, now, &w);

	if (r)
		return r;
	window_say(&w);
	q.since_ms = w.since_ms;
	q.until_ms = w.until_ms;
	return window_read(dir, NULL, &q, ret);
}
