/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses sampling periods at random; see rate.h. */
#include "sampler/sources/rate.h"

#include <math.h>

#include "sampler/sources/event.h"

/*
 * A clock is split into parts, which are events with periods of their own. The more parts there
 * are, the less it matters if one of them keeps in step with a program for a while. But with n
 * parts each period is n times as long, and at each change of periods all of them begin anew. Below
 * this rate few samples come between two changes, so there are only two parts.
 */
#define PARTS_MANY_HZ 400

/*
 * A change costs each sampling event half a sample on average, so periods are changed only after
 * this many samples.
 */
#define LEAST_PERIODS 64

/* The periods of a CPU aren't changed before this many records have come from it. */
#define LEAST_RECORDS 32

/*
 * Like LEAST_RECORDS, for a counter. A change of a counter's period drops half a sample on average,
 * for which nothing makes up. With this many records between two changes, 0.2 % of the samples are
 * lost.
 */
#define LEAST_RECORDS_COUNTER 256

/*
 * Samples that a change of periods drops are replaced by additional samples, at most this part of
 * the rate.
 */
#define EXTRA_MOST 0.1

unsigned rate_parts(const struct event *e)
{
	if (!e->source->clock)
		return 1;
	return NSEC_PER_SEC / e->period >= PARTS_MANY_HZ ? RATE_PARTS_MAX : 2;
}

static uint64_t next_random(uint64_t *random) /* random numbers by splitmix64 */
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
 * Called before a change of periods: adds to .owed what the change will drop of each period, and
 * subtracts the samples that were replaced since the last change.
 */
static void settle(struct rate *r, uint64_t ns)
{
	r->owed -= (double)ns * r->extra_per_ns;
	for (unsigned i = 0; i < r->parts; i++)
		r->owed += (double)(ns % r->period[i]) / (double)r->period[i];
}

/* Draws new periods for a clock. @ns: how long the periods before them were in force. */
static void draw_clock(struct rate *r, const struct event *e, uint64_t ns, uint64_t *random)
{
	double x[RATE_PARTS_MAX], sum = 0, rate = 1.0 / (double)e->period;

	/*
	 * half a sample of each part (sampling event) is added, because the next change of periods
	 * will drop as much
	 */
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
	/* .owed counts samples, and each of them weighs more or less at the new rate. */
	r->owed *= (double)from->period / (double)to->period;
	draw_clock(r, to, LEAST_PERIODS * to->period, random);
	begin(r, now_ns);
}

/* The longest period: perf_event_open() refuses a period above 2^63 - 1. */
#define PERIOD_MOST (UINT64_MAX >> 1)

/*
 * The largest number of events after which programs are expected to repeat themselves. Periods
 * share no factor with numbers up to this one.
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
 * Draws a period for a counter. A program may do something at every second or every tenth counted
 * event. A period that shares no factor with that number (2, 10) hits each of these events in turn.
 */
static uint64_t draw_count(uint64_t count, uint64_t *random)
{
	uint64_t n = (uint64_t)MIN((double)count * factor(random), 0x1p62);

	if (count == 1)
		return 1;
	/*
	 * keeps the period from being 1, because the kernel doesn't tell when a period of 1 comes
	 * into force
	 */
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
	/*
	 * The first rate is at most the wanted rate, because the kernel may refuse a higher rate.
	 */
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
