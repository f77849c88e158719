/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the agent sample half or twice as often, according to its CPU time; see limit.h. */
#include "agent/limit.h"

#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/log.h"

#define WINDOW_NS (10 * NSEC_PER_SEC)
/*
 * How many times the sampling rate may be halved: 99 Hz become 3. If the agent still takes much CPU
 * time then, samples are hardly the cause.
 */
#define MOST_HALVINGS 5
/*
 * An agent that takes this many times its limit samples less often at once, without waiting for
 * HOT_WINDOWS.
 */
#define MUCH 3
/*
 * After this many windows of 10 s above its limit in a row, the agent samples less often. A single
 * such window isn't enough, because from time to time the agent needs extra CPU time (to finish a
 * segment of the store).
 */
#define HOT_WINDOWS 2
/*
 * A window of 10 s is calm if the agent could have sampled twice as often in it without exceeding
 * its limit (CALM_PART). After this many calm windows in a row, it samples more often again.
 */
#define CALM_WINDOWS 3
/* A window of 10 s is calm if the agent took less than this part of its limit in it. */
#define CALM_PART   0.4
#define PPM_PERCENT 10000.0 /* millionths in a percent */
#define KEY	    "less often"
#define MORE_KEY    "more often"
/*
 * While a trigger's condition is met, the agent takes this many times as many samples, but not more
 * than MOST_HZ a second, or what the user asked for if that is more.
 */
#define TIMES	4
#define MOST_HZ 999

void limit_begin(struct limit *l, struct session *s, const struct effort *asked, uint64_t now_ns)
{
	*l = (struct limit){.s = s, .asked = *asked, .begin_ns = now_ns + WINDOW_NS};
}

static uint32_t halved(uint32_t n, unsigned times)
{
	return MAX(n >> times, 1u);
}

uint32_t limit_hz(const struct limit *l)
{
	uint32_t hz = l->asked.hz ? halved(l->asked.hz, l->halvings) : 0;

	return l->raised ? MAX(hz, MIN(hz * TIMES, (uint32_t)MOST_HZ)) : hz;
}

static bool is_comment(const char *text)
{
	return str_starts(text, KEY ": ") || str_starts(text, MORE_KEY ": ");
}

/*
 * Writes a comment into the profile: since when the agent takes fewer or more samples a second than
 * the user asked for. Removes the comment once the rate is as asked.
 */
static void tell_profile(const struct limit *l)
{
	time_t now = (time_t)(clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC);
	char when[48] = "", text[160];
	struct tm tm;

	comments_remove(&profile_meta(l->s->profile)->comments, is_comment);
	if (limit_hz(l) == l->asked.hz)
		return;
	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%F %T UTC", &tm);
	snprintf(text, sizeof(text), "from %s on %u samples a second instead of %u", when,
		 limit_hz(l), l->asked.hz);
	profile_add_comment(l->s->profile, limit_hz(l) < l->asked.hz ? KEY : MORE_KEY, text);
}

static int apply(struct limit *l)
{
	uint32_t budget = l->asked.wait_budget_ppm ?: WAIT_BUDGET_PPM;
	int r = session_set_effort(l->s, limit_hz(l), halved(budget, l->halvings));

	if (!r)
		tell_profile(l);
	return r;
}

/*
 * Sets how many times the user's sampling rate and budget for stacks of waits are halved. Returns
 * 1, or -errno + message.
 */
static int change(struct limit *l, unsigned halvings)
{
	l->halvings = halvings;
	l->hot = l->calm = 0;
	return apply(l) ?: 1;
}

int limit_raise(struct limit *l, bool more)
{
	uint32_t before = limit_hz(l);

	if (more == l->wanted)
		return 0;
	l->wanted = l->raised = more;
	if (limit_hz(l) == before)
		return 0;
	log_note("the agent samples %u times a second from now on, because %s", limit_hz(l),
		 more ? "a trigger's condition is met" : "no trigger's condition is met any more");
	return change(l, l->halvings);
}

static int lower(struct limit *l, double ppm)
{
	if (l->raised) {
		l->raised = false;
		log_warn("the agent took %.1f %% of a CPU, but may take only %.1f: from now on it "
			 "samples %u times a second, although a trigger's condition is still met",
			 ppm / PPM_PERCENT, l->asked.max_cpu_ppm / PPM_PERCENT, limit_hz(l));
		return change(l, l->halvings);
	}
	if (l->halvings == MOST_HALVINGS)
		return 0;
	l->lowered++;
	log_warn("the agent took %.1f %% of a CPU, but may take only %.1f: from now on it samples "
		 "%u times a second, and takes stacks of half as many waits",
		 ppm / PPM_PERCENT, l->asked.max_cpu_ppm / PPM_PERCENT,
		 halved(l->asked.hz, l->halvings + 1));
	return change(l, l->halvings + 1);
}

static int raise(struct limit *l)
{
	log_note("the agent took less CPU time than it may: it samples %u times a second from now "
		 "on",
		 halved(l->asked.hz, l->halvings - 1));
	return change(l, l->halvings - 1);
}

/*
 * Changes how much the agent samples, if necessary, after a window of @ns in which it took @cpu_ns
 * of CPU time.
 */
static int judge(struct limit *l, double cpu_ns, double ns)
{
	double ppm = cpu_ns * 1e6 / ns, max = l->asked.max_cpu_ppm;

	l->hot = ppm > max ? l->hot + 1 : 0;
	l->calm = ppm < CALM_PART * max ? l->calm + 1 : 0;
	if (ppm > MUCH * max || l->hot >= HOT_WINDOWS)
		return lower(l, ppm);
	return l->halvings && l->calm >= CALM_WINDOWS ? raise(l) : 0;
}

int limit_turn(struct limit *l, uint64_t now_ns, uint64_t cpu_ns)
{
	uint64_t allowed = WINDOW_NS / 1000000 * l->asked.max_cpu_ppm;
	uint64_t spent = cpu_ns - l->begin_cpu_ns;
	int r = 0;

	if (now_ns < l->begin_ns)
		return 0;
	/* this call begins the first window of 10 s whose CPU time is compared with the limit */
	if (!l->begin_cpu_ns) {
		l->begin_ns = now_ns;
		l->begin_cpu_ns = cpu_ns;
		return 0;
	}
	/*
	 * the window ends early if the agent has already spent many times what it may spend in a
	 * whole one
	 */
	if (now_ns - l->begin_ns < WINDOW_NS && spent <= MUCH * allowed)
		return 0;
	if (l->asked.max_cpu_ppm)
		r = judge(l, (double)spent, (double)(now_ns - l->begin_ns));
	l->begin_ns = now_ns;
	l->begin_cpu_ns = cpu_ns;
	return r;
}

int limit_ask(struct limit *l, const struct effort *asked)
{
	struct effort before = l->asked;
	int r;

	l->asked = *asked;
	if (!asked->max_cpu_ppm)
		l->halvings = 0;
	r = apply(l);
	if (r)
		l->asked = before;
	return r;
}
