/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of triggers. Pins windows of time (keeps their samples) while the triggers' conditions
 * are met; see trigger.h.
 */
#include "agent/trigger.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/hook.h"
#include "base/system/log.h"
#include "record/command/signals.h"

#define BEFORE_MS 60000
#define AFTER_NS  (60 * NSEC_PER_SEC)
/* a pinned window ends at most this long after its condition was met for the first time */
#define MOST_NS (600 * NSEC_PER_SEC)
/*
 * While a condition is met, the end of its pinned window moves on. The writer is told the new end
 * when less than this is left until the end that it knows.
 */
#define LEFT_NS	 (30 * NSEC_PER_SEC)
#define USAGE_NS (10 * NSEC_PER_SEC)

/*
 * Copies the words of the oldest mark (a user's request to keep the samples of the time around now)
 * to @words, and removes the mark. Returns false if there is none.
 */
static bool is_marked(struct triggers *t, uint64_t now, char words[PIN_WORDS_BYTES])
{
	struct link *l = t->link;

	if (!l->n_marks)
		return false;
	memcpy(words, l->marks[0], PIN_WORDS_BYTES);
	memmove(l->marks, l->marks + 1, --l->n_marks * sizeof(*l->marks));
	return true;
}

static bool is_signalled(struct triggers *t, uint64_t now, char words[PIN_WORDS_BYTES])
{
	long sender;

	if (!signals_usr1(&sender))
		return false;
	snprintf(words, PIN_WORDS_BYTES, "SIGUSR1 from process %ld", sender);
	return true;
}

/*
 * Ends the present window of 10 s. Sets .holds if a service took too much CPU or waiting time in
 * the window. The words for that are "NAME @did N % of @whole in 10 s".
 */
static void end_usage(struct usage *u, uint64_t now, const char *did, const char *whole)
{
	double ns = (double)(now - u->began_ns);
	const struct used *top = u->used;

	for (unsigned i = 1; i < u->n; i++)
		if (u->used[i].ns > top->ns)
			top = &u->used[i];
	u->holds = u->n && (double)top->ns * 1e6 > (double)u->most_ppm * ns;
	if (u->holds)
		snprintf(u->words, sizeof(u->words), "%s %s %.0f %% of %s in %.0f s", top->name,
			 did, (double)top->ns * 100 / ns, whole, ns / NSEC_PER_SEC);
	u->began_ns = now;
	u->n = 0;
}

static bool is_above(struct usage *u, uint64_t now, const char *did, const char *whole,
		     char words[PIN_WORDS_BYTES])
{
	if (!u->most_ppm)
		return false;
	if (now - u->began_ns >= USAGE_NS)
		end_usage(u, now, did, whole);
	memcpy(words, u->words, PIN_WORDS_BYTES);
	return u->holds;
}

static bool is_busy(struct triggers *t, uint64_t now, char words[PIN_WORDS_BYTES])
{
	return is_above(&t->cpu, now, "took", "one CPU", words);
}

static bool is_waiting(struct triggers *t, uint64_t now, char words[PIN_WORDS_BYTES])
{
	return is_above(&t->waiting, now, "waited", "one thread's time", words);
}

static bool has_failed(struct triggers *t, uint64_t now, char words[PIN_WORDS_BYTES])
{
	if (!*t->failed)
		return false;
	memcpy(words, t->failed, PIN_WORDS_BYTES);
	*t->failed = '\0';
	return true;
}

/* All triggers. A trigger's condition, once met, pins a window of time (its samples are kept). */
static const struct trigger {
	const char *cause; /* the trigger's name in the store, in status and in metrics */
	/* tells whether the condition is met; if it is, @words say why, in any bytes */
	bool (*holds)(struct triggers *t, uint64_t now, char words[PIN_WORDS_BYTES]);
	/*
	 * true: each time that the condition is met, a new window is pinned; false: if the
	 * condition is met again within a pinned window, that window gets longer
	 */
	bool each;
} rows[] = {
	/* clang-format off */
	{PIN_BY_MARK, is_marked, true},
	{"signal", is_signalled, false},
	{"cpu", is_busy, false},
	{"waiting", is_waiting, false},
	{"failure", has_failed, false},
	/* clang-format on */
};

static struct used *usage_of(struct usage *u, const char *name)
{
	struct used *x = &u->used[u->n];

	for (unsigned i = 0; i < u->n; i++)
		if (!strncmp(u->used[i].name, name, sizeof(x->name) - 1))
			return &u->used[i];
	if (u->n == ARRAY_SIZE(u->used))
		return NULL;
	snprintf(x->name, sizeof(x->name), "%s", name);
	x->ns = 0;
	u->n++;
	return x;
}

static void add_usage(struct usage *u, const struct profile *p, const struct profile_sample *s)
{
	const char *name = profile_label_text(p, s->labels, STORE_SERVICE_KEY);
	struct used *x = usage_of(u, *name ? name : profile_label_text(p, s->labels, "process"));

	if (x)
		x->ns += s->values[u->value];
}

static bool is_looked_at(const struct usage *u, const struct profile_sample *s)
{
	return u->most_ppm && u->value >= 0 && s->values[u->value] > 0;
}

/*
 * Adds a sample to the CPU time and the waiting time of its service. Waits of threads that have no
 * work don't count; these samples have the label "idle".
 */
void triggers_sample(struct triggers *t, const struct profile *p, const struct profile_sample *s)
{
	if (is_looked_at(&t->cpu, s))
		add_usage(&t->cpu, p, s);
	if (is_looked_at(&t->waiting, s) && !*profile_label_text(p, s->labels, "idle"))
		add_usage(&t->waiting, p, s);
}

/*
 * Tells whether programs get this signal because somebody wants them to end, though they did
 * nothing wrong.
 */
static bool is_asked_to_end(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
}

void triggers_ended(struct triggers *t, uint32_t tgid, const char *name, int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0, code = WEXITSTATUS(status);

	/*
	 * a program that catches a signal and then ends by itself mostly returns 128 + the signal's
	 * number, as shells do
	 */
	if (*t->failed || is_asked_to_end(sig) || (!sig && (!code || is_asked_to_end(code - 128))))
		return;
	/* %.100s: a longer name is cut, so that number and status always fit */
	if (sig)
		snprintf(t->failed, sizeof(t->failed),
			 "%.100s (process %u) was killed by signal %d (%.40s)", name, tgid, sig,
			 strsignal(sig));
	else
		snprintf(t->failed, sizeof(t->failed), "%.100s (process %u) ended with status %d",
			 name, tgid, code);
}

/* Returns the pinned window of trigger @row if it can be extended; NULL: there is none. */
static struct held *held_of(struct triggers *t, const struct trigger *row)
{
	for (unsigned i = 0; i < t->n && !row->each; i++)
		if (t->held[i].row == row)
			return &t->held[i];
	return NULL;
}

static struct held *new_held(struct triggers *t)
{
	if (t->n < TRIGGERS_HELD)
		return &t->held[t->n++];
	memmove(t->held, t->held + 1, (TRIGGERS_HELD - 1) * sizeof(*t->held));
	return &t->held[TRIGGERS_HELD - 1];
}

/* Sends a pinned window to the writer if it is new, or if the end that the writer knows is near. */
static void send_pin(struct triggers *t, struct held *h, uint64_t now, int64_t wall_ms)
{
	if (h->end_ns <= h->sent_ns || h->sent_ns > now + LEFT_NS)
		return;
	h->pin.until_ms = wall_ms + ((int64_t)h->end_ns - (int64_t)now) / (int64_t)NSEC_PER_MSEC;
	if (link_send_pin(t->link, &h->pin))
		h->sent_ns = h->end_ns;
}

static void fire(struct triggers *t, const struct trigger *row, const char *words, uint64_t now,
		 int64_t wall_ms)
{
	struct held *h = new_held(t);

	*h = (struct held){.row = row,
			   .end_ns = now + AFTER_NS,
			   .most_ns = now + MOST_NS,
			   .holds = true,
			   .pin = {.since_ms = MAX(wall_ms - BEFORE_MS, 0), .made_ms = wall_ms}};
	snprintf(h->pin.cause, sizeof(h->pin.cause), "%s", row->cause);
	if (pin_words(words, strnlen(words, PIN_WORDS_BYTES - 1), h->pin.words))
		h->pin.words[0] = '\0';
	log_note("trigger %s: %s; the minute before and the minute after are pinned", row->cause,
		 h->pin.words);
	send_pin(t, h, now, wall_ms);
	hook_run(t->hook, &h->pin);
}

static void look(struct triggers *t, const struct trigger *row, uint64_t now, int64_t wall_ms)
{
	char words[PIN_WORDS_BYTES] = "";

	while (row->holds(t, now, words)) {
		struct held *h = held_of(t, row);

		if (h) {
			h->end_ns = MIN(now + AFTER_NS, h->most_ns);
			h->holds = true;
		} else {
			fire(t, row, words, now, wall_ms);
		}
		if (!row->each)
			break;
	}
}

bool triggers_turn(struct triggers *t, uint64_t now, int64_t wall_ms)
{
	unsigned kept = 0;
	bool any = false;

	for (unsigned i = 0; i < t->n; i++)
		t->held[i].holds = false;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		look(t, &rows[i], now, wall_ms);
	for (unsigned i = 0; i < t->n; i++) {
		struct held *h = &t->held[i];

		send_pin(t, h, now, wall_ms);
		any |= now < h->end_ns;
		/*
		 * The window stays in the list while its condition is met, even beyond MOST_NS.
		 * Otherwise the condition would pin a new window.
		 */
		if (now < h->end_ns || h->holds)
			t->held[kept++] = *h;
	}
	t->n = kept;
	return any;
}

void triggers_begin(struct triggers *t, struct link *link, struct profile *p, uint64_t cpu_ppm,
		    uint64_t wait_ppm, uint64_t now)
{
	*t = (struct triggers){.link = link, .hook = -1};
	t->cpu = (struct usage){
		.most_ppm = cpu_ppm, .began_ns = now, .value = profile_time_value(p, "cpu")};
	t->waiting = (struct usage){
		.most_ppm = wait_ppm, .began_ns = now, .value = profile_time_value(p, "off_cpu")};
}
