/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sentences about the values gil_wait and gil_blame: how long threads waited for the GIL, and what
 * the threads that held it did meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/vec.h"
#include "cli/cells.h"
#include "cli/report/report.h"
#include "picture/markup.h"
#include "view/costs/tally.h"
#include "view/shape/roots.h"
#include "view/waits/place.h"

/*
 * A thread and a line of code: while the thread held the GIL in that line, other threads waited for
 * it.
 */
struct blame {
	uint32_t labels; /* one of the thread's label sets */
	uint32_t at;	 /* location of the line, if possible one of the user's own code */
	int64_t ns;	 /* how long other threads waited */
	/*
	 * the part of .ns in which the thread with the GIL didn't run either, but waited for
	 * something else
	 */
	int64_t asleep;
	/*
	 * how long the thread with the GIL waited for something else, however many threads waited
	 * for it
	 */
	int64_t asleep_own;
};

struct blames {
	const struct report_facts *f;
	VEC(struct blame) all;
	/* a thread, a function, and a line of that function: key i is that of .all.v[i - 1] */
	struct intern keys;
	unsigned wait, blame, off_cpu;
	int64_t waited, blamed;
};

/* Returns the entry for the thread and the line in which the sum's samples are. NULL: no memory. */
static struct blame *blame_of(struct blames *b, const struct profile_sum *s)
{
	const struct costs *c = &b->f->costs;
	uint32_t at = costs_own(c, s->stack) ?: costs_owner(c, s->stack);
	const uint32_t key[] = {profile_label_value(c->p, s->labels, "tid")
					?: profile_label_value(c->p, s->labels, "thread"),
				c->keys.of[at],
				at ? (uint32_t)profile_get_location(c->p, at)->line : 0};
	uint32_t id = intern_put(&b->keys, key, 0);

	if (id > b->all.n && vec_push(&b->all, (struct blame){.labels = s->labels, .at = at}))
		return NULL;
	return id ? &b->all.v[id - 1] : NULL;
}

/* Tells whether the thread waits for anything but a CPU. */
static bool is_wait(const struct blames *b, const struct profile_sum *s)
{
	return b->off_cpu && s->values[b->off_cpu] > 0 &&
	       !streq(profile_label_text(b->f->p, s->labels, "state"), "runnable");
}

static int take_sum(struct blames *b, const struct profile_sum *s)
{
	int64_t ns = s->values[b->blame];
	struct blame *one;

	costs_sum(&b->waited, s->values[b->wait]);
	if (ns <= 0)
		return 0;
	costs_sum(&b->blamed, ns);
	one = blame_of(b, s);
	if (!one)
		return err_set(-ENOMEM, "out of memory");
	costs_sum(&one->ns, ns);
	if (is_wait(b, s)) {
		costs_sum(&one->asleep, ns);
		costs_sum(&one->asleep_own, s->values[b->off_cpu]);
	}
	return 0;
}

static int take_sums(struct blames *b)
{
	int r = 0;

	for (size_t i = 0; !r && i < b->f->n_sums; i++)
		r = take_sum(b, &b->f->sums[i]);
	return r;
}

/* Returns the function of location @at. (costs.keys has lines instead, with --lines.) */
static uint32_t function_of(const struct profile *p, uint32_t at)
{
	return at ? profile_get_location(p, at)->function : 0;
}

/*
 * Finds in which function the thread was: a function that the line calls if it has nearly all of
 * the blame, otherwise the line's own function. @asleep: of the part in which the thread waited for
 * something else. Sets *ret to a location of the function. 0 or -ENOMEM + message.
 */
static int find_owner(struct blames *b, const struct blame *one, bool asleep, uint32_t *ret)
{
	const struct costs *c = &b->f->costs;
	struct tally of;
	int r = 0;

	tally_init(&of);
	for (size_t i = 0; !r && i < b->f->n_sums; i++) {
		const struct profile_sum *s = &b->f->sums[i];
		uint32_t owner = costs_owner(c, s->stack);

		if (s->values[b->blame] > 0 && blame_of(b, s) == one && (!asleep || is_wait(b, s)))
			r = tally_add(&of, function_of(c->p, owner), owner, s->values[b->blame]);
	}
	*ret = waits_nearly(of.most, asleep ? one->asleep : one->ns) ? of.location : one->at;
	tally_fini(&of);
	return r ? err_set(r, "out of memory") : 0;
}

static void add_thread(const struct blames *b, uint32_t labels, struct str *out)
{
	const char *name = profile_label_text(b->f->p, labels, "thread");

	if (*name)
		str_add(out, name);
	else
		roots_by_text(b->f->p, labels, "thread", out);
	if (!*name && !profile_label_value(b->f->p, labels, "tid"))
		str_add(out, "a thread");
}

static int percent(int64_t part, int64_t whole)
{
	return whole > 0 ? (int)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

/*
 * Of the time that threads waited for the GIL, the part in which no holder is known is mentioned if
 * it is at least this percentage.
 */
#define LEAST_REST 5

/*
 * Appends how long threads waited, and for which thread most: "Threads waited 3.1 s for the GIL, 71
 * % of it while worker-2 was in dumps (app.py:88)."
 */
static int add_waited(struct blames *b, const struct blame *most, struct str *out)
{
	uint32_t owner = 0;
	int r = most ? find_owner(b, most, false, &owner) : 0;
	int64_t whole = MAX(b->waited, b->blamed);
	int rest = percent(whole - b->blamed, whole);

	str_add(out, "Threads waited ");
	markup_add_value(out, b->waited, "nanoseconds");
	str_add(out, " for the GIL");
	if (most) {
		str_addf(out, ", %d %% of it while ", percent(most->ns, whole));
		add_thread(b, most->labels, out);
		str_add(out, " was in ");
		costs_add_line(&b->f->costs, owner, most->at, out);
	}
	if (most && rest >= LEAST_REST)
		str_addf(out, "; for %d %% no holder was seen, as while the GIL is handed over",
			 rest);
	if (!most)
		str_add(out, "; who held it isn't known without samples of CPU time (--wall)");
	str_add_c(out, '.');
	return r;
}

/* Appends a sentence about a thread that held the GIL while it waited for something else. */
static int add_asleep(struct blames *b, const struct blame *one, struct str *out)
{
	uint32_t owner;
	int r = find_owner(b, one, true, &owner);

	add_thread(b, one->labels, out);
	str_add(out, " held the GIL while it waited ");
	markup_add_value(out, one->asleep_own, "nanoseconds");
	str_add(out, " in ");
	costs_add_line(&b->f->costs, owner, one->at, out);
	str_add(out, "; meanwhile others waited ");
	markup_add_value(out, one->asleep, "nanoseconds");
	str_add(out, " for the GIL.");
	return r;
}

#define INDENT "     " /* blanks at the beginning of a continuation line */

/* Appends a sentence, and breaks it into lines at blanks. Names in it may be long. */
static void add_wrapped(const char *text, int width, struct str *out)
{
	int used = 0;

	while (*text) {
		size_t n = strcspn(text + 1, " ") + 1;
		int columns = cells_width(text, n);

		if (used && used + columns > width) {
			str_add(out, "\n" INDENT);
			used = (int)strlen(INDENT);
			text++;
			n--;
			columns--;
		}
		str_add_n(out, text, n);
		used += columns;
		text += n;
	}
	str_add_c(out, '\n');
}

static void add_sentence(const struct str *sentence, int width, bool md, struct str *out)
{
	_cleanup_str_ struct str clean = {};

	cells_add(&clean, str_cstr(sentence), 4 * 200, false, false);
	if (!md) {
		add_wrapped(str_cstr(&clean), width, out);
		return;
	}
	markup_add_md(out, str_cstr(&clean), clean.n);
	str_add_c(out, '\n');
}

/*
 * If threads waited for less than 1/LEAST_OF_DURATION of the recording's time, that isn't
 * mentioned.
 */
#define LEAST_OF_DURATION 100
/*
 * a thread that sleeps with the GIL is mentioned if others wait for it for at least 1/LEAST_ASLEEP
 * of all the time that threads wait for the GIL
 */
#define LEAST_ASLEEP 20

static bool matters(const struct blames *b)
{
	int64_t duration = profile_meta(b->f->p)->duration_ns;

	return b->waited > 0 && (b->waited >= duration / LEAST_OF_DURATION ||
				 b->f->value == b->wait || b->f->value == b->blame);
}

static int add_sentences(struct blames *b, int width, bool md, struct str *out)
{
	_cleanup_str_ struct str sentence = {};
	const struct blame *most = NULL, *asleep = NULL;
	int r;

	if (!matters(b))
		return 0;
	vec_foreach(one, &b->all) {
		if (!most || one->ns > most->ns)
			most = one;
		if (one->asleep > 0 && (!asleep || one->asleep > asleep->asleep))
			asleep = one;
	}
	r = add_waited(b, most, &sentence);
	add_sentence(&sentence, width, md, out);
	str_clear(&sentence);
	if (r || !asleep || asleep->asleep < b->waited / LEAST_ASLEEP)
		return r;
	r = add_asleep(b, asleep, &sentence);
	add_sentence(&sentence, width, md, out);
	return r;
}

int report_add_gil_waits(const struct report_facts *f, int width, bool md, struct str *out)
{
	int wait = profile_time_value(f->p, "gil_wait"),
	    blame = profile_time_value(f->p, "gil_blame");
	int off_cpu = profile_time_value(f->p, "off_cpu"), r;
	struct blames b = {.f = f};

	if (wait < 0 || blame < 0 || f->costs.less)
		return 0;
	b.wait = (unsigned)wait;
	b.blame = (unsigned)blame;
	b.off_cpu = off_cpu > 0 ? (unsigned)off_cpu : 0;
	intern_init(&b.keys, 3 * sizeof(uint32_t));
	r = take_sums(&b);
	r = r ? r : add_sentences(&b, width, md, out);
	vec_fini(&b.all);
	intern_fini(&b.keys);
	return r;
}
