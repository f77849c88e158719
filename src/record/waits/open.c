/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the waits that aren't over, for code that shows the present state, such as krait top. The
 * kernel program took the stacks of most of them when they began, and keeps them in the map
 * `waits`. The stacks of the other waits are read as `krait dump` reads blocked threads, once the
 * waits have lasted long enough. A recording also reads these stacks, so that a long wait never
 * counts for another stack.
 */
#include "base/system/clock.h"
#include "base/error.h"
#include "record/session.h"
#include "waits.h"

/*
 * A wait whose stack the kernel program didn't take is read when it has lasted this long, because
 * most waits are much shorter.
 */
#define LEFT_NS	      (200 * NSEC_PER_MSEC)
#define MOST_READ_NOW 64 /* the most processes whose threads are read at one time */
/*
 * How often a recording looks for waits whose stacks the kernel program didn't take: often enough
 * to find each wait that takes WAIT_LONG_NS. If there are many threads, the recording looks less
 * often, so that looking takes at most LOOK_PER_MILL thousandths of a CPU.
 */
#define LOOK_NS	      (WAIT_LONG_NS / 2)
#define LOOK_PER_MILL 4
/* At the recording's end, those waits are read that have lasted at least this long. */
#define LEFT_END_NS (10 * NSEC_PER_MSEC)

struct open_wait {
	struct rec_wait wait;
	bool left;
};

struct opening {
	struct session *s;
	VEC(struct open_wait) waits;
	pid_vec tgids; /* processes that have threads which must be read */
	uint64_t left_until_ns;
	bool young; /* some waits without a stack haven't lasted long enough yet to be read */
	bool failed;
};

static bool lacks_stack(const struct rec_wait *wait)
{
	return !wait->sample.stack && wait->sample.outcome == WALK_PENDING;
}

/* Notes the process of a wait whose stack must be read. */
static void note_left(void *ctx, const struct rec_wait *wait, bool left)
{
	struct opening *o = ctx;
	pid_t tgid = (pid_t)wait->sample.proc.tgid;

	o->young |= left && wait->since_ns > o->left_until_ns;
	if (!left || wait->since_ns > o->left_until_ns || session_met_wait(o->s, wait) ||
	    o->tgids.n == MOST_READ_NOW || (o->tgids.n && o->tgids.v[o->tgids.n - 1] == tgid))
		return;
	o->failed |= vec_push(&o->tgids, tgid) != 0;
}

static void take(void *ctx, const struct rec_wait *wait, bool left)
{
	struct opening *o = ctx;

	o->failed |= vec_push(&o->waits, (struct open_wait){*wait, left}) != 0;
	note_left(o, wait, left);
}

/*
 * Completes a wait of which the kernel program has no stack. If the kernel program chose not to
 * take this wait's stack, the record still describes an earlier wait, so all of the record is
 * replaced. False: user space hasn't read the wait's stack.
 */
static bool complete(const struct session *s, struct open_wait *open)
{
	const struct rec_wait *met;

	if (!lacks_stack(&open->wait))
		return true;
	met = session_met_wait(s, &open->wait);
	if (!met)
		return false;
	session_give_stack(met, open->left, &open->wait);
	return true;
}

static int show(struct opening *o, session_open_fn fn, void *ctx)
{
	int r = 0;

	for (size_t i = 0; !r && i < o->waits.n; i++) {
		struct open_wait *open = &o->waits.v[i];
		struct profile_sample sample;

		if (!complete(o->s, open))
			continue;
		r = collect_peek_wait(o->s->collect, &open->wait, &sample);
		if (r > 0)
			r = fn(ctx, &sample, open->left);
	}
	return r;
}

int session_open_waits(struct session *s, session_open_fn fn, void *ctx)
{
	struct opening o = {.s = s, .left_until_ns = clock_ns(CLOCK_MONOTONIC) - LEFT_NS};
	int r;

	if (!session_events_wait(&s->events) || !s->sampler || !s->collect)
		return 0;
	sampler_open_waits(s->sampler, take, &o);
	if (o.tgids.n)
		session_read_left(s, &o.tgids, o.left_until_ns);
	r = o.failed ? err_set(-ENOMEM, "out of memory") : show(&o, fn, ctx);
	vec_fini(&o.waits);
	vec_fini(&o.tgids);
	return r;
}

/*
 * Reads the stacks of waits that have lasted since @left_until_ns or longer, if the kernel program
 * didn't take them. Returns true if there are also shorter waits without a stack.
 */
static bool read_left(struct session *s, uint64_t left_until_ns)
{
	struct opening o = {.s = s, .left_until_ns = left_until_ns};

	sampler_open_waits(s->sampler, note_left, &o);
	if (o.tgids.n)
		session_read_left(s, &o.tgids, left_until_ns);
	vec_fini(&o.tgids);
	return o.young;
}

void session_look_at_left(struct session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), n;

	if (!session_events_wait(&s->events) || now < s->left.look_ns)
		return;
	s->left.look_ns = now + LOOK_NS;
	n = sampler_waits_left(s->sampler);
	if (n == s->left.seen && !s->left.young)
		return;
	s->left.seen = n;
	s->left.young = read_left(s, now - LEFT_NS);
	s->left.look_ns += (clock_ns(CLOCK_MONOTONIC) - now) * (1000 / LOOK_PER_MILL);
}

void session_end_left(struct session *s)
{
	if (session_events_wait(&s->events) && s->sampler && sampler_waits_left(s->sampler))
		(void)read_left(s, clock_ns(CLOCK_MONOTONIC) - LEFT_END_NS);
}
