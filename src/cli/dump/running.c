/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples the threads that run, as a recording does. Their stacks would change while krait reads
 * them from outside; a sample shows a single moment.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/dump/dump.h"
#include "cli/record/fail.h"

#define SAMPLE_HZ 997
#define DRAIN_NS  (4 * NSEC_PER_MSEC)
/* How long all running threads are sampled, once their unwind tables are ready. */
#define TURN_NS (250 * NSEC_PER_MSEC)
/* How long krait waits for unwind tables at most. Those of a very large file may take longer. */
#define MOST_NS (1000 * NSEC_PER_MSEC)

static bool runs(const struct dump_thread *t)
{
	return t->wait.kind == WAIT_RUNNING;
}

static enum gil_state gil_label(const struct profile *p, uint32_t set)
{
	const char *word = profile_label_text(p, set, "gil");

#define X(name, text)                                                                              \
	if (streq(word, text))                                                                     \
		return GIL_##name;
	GIL_STATES(X)
#undef X
	return GIL_UNKNOWN;
}

/*
 * Tells whether a stack is complete. In an incomplete one, a mark (a frame in brackets) says what
 * is missing.
 */
static bool is_whole(const struct profile *p, uint32_t stack)
{
	size_t n;
	const uint32_t *frames = profile_get_stack(p, stack, &n);

	for (size_t i = 0; i < n; i++) {
		const struct profile_location *l = profile_get_location(p, frames[i]);
		const struct profile_mapping *m = profile_get_mapping(p, l->mapping);

		if (m->kind == KIND_MARK || streq(profile_get_string(p, m->name), "[unknown]"))
			return false;
	}
	return n;
}

static int take_sample(void *arg, const struct profile_sample *sample)
{
	struct dump_running *x = arg;
	struct profile *p = x->session.profile;
	uint64_t *at;
	struct dump_thread *t;

	if (x->seen++ < x->taken)
		return 0;
	at = map_get(&x->threads, dump_sampled_thread(p, sample->labels));
	t = at ? (struct dump_thread *)(uintptr_t)*at : NULL;
	/*
	 * Keeps a thread's first complete stack. While a thread has no complete stack, keeps its
	 * latest stack.
	 */
	if (!t || map_get(&x->whole, *at))
		return 0;
	if (x->clean && is_whole(p, sample->stack) && map_put(&x->whole, *at, 1))
		return -ENOMEM;
	t->profile = p;
	t->stack = sample->stack;
	t->gil = gil_label(p, sample->labels);
	t->steady = true;
	return 0;
}

/* Returns how many samples came too early: their mappings or unwind tables weren't ready yet. */
static uint64_t early_samples(const struct session *s)
{
	struct collect_stats st;

	collect_stats(s->collect, &st);
	return st.native[NATIVE_NO_SPACE] + st.native[NATIVE_NO_ROWS] + st.native[NATIVE_UNMAPPED];
}

static int take_samples(struct dump_running *x, uint64_t early)
{
	int r;

	x->seen = 0;
	x->clean = early_samples(&x->session) == early;
	r = profile_each(x->session.profile, take_sample, x);
	x->taken = x->seen;
	return r ? err_sys(r, "samples") : 0;
}

/*
 * Returns true if krait is still making unwind tables and some thread has only incomplete stacks.
 */
static bool waits_for_rows(const struct dump_running *x)
{
	if (!collect_rows_coming(x->session.collect))
		return false;
	map_foreach(slot, &x->threads) {
		const struct dump_thread *t = (struct dump_thread *)(uintptr_t)slot->value;

		if (t->profile && !map_get(&x->whole, slot->value))
			return true;
	}
	return false;
}

/*
 * Reads samples from the kernel until each thread has a complete stack, or until the time is over.
 */
static int sample(struct dump_running *x)
{
	struct session *s = &x->session;
	int r = session_start(s);
	uint64_t early, now = s->start_ns, end = now + TURN_NS;

	while (!r && x->whole.n < x->threads.n && now < end) {
		nanosleep(&(struct timespec){.tv_nsec = DRAIN_NS}, NULL);
		early = early_samples(s);
		r = session_drain(s);
		r = r ? r : take_samples(x, early);
		now = clock_ns(CLOCK_MONOTONIC);
		if (waits_for_rows(x))
			end = MIN(now + TURN_NS, s->start_ns + MOST_NS);
	}
	if (s->epoll_fd < 0)
		return r;
	early = early_samples(s);
	r = fail_stop(s, r);
	return r ? r : take_samples(x, early);
}

/* Lists the running threads, and adds their processes as targets of the sampling. */
static int list(struct dump_running *x, struct dump_process *list, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		size_t before = x->threads.n;

		/*
		 * a process that hangs can't be sampled, because krait can't read what identifies
		 * it
		 */
		if (list[i].locked)
			continue;
		x->options.all |= !list[i].version || list[i].pypy;
		vec_foreach(t, &list[i].threads)
			if (!r && runs(t))
				r = map_put(&x->threads, dump_thread_key(list[i].pid, t->tid),
					    (uintptr_t)t);
		if (!r && x->threads.n > before)
			r = vec_push(&x->options.pids, list[i].pid);
	}
	return r;
}

/*
 * A running thread that got no sample has no CPU, because other programs use the CPUs: notes that
 * it waits for one.
 */
static void mark_waiting(struct dump_running *x)
{
	map_foreach(slot, &x->threads) {
		struct dump_thread *t = (struct dump_thread *)(uintptr_t)slot->value;

		if (!t->profile)
			t->wait.kind = WAIT_RUNNABLE;
	}
}

void dump_running_read(struct dump_running *x, const struct dump_options *o,
		       const struct collect_texts *texts, struct dump_process *processes, size_t n)
{
	struct session *s = &x->session;
	int r;

	*x = (struct dump_running){};
	session_init(s, &x->options);
	s->end_positions = true;
	s->texts = texts;
	map_init(&x->threads);
	map_init(&x->whole);
	x->options.freq_hz = SAMPLE_HZ;
	x->options.no_children = true;
	x->options.native = o->record.session.native;
	x->options.kernel = o->record.session.kernel;
	x->options.interpreter_frames = o->record.session.interpreter_frames;
	r = list(x, processes, n);
	/*
	 * With several processes, makes none of them a target, so that all processes on the machine
	 * are sampled: a target that has just ended would be an error.
	 */
	if (x->options.pids.n > 1)
		vec_fini(&x->options.pids);
	if (!r && !x->threads.n)
		return;
	r = r ? r : session_check_permitted(s);
	r = r ? r : session_set_up(s);
	r = r ? r : sample(x);
	if (r == -ESRCH)
		log_info("%s", error_words());
	else if (r)
		log_warn("threads that run can't be sampled: %s", error_words());
	else
		mark_waiting(x);
}

void dump_running_fini(struct dump_running *x)
{
	session_fini(&x->session);
	map_fini(&x->threads);
	map_fini(&x->whole);
	vec_fini(&x->options.pids);
}
