/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws periods of sampling at random; see rate.h. */
#include "sampler/sources/rate.h"

#include <math.h>

#include "sampler/sources/event.h"

/*
 * A clock is split into parts: events with periods of their own. The more parts there are, the less
 * it matters if one of them keeps step with the program for a while. But with n parts each period
 * is n times as long, and each change of periods begins all of them again. Below this rate few
 * samples come between two changes, so there are only two parts.
 */
#define PARTS_MANY_HZ 400

/*
 * A change costs each part half a sample on average, so periods are changed only after this many
 * samples.
 */
#define LEAST_PERIODS 64

/* A CPU's periods aren't changed before that CPU has sent this many records. */
#define LEAST_RECORDS 32

/*
 * A change of a counter's period drops half a sample on average, and nothing makes up for that.
 * With this many records between two changes, 0.2 % of the samples are lost.
 */
#define LEAST_RECORDS_COUNTER 256

/*
 * Additional samples replace samples that were dropped. At most this part of the rate is added for
 * that.
 */
#define EXTRA_MOST 0.1

unsigned rate_parts(const struct event *e)
{
	if (!e->source->clock)
		return 1;
	return NSEC_PER_SEC / e->period >= PARTS_MANY_HZ ? RATE_PARTS_MAX : 2;
}

static uint64_t next_random(uint64_t *random) /* the generator of random numbers is splitmix64 */
{
	uint64_t z = *random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/*
 * Returns a factor of 0.5 to 1.5. If a program repeats something at least as fast as samples come,
 * this range is wide enough to sample it at every point.
 */
static double factor(uint64_t *random)
{
	return 0.5 + (double)(next_random(random) >> 11) * 0x1p-53;
}

/*
 * To be called before a change: adds to .owed what the change will drop of each period, and
 * subtracts what was replaced since the last change.
 */
static void settle(struct rate *r, uint64_t ns)
{
	r->owed -= (double)ns * r->extra_per_ns;
	for (unsigned i = 0; i < r->parts; i++)
		r->owed += (double)(ns % r->period[i]) / (double)r->period[i];
}

/* @ns: how long the previous periods were in force */
static void draw_clock(struct rate *r, const struct event *e, uint64_t ns, uint64_t *random)
{
	double x[RATE_PARTS_MAX], sum = 0, rate = 1.0 / (double)e->period;

	/* The next change of periods will cost each part half a sample. */
	r->extra_per_ns = (r->owed + 0.5 * r->parts) / (double)MAX(ns, e->period);
	r->extra_per_ns = MAX(0.0, MIN(r->extra_per_ns, EXTRA_MOST * rate));
	for (unsigned i = 0; i < r->parts; i++)
		sum += x[i] = factor(random);
	for (unsigned i = 0; i < r->parts; i++)
		r->period[i] = (uint64_t)MIN(sum / x[i] / (rate + r->extra_per_ns), 0x1p62);
}

/* Draws new periods for a clock. The previous periods were in force until @now_ns. */
static void redraw_clock(struct rate *r, const struct event *e, uint64_t now_ns, uint64_t *random)
{
	uint64_t ns = r->since_ns ? now_ns - r->since_ns : LEAST_PERIODS * e->period;

	if (r->since_ns)
		settle(r, ns);
	draw_clock(r, e, ns, random);
}

static void begin(struct rate *r, uint64_t now_ns)
{
	r->since_ns = now_ns;
	r->records = 0;
}

void rate_change(struct rate *r, const struct event *from, const struct event *to, uint64_t now_ns,
		 uint64_t *random)
{
	if (r->since_ns)
		settle(r, now_ns - r->since_ns);
	/* .owed is a time. If each sample weighs more, that time is fewer samples. */
	r->owed *= (double)from->period / (double)to->period;
	draw_clock(r, to, LEAST_PERIODS * to->period, random);
	begin(r, now_ns);
}

/* The longest period: perf_event_open() refuses a period above 2^63 - 1. */
#define PERIOD_MOST (UINT64_MAX >> 1)

/*
 * Programs may repeat themselves after this many events, or fewer. Periods share no factor with
 * such numbers.
 */
#define RHYTHM_MOST 1000

static bool has_small_factor(uint64_t n)
{
	for (uint64_t i = 2; i < RHYTHM_MOST && i * i <= n; i++)
		if (n % i == 0)
			return true;
	return false;
}

#define FEW 4

/*
 * A program may do something at every second counted event, or at every tenth. A period that shares
 * no factor with such a number (2, 10) meets each of these events in turn.
 */
static uint64_t draw_count(uint64_t count, uint64_t *random)
{
	uint64_t n = (uint64_t)MIN((double)count * factor(random), 0x1p62);

	if (count == 1)
		return 1;
	/* avoids a period of 1: the kernel doesn't tell when such a period comes into force */
	if (count < FEW)
		n += 2;
	n |= 1;
	while (n < PERIOD_MOST && has_small_factor(n))
		n += 2;
	return n;
}

void rate_draw(struct rate *r, const struct event *e, uint64_t now_ns, uint64_t *random)
{
	if (!r->parts)
		r->parts = rate_parts(e);
	if (e->source->clock)
		redraw_clock(r, e, now_ns, random);
	else if (e->period)
		r->period[0] = draw_count(e->period, random);
	/* The first rate is at most the wanted one, because the kernel may refuse a higher rate. */
	else if (!r->since_ns)
		r->period[0] = e->hz;
	else
		r->period[0] = MAX((uint64_t)1, (uint64_t)(e->hz * factor(random)));
	begin(r, now_ns);
}

bool rate_is_due(const struct rate *r, const struct event *e, uint64_t now_ns)
{
	if (!r->since_ns || now_ns < r->since_ns || e->period == 1)
		return false;
	if (!e->source->clock)
		return r->records >= LEAST_RECORDS_COUNTER;
	return r->records >= LEAST_RECORDS && (now_ns - r->since_ns) / e->period >= LEAST_PERIODS;
}
