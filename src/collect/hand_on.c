/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands samples on: adds them to the profile once their stacks have names and their processes are
 * known.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "collect/budget/crowd.h"
#include "collect/internal.h"
#include "collect/thread/on.h"
#include "collect/thread/thread.h"
#include "collect/thread/wait_state.h"

/* Was this process counted as unsupported already, perhaps before its last exec? */
static bool is_reported(const struct collect *c, const struct process *p)
{
	if (p->reported)
		return true;
	vec_foreach(other, &c->processes->all)
		if (other->reported && other->key.tgid == p->key.tgid &&
		    other->key.start_ns == p->key.start_ns)
			return true;
	return false;
}

static void count_unsupported(struct collect *c, struct process *p)
{
	vec_foreach(u, &c->intake->unsupported) {
		if (!streq(u->reason, p->unsupported))
			continue;
		u->samples++;
		u->processes += !is_reported(c, p);
		p->reported = true;
		return;
	}
	struct collect_unsupported u = {.samples = 1, .processes = 1};

	memcpy(u.reason, p->unsupported, sizeof(u.reason));
	p->reported = true;
	(void)!vec_push(&c->intake->unsupported, u);
}

/*
 * Returns the profile's id of the stack of sample @w; 0: the sample has to wait for its stack.
 * *native: how the unwinding of the native part ended. On entry *native has the kernel program's
 * outcome; if the stack has a name, *native is set to the outcome that is shown.
 */
static uint32_t stack_of(struct collect *c, const struct waiting *w, const struct process *p,
			 bool last, uint8_t *native)
{
	uint32_t stack;

	if (!w->rec.stack)
		return stack_mark_only(c, w->rec.outcome, p);
	stack = stack_of_sample(c, w, native);
	if (stack || !last)
		return stack;
	c->stats.lost_stacks++;
	return stack_mark_only(c, WALK_STACK_LOST, p);
}

/*
 * Is it certain what the process ran when it was sampled? krait looks at /proc a while after the
 * sample, and the process may have exec'ed in between. perf reports the exec before the next
 * collect_flush(). If the samples themselves showed what runs, it is certain.
 */
static bool is_proved(const struct process *p)
{
	return (p->state == PROC_UNSUPPORTED && !p->replaced) || p->state == PROC_NATIVE ||
	       (p->state == PROC_PYTHON && p->walked);
}

#define NOTES 8 /* the most comments of one kind (key) that the profile gets about its processes */

/* Adds a comment to the profile, unless the profile has it already. */
static void note(struct collect *c, const char *key, const char *value)
{
	size_t k = strlen(key);
	unsigned n = 0;

	vec_foreach(text, &profile_meta(c->profile)->comments.list) {
		if (strncmp(*text, key, k) || !str_starts(*text + k, ": "))
			continue;
		if (streq(*text + k + 2, value))
			return;
		n++;
	}
	if (n < NOTES)
		profile_add_comment(c->profile, key, value);
}

static void note_process(struct collect *c, const struct process *p)
{
	char name[128];

	if (p->directory)
		note(c, "cwd", p->directory);
	for (const char *s = p->entry; s && *s; s += *s == ' ') {
		size_t n = strcspn(s, " ");

		if (n < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)n, s);
			note(c, COMMENTS_ENTRY, name);
		}
		s += n;
	}
}

/*
 * Sets the sample's values, but only those that the profile has (docs/decisions/0021): setting
 * PROFILE_MAX_VALUES values would take time.
 */
static void set_values(const struct collect *c, const struct rec_sample *rec, int64_t *values)
{
	for (unsigned i = 0; i <= c->config.n_sources; i++)
		values[i] = 0;
	values[0] = !rec->source;
	values[1 + rec->source] = (int64_t)rec->weight;
}

static int add_to_profile(struct collect *c, const struct profile_sample *s)
{
	int r = profile_add(c->profile, s);

	return !r && c->config.added ? c->config.added(c->config.ctx, s) : r;
}

/* Converts @time_ns (CLOCK_MONOTONIC) to the profile's time. */
static int64_t since_start(const struct collect *c, uint64_t time_ns)
{
	return time_ns > c->config.start_ns ? (int64_t)(time_ns - c->config.start_ns) : 0;
}

/*
 * Adds a sample for the @ns nanoseconds in which the thread of @rec neither ran nor waited, with
 * the stack of @s. This time may be several pieces since the thread's last record. The sample's
 * time is @ns before @end_ns, as if it were one piece.
 */
static int add_apart(struct collect *c, uint32_t process, const struct rec_sample *rec,
		     struct profile_sample s, uint32_t state, uint64_t ns, uint64_t end_ns)
{
	struct rec_sample off = *rec;

	if (!ns)
		return 0;
	s.time_ns = since_start(c, end_ns - MIN(ns, end_ns));
	off.source = (uint8_t)c->config.wait_source;
	off.weight = ns;
	set_values(c, &off, s.values);
	/* 0 samples: the sample that brought this time is counted already */
	s.values[0] = 0;
	for (unsigned i = 0; i < COLLECT_WAIT_VALUES; i++)
		s.values[1 + c->config.n_sources + i] = 0;
	s.labels = thread_labels(c, process, &off, &(struct wait_labels){.state = state});
	if (profile_failed(c->profile))
		return err_set(-ENOMEM, "out of memory for the profile");
	c->stats.sources[off.source].weight += ns;
	return add_to_profile(c, &s);
}

/* Adds both kinds of time that @rec has in which its thread neither ran nor waited. */
static int add_both_apart(struct collect *c, uint32_t process, const struct rec_sample *rec,
			  const struct profile_sample *s)
{
	struct thread_apart apart;
	uint64_t end = rec->time_ns;
	int r;

	if (!c->config.waits)
		return 0;
	apart = thread_apart(c, process, rec);
	c->stats.accounts.ready_ns += apart.ready_ns;
	c->stats.accounts.stolen_ns += apart.stolen_ns;
	r = add_apart(c, process, rec, *s, wait_state_runnable(), apart.ready_ns, end);
	end -= MIN(apart.ready_ns, end);
	return r ? r : add_apart(c, process, rec, *s, wait_state_stolen(), apart.stolen_ns, end);
}

static int64_t time_of(const struct collect *c, const struct waiting *w)
{
	return since_start(c, w->shown_ns);
}

/*
 * Sets how long the thread waited for the GIL, and how long other threads waited while this thread
 * held the GIL.
 */
static void set_wait_values(const struct collect *c, const struct waiting *w, int64_t *values)
{
	if (!c->config.waits)
		return;
	values += 1 + c->config.n_sources;
	values[VALUE_GIL_WAIT] = (int64_t)MIN(w->gil_ns, (uint64_t)INT64_MAX);
	values[VALUE_GIL_BLAME] = (int64_t)MIN(w->rec.blame_ns, (uint64_t)INT64_MAX);
	values[VALUE_LOCK_BLAME] = 0;
}

/*
 * Adds the time of a wait for a lock to the stack of the waker, which is the thread that ended the
 * wait. Returns what hand_on() does.
 */
static int hand_on_waker(struct collect *c, const struct waiting *w, const struct process *p,
			 bool last)
{
	bool known = thread_has_number(c, w->waiter, w->waiter_tid);
	const struct wait_labels wait = {.waiter = known ? w->waiter : WAITER_UNNAMED};
	struct profile_sample s = {.time_ns = time_of(c, w)};
	uint8_t native = w->rec.native;
	int r;

	if (!c->config.waits)
		return 1;
	s.stack = stack_of(c, w, p, last, &native);
	if (!s.stack) {
		thread_meet(c, w->process, &w->rec);
		return 0;
	}
	s.labels = thread_labels(c, w->process, &w->rec, &wait);
	if (profile_failed(c->profile))
		return err_set(-ENOMEM, "out of memory for the profile");
	s.values[1 + c->config.n_sources + VALUE_LOCK_BLAME] =
		(int64_t)MIN(w->rec.weight, (uint64_t)INT64_MAX);
	r = add_to_profile(c, &s);
	return r ? r : 1;
}

/*
 * Sets all members of *s except the stack, from sample @w of process @process. 0 or -ENOMEM +
 * message.
 */
static int fill_sample(struct collect *c, uint32_t process, const struct waiting *w,
		       const struct wait_labels *wait, struct profile_sample *s)
{
	s->time_ns = time_of(c, w);
	s->labels = thread_labels(c, process, &w->rec, wait);
	if (profile_failed(c->profile))
		return err_set(-ENOMEM, "out of memory for the profile");
	set_values(c, &w->rec, s->values);
	set_wait_values(c, w, s->values);
	return 0;
}

static void add_wait(struct collect_stats *stats, const struct waiting *w,
		     const struct wait_labels *wait)
{
	uint64_t ns = w->rec.weight, began_ns = MIN(w->shown_ns, w->rec.time_ns);
	char text[sizeof(stats->waited[0].state)];
	const char *words = wait->idle ? "idle" : wait_state_words(wait->state, text, sizeof(text));
	unsigned i = 0;

	while (i < stats->n_waited && !streq(stats->waited[i].state, words))
		i++;
	if (i == COLLECT_STATES)
		i--;
	if (i == stats->n_waited) {
		stats->n_waited++;
		snprintf(stats->waited[i].state, sizeof(stats->waited[i].state), "%s",
			 i < COLLECT_STATES - 1 ? words : "other");
	}
	stats->waited[i].ns += ns;
	if (!(w->state & WAIT_STATE_OPEN))
		return;
	stats->open_waits++;
	stats->open_ns += MIN(ns, w->rec.time_ns - began_ns);
}

/*
 * Adds to the profile the time of waits without a stack that no other record of the thread has
 * taken over. For each site (what was waited for), one stack gets the site's time. @of: the
 * thread's last record.
 */
static int add_left(struct collect *c, const struct waiting *of, const struct process *p)
{
	struct waiting w;
	int r = 0;

	while (!r && thread_share_left(c, of, &w)) {
		uint8_t native = w.rec.native;
		struct profile_sample s;
		struct wait_labels wait;

		s.stack = stack_of(c, &w, p, true, &native);
		wait = thread_wait(c, s.stack, w.state, w.on);
		r = fill_sample(c, of->process, &w, &wait, &s);
		if (r)
			return r;
		/* 0 samples: the wait that gets this time is counted already */
		s.values[0] = 0;
		c->stats.sources[w.rec.source].weight += w.rec.weight;
		add_wait(&c->stats, &w, &wait);
		r = add_to_profile(c, &s);
	}
	return r;
}

/*
 * a thread's last record is put off for at most this many calls of collect_flush() if no sample of
 * the thread has a stack yet: names of a stack may take that long to read
 */
#define ACCOUNT_FLUSHES 16

int hand_on_account(struct collect *c, struct waiting *w, bool last)
{
	const struct process *p = process_at(c, w->process);
	struct profile_sample s = {.time_ns = time_of(c, w)};
	uint8_t gil = w->rec.gil, native = w->rec.native;
	int r = add_left(c, w, p);

	if (r)
		return r;
	thread_close(c, w);
	if (!w->rec.ready_ns && !w->rec.stolen_ns)
		return 1;
	if (!p->samples && p->state != PROC_PYTHON && p->state != PROC_NATIVE)
		return 1;
	s.stack = thread_last_stack(c, w->process, &w->rec, &gil);
	if (!s.stack && w->rec.stack)
		s.stack = stack_of_sample(c, w, &native);
	if (!s.stack && !last && c->flushes - w->flush < ACCOUNT_FLUSHES)
		return 0;
	if (!s.stack)
		s.stack = stack_mark_only(c, WALK_OK, p);
	w->rec.gil = gil;
	r = add_both_apart(c, w->process, &w->rec, &s);
	return r ? r : 1;
}

/*
 * Adds sample @w to the profile if that can be done now. 1: the sample was added, or counted as a
 * sample that isn't shown. 0: the sample has to wait. -errno + message.
 */
static int hand_on(struct collect *c, struct waiting *w, bool last)
{
	struct process *p = process_at(c, w->process);
	struct collect_source *source;
	struct profile_sample s;
	uint8_t native = w->rec.native;
	struct wait_labels wait = {};
	int r;

	if (w->waker && !w->waiter)
		return 0;
	crowd_turn(c, p);
	/* krait found out only after this sample was taken that the process isn't shown */
	if (p->unwanted || w->waiter == NO_WAITER)
		return 1;
	if (w->rec.outcome == WALK_PENDING && !is_proved(p)) {
		if (!last && !process_has_ended(p) && p->state != PROC_IGNORED &&
		    p->state != PROC_CROWDED && process_newest(c, p->key.tgid) == p)
			return 0;
		if (w->waker)
			return 1;
		if (p->state == PROC_IGNORED)
			c->stats.not_python++;
		else if (p->state == PROC_CROWDED)
			c->stats.crowded.samples++;
		else
			c->stats.unknown++;
		return 1;
	}
	if (!last && process_is_awaited(c, p, w)) {
		/* the first thread gets its name from the process's record */
		if (w->rec.tid != p->key.tgid)
			thread_meet(c, w->process, &w->rec);
		return 0;
	}
	if (w->rec.outcome == WALK_PENDING && p->state == PROC_UNSUPPORTED) {
		if (w->flush == c->flushes && !last)
			return 0;
		w->rec.outcome = WALK_UNSUPPORTED;
	}
	if (w->waker)
		return hand_on_waker(c, w, p, last);
	if (w->state && !w->times && !w->rec.weight && !w->rec.blame_ns && thread_owes(c, w))
		return 1;
	p->names_samples += !w->met;
	w->met = false;
	s.stack = stack_of(c, w, p, last, &native);
	if (!s.stack) {
		thread_meet(c, w->process, &w->rec);
		return 0;
	}
	if (w->state || w->on)
		wait = thread_wait(c, s.stack, w->state, w->on);
	if (w->state)
		thread_share(c, w);
	r = fill_sample(c, w->process, w, &wait, &s);
	r = r ? r : add_to_profile(c, &s);
	r = r ? r : add_both_apart(c, w->process, &w->rec, &s);
	if (r)
		return r;
	if (c->config.waits)
		thread_note_stack(c, w->process, &w->rec, s.stack);
	if (wait_state_is(wait.state, WAIT_LOCK_BITS) && !wait.idle)
		w->waiter = thread_number(c, w->process, &w->rec);
	if (p->state == PROC_UNSUPPORTED)
		count_unsupported(c, p);
	if (!p->samples)
		note_process(c, p);
	c->stats.samples++;
	source = &c->stats.sources[w->rec.source];
	source->samples++;
	source->weight += w->rec.weight;
	if (w->state)
		add_wait(&c->stats, w, &wait);
	source->outcomes[w->rec.outcome]++;
	source->native[native]++;
	c->stats.outcomes[w->rec.outcome]++;
	c->stats.native[native]++;
	c->stats.processes += !p->samples++;
	return 1;
}

/*
 * May a wait of the process be shown? Only if it is known what the process runs, and if the process
 * is recorded.
 */
static bool shows_wait(const struct process *p, const struct rec_sample *rec)
{
	if (p->unwanted || (p->state != PROC_PYTHON && p->state != PROC_NATIVE && !p->samples))
		return false;
	return rec->outcome != WALK_PENDING || is_proved(p);
}

int collect_peek_wait(struct collect *c, const struct rec_wait *rec, struct profile_sample *ret)
{
	struct process *p = process_known(c, &rec->sample.proc);
	struct waiting w = {.rec = rec->sample,
			    .state = wait_state_of(rec),
			    .shown_ns = rec->since_ns,
			    .gil_ns = rec->gil_ns};
	struct wait_labels wait;
	uint8_t native;

	if (!p || intake_is_broken(c, &rec->sample) || !shows_wait(p, &rec->sample))
		return 0;
	w.rec.type = REC_SAMPLE;
	w.process = process_index(c, p);
	/* makes krait read the name of a thread that has only waits and no samples */
	p->walked |= w.rec.stack != 0;
	p->names_samples++;
	ret->stack = stack_of(c, &w, p, false, &native);
	if (!ret->stack)
		return 0;
	wait = thread_wait(c, ret->stack, w.state, on_find(c, rec->sample.proc.tgid, rec));
	ret->labels = thread_labels(c, w.process, &w.rec, &wait);
	if (profile_failed(c->profile))
		return err_set(-ENOMEM, "out of memory for the profile");
	ret->time_ns = time_of(c, &w);
	set_values(c, &w.rec, ret->values);
	set_wait_values(c, &w, ret->values);
	return 1;
}

void hand_on_meet(struct collect *c)
{
	vec_foreach(w, &c->intake->waiting) {
		struct process *p = process_at(c, w->process);

		if (w->met || w->waker || p->state != PROC_PYTHON || !p->walked || p->expected ||
		    p->unwanted)
			continue;
		crowd_turn(c, p);
		p->names_samples++;
		w->met = true;
		thread_meet(c, w->process, &w->rec);
	}
}

int hand_on_all(struct collect *c, bool last, int r)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->intake->waiting.n; i++) {
		struct waiting *w = &c->intake->waiting.v[i];
		int done = r ? 0 : hand_on(c, w, last);

		if (done < 0)
			r = done;
		if (done > 0) {
			if (w->woken) {
				w[1].waiter = w->waiter ?: NO_WAITER;
				w[1].waiter_tid = w->rec.tid;
				w[1].rec.weight = w->rec.weight;
			}
			process_at(c, w->process)->users--;
			continue;
		}
		if (kept < i)
			c->intake->waiting.v[kept] = *w;
		kept++;
	}
	c->intake->waiting.n = c->n_waiting = kept;
	intake_shrink(c->intake);
	return r;
}
