/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the sentence that says what the main thread, or its workers, wait for; see waits.h. */
#include <ctype.h>
#include <errno.h>

#include "view/waits/fold.h"
#include "view/waits/waker.h"

#define WORTH 10 /* a second state, or idle time, is mentioned if it has 1/WORTH of the time */
/* the most bytes of the label `on` that are shown; a file's name may have 4096 bytes */
#define ON_BYTES 60

struct speaker {
	const struct waits *w;
	uint32_t group;
	const struct waits_group *g;
	/*
	 * the time that counts as 100 %: the time of the group's threads, without their idle time
	 */
	int64_t whole;
	struct str *b;
};

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void add_percent(struct str *b, double percent)
{
	str_addf(b, percent >= 0.05 && percent < 0.95 ? "%.1f %%" : "%.0f %%", percent);
}

static void add_seconds(struct str *b, int64_t ns)
{
	double s = (double)ns / (double)NSEC_PER_SEC;

	if (s < 0.0995)
		str_addf(b, "%.0f ms", 1000 * s);
	else
		str_addf(b, s < 9.95 ? "%.1f s" : "%.0f s", s);
}

/*
 * Appends the name of a single thread. For several threads, appends their common name (which may
 * have N in place of numbers) or, if they have none, the function that they run. Appends nothing if
 * neither is known.
 */
static void add_name(const struct speaker *s, struct str *b)
{
	const struct profile *p = s->w->c->p;
	_cleanup_str_ struct str common = {}, name = {};
	uint32_t function = s->w->threads.v[s->g->first].function;
	bool same = true;

	/* .threads doesn't count threads that ran only briefly; these may have other names */
	if (s->g->threads == 1) {
		str_add(b, profile_label_text(p, s->w->threads.v[s->g->first].labels, "thread"));
		return;
	}
	fold_name(profile_label_text(p, s->w->threads.v[s->g->first].labels, "thread"), &common);
	vec_foreach(t, &s->w->threads) {
		if (t->group != s->group || !same)
			continue;
		str_clear(&name);
		fold_name(profile_label_text(p, t->labels, "thread"), &name);
		same = streq(str_cstr(&name), str_cstr(&common));
	}
	if (same && common.n)
		str_add(b, str_cstr(&common));
	else if (function)
		str_addf(b, "that run %s",
			 profile_get_string(p, profile_get_function(p, function)->name));
}

/* Appends which threads wait: "the main thread", "8 threads (worker-N) of app.py". */
static void add_who(const struct speaker *s, struct str *b)
{
	const struct waits_group *g = s->g;
	const char *process =
		profile_label_text(s->w->c->p, s->w->threads.v[g->first].labels, "process");
	_cleanup_str_ struct str name = {};
	bool several = s->w->processes > 1 && *process;

	if (g->main && g->threads == 1)
		str_addf(b, several ? "the main thread of %s" : "the main thread", process);
	else if (g->main)
		str_addf(b,
			 *process ? "the main threads of %u processes (%s)"
				  : "the main threads of %u processes",
			 g->threads, process);
	if (g->main)
		return;
	add_name(s, &name);
	if (g->threads == 1)
		str_addf(b, "thread %s", name.n ? str_cstr(&name) : "[no thread]");
	else
		str_addf(b, name.n ? "%u threads (%s)" : "%u threads", g->threads, str_cstr(&name));
	if (several)
		str_addf(b, " of %s", process);
}

/* Appends which threads wait, with a capital letter, at the beginning of the sentence. */
static void begin_with_who(const struct speaker *s)
{
	_cleanup_str_ struct str who = {};

	add_who(s, &who);
	if (who.n)
		who.s[0] = (char)toupper((unsigned char)who.s[0]);
	str_add(s->b, str_cstr(&who));
}

/*
 * Returns the words for a state: "for the network". A state that isn't in the table is its own
 * phrase. Waits in other tools' files have no state.
 */
static struct waits_word word_of(const char *state)
{
	const struct waits_word *word = waits_word(*state ? state : "other");

	if (word)
		return *word;
	return (struct waits_word){.name = state, .phrase = state};
}

static void add_phrase(const struct waits_word *word, struct str *b)
{
	if (str_starts(word->phrase, "other: "))
		str_addf(b, "in %s()", word->phrase + strlen("other: "));
	else
		str_add(b, word->phrase);
}

/* Appends what the threads waited on. A long text is cut, but never within a character of UTF-8. */
static void add_on(const struct waits_place *at, struct str *b)
{
	size_t n = at->on ? strlen(at->on) : 0;
	bool cut = n > ON_BYTES;

	if (!n)
		return;
	for (n = MIN(n, (size_t)ON_BYTES); cut && n && (at->on[n] & 0xc0) == 0x80;)
		n--;
	str_addf(b, at->on_all ? " (%.*s%s)" : " (mostly %.*s%s)", (int)n, at->on, cut ? "…" : "");
}

/*
 * Appends which thread ended at least half of the waits for locks, which took @ns: ", 80 % of it
 * ended by worker-2 in flush (app.py:88)".
 */
static int add_waker(const struct speaker *s, const struct waits_word *word, int64_t ns)
{
	const struct profile *p = s->w->c->p;
	uint32_t labels = s->w->threads.v[s->g->first].labels;
	struct waits_waker waker = {};
	int r = word->lock ? waits_waker_find(s->w, s->group, &waker) : 0;

	if (r || !waker.ns || waker.ns < ns / 2)
		return r;
	str_addf(s->b, ", %.0f %% of it ended by ", percent(MIN(waker.ns, ns), ns));
	waits_waker_add(s->w->c, &waker,
			profile_label_value(p, waker.labels, "pid") !=
				profile_label_value(p, labels, "pid"),
			s->b);
	return 0;
}

/* Says what a single thread waited for, as a share of its time. */
static void add_share(const struct speaker *s, const struct waits_word *word, int64_t ns,
		      const struct waits_place *at)
{
	struct str *b = s->b;
	int share = (int)(percent(ns, s->whole) + 0.5);

	begin_with_who(s);
	if (word->is) {
		str_add(b, " was ");
		add_phrase(word, b);
		str_addf(b, " %d %% of its time", share);
	} else {
		str_addf(b, " waited %d %% of its time ", share);
		add_phrase(word, b);
	}
	add_on(at, b);
	if (!at->ns)
		return;
	if (waits_nearly(at->ns, ns))
		str_add_c(b, ' ');
	else
		str_addf(b, ", %d of these %d %% ", (int)(percent(at->ns, s->whole) + 0.5), share);
	waits_place_add(s->w->c, at, b);
}

/*
 * Says what was waited for, in seconds: for several threads, or if it isn't known how long they
 * ran.
 */
static void add_sum(const struct speaker *s, const struct waits_word *word, int64_t ns,
		    const struct waits_place *at)
{
	struct str *b = s->b;

	begin_with_who(s);
	if (word->is) {
		str_add(b, s->g->threads > 1 ? " were " : " was ");
		add_phrase(word, b);
		str_add(b, " for ");
		add_seconds(b, ns);
	} else {
		str_add(b, " waited ");
		add_seconds(b, ns);
		str_add_c(b, ' ');
		add_phrase(word, b);
	}
	add_on(at, b);
	str_addf(b, ", %.0f %% of ", percent(ns, s->whole));
	str_add(b, s->w->cpu < 0 ? "the waiting" : s->g->threads > 1 ? "their time" : "its time");
	if (!at->ns)
		return;
	if (waits_nearly(at->ns, ns)) {
		str_add(b, ", ");
	} else {
		str_add(b, "; ");
		add_seconds(b, at->ns);
		str_add(b, " of it ");
	}
	waits_place_add(s->w->c, at, b);
}

/* Says for how much of the time event loops had nothing to do. */
static void add_loop(const struct speaker *s, int64_t ns)
{
	bool one = s->g->threads == 1;

	str_add(s->b, one ? "The event loop of " : "The event loops of ");
	add_who(s, s->b);
	str_addf(s->b, " had nothing to run %.0f %% of ", percent(ns, s->whole));
	str_add(s->b, one ? "the time" : "their time");
}

/* Appends how long the group ran. */
static void add_ran(const struct speaker *s, int64_t whole)
{
	if (s->w->cpu < 0)
		return;
	str_add(s->b, "; ");
	add_percent(s->b, percent(s->g->cpu, whole));
	str_add(s->b, " running");
}

/* Appends the state in which the group waited second longest, and how long the group ran. */
static void add_rest(const struct speaker *s, uint32_t top)
{
	int64_t ns;
	uint32_t state = waits_top(s->w, s->group, top, &ns);
	struct waits_word word = word_of(profile_get_string(s->w->c->p, state));

	if (ns && ns >= s->whole / WORTH) {
		str_addf(s->b, "; %.0f %% %s", percent(ns, s->whole), word.is ? "" : "waiting ");
		add_phrase(&word, s->b);
	}
	add_ran(s, s->whole);
	if (s->g->idle > s->whole / WORTH) {
		str_add(s->b, "; idle time of ");
		add_seconds(s->b, s->g->idle);
		str_add(s->b, " isn't counted");
	}
}

/* Says that the group did nothing but wait for work. */
static void add_idle(const struct speaker *s)
{
	int64_t all = s->whole;

	costs_sum(&all, s->g->idle);
	begin_with_who(s);
	str_addf(s->b, " had nothing to do %.0f %% of the time", percent(s->g->idle, all));
	add_ran(s, all);
}

static int add_main(const struct speaker *s, uint32_t main)
{
	struct speaker m = {s->w, main, &s->w->groups.v[main], waits_whole(&s->w->groups.v[main]),
			    s->b};
	struct waits_place at;
	int64_t ns;
	uint32_t state = waits_top(s->w, main, WAITS_ANY, &ns);
	struct waits_word word = word_of(profile_get_string(s->w->c->p, state));
	int r = waits_place_find(s->w, main, state, ns, &at);

	if (r || m.g->idle > m.whole || streq(word.name, WAITS_LOOP))
		return r;
	str_add(s->b, "; ");
	add_who(&m, s->b);
	str_add(s->b, !word.is ? " waited " : m.g->threads > 1 ? " were " : " was ");
	add_phrase(&word, s->b);
	if (at.ns && waits_nearly(at.ns, ns)) {
		str_add_c(s->b, ' ');
		waits_place_add(s->w->c, &at, s->b);
	}
	return 0;
}

static int add_waiting(const struct speaker *s, uint32_t main)
{
	struct waits_place at;
	int64_t ns;
	uint32_t state = waits_top(s->w, s->group, WAITS_ANY, &ns);
	struct waits_word word = word_of(profile_get_string(s->w->c->p, state));
	int r = waits_place_find(s->w, s->group, state, ns, &at);

	if (r)
		return r;
	if (streq(word.name, WAITS_LOOP))
		add_loop(s, ns);
	else if (s->g->threads == 1 && s->w->cpu >= 0)
		add_share(s, &word, ns, &at);
	else
		add_sum(s, &word, ns, &at);
	r = add_waker(s, &word, ns);
	if (r)
		return r;
	add_rest(s, state);
	return main == UINT32_MAX || main == s->group ? 0 : add_main(s, main);
}

static int speak(const struct waits *w, bool always, struct str *b)
{
	uint32_t main, group = waits_choose(w, &main);
	const struct waits_group *g = group == UINT32_MAX ? NULL : &w->groups.v[group];
	struct speaker s = {w, group, g, g ? waits_whole(g) : 0, b};
	int r;

	if (!g || !(g->wait || g->idle))
		return 0;
	if (waits_only_idle(g)) {
		/*
		 * if other threads used much CPU time, that is more important to a reader than that
		 * the main thread had no work
		 */
		if (!always && waits_others_run(w, main == UINT32_MAX ? group : main))
			return 0;
		add_idle(&s);
		return 1;
	}
	if (!g->wait || (!always && g->wait < s.whole / 2))
		return 0;
	r = add_waiting(&s, main);
	return r ? r : 1;
}

int waits_words(const struct costs *c, const struct profile_sum *sums, size_t n, bool always,
		struct str *b)
{
	struct waits w;
	int r = 0;

	if (c->less) /* with values below 0, shares mean nothing */
		return 0;
	r = waits_init(&w, c, sums, n);
	if (!r && w.off >= 0)
		r = speak(&w, always, b);
	waits_fini(&w);
	return r;
}
