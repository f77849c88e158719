/* SPDX-License-Identifier: BSD-2-Clause */
/* A deadline for waiting, which the user can shorten by signals; see patience.h. */
#include "record/patience.h"

#include <stdio.h>

#include "base/system/clock.h"
#include "base/system/log.h"
#include "record/command/signals.h"

/*
 * after this time the user is told what krait waits for, because shorter waits are hardly noticed
 */
#define SAY_AFTER_NS NSEC_PER_SEC
#define SAY_AGAIN_NS (500 * NSEC_PER_MSEC)

void patience_begin(struct patience *p)
{
	if (p->began_ns)
		return;
	p->began_ns = p->came_ns = clock_ns(CLOCK_MONOTONIC);
	/* doesn't count the signal that ended the sampling */
	p->signals = MIN(signals_count(), 1u);
}

static bool is_hurried(const struct patience *p)
{
	return signals_count() > p->signals;
}

static unsigned seconds_of(const struct patience *p)
{
	return p->seconds ?: PATIENCE_SECONDS;
}

static unsigned limit_of(const struct patience *p)
{
	return seconds_of(p) * PATIENCE_LIMIT;
}

static void say(struct patience *p, const char *what, uint64_t waited_ns)
{
	if (waited_ns < SAY_AFTER_NS || waited_ns - p->said_ns < SAY_AGAIN_NS)
		return;
	p->said_ns = waited_ns;
	if (!p->said)
		log_note("waiting for %s, until nothing new has come for %u s. Ctrl-C ends the "
			 "wait and writes the output now",
			 what, seconds_of(p));
	p->said = true;
	log_progress("Waiting for %s, %.0f s", what, (double)waited_ns / NSEC_PER_SEC);
}

static void end(struct patience *p, const char *what)
{
	char why[64];

	log_progress(NULL);
	log_warn("no longer waiting for %s: %s", what, patience_words(p, why, sizeof(why)));
	p->over = true;
}

bool patience_has(struct patience *p, const char *what, unsigned done)
{
	uint64_t now_ns;

	patience_begin(p);
	now_ns = clock_ns(CLOCK_MONOTONIC);
	if (p->over)
		return false;
	if (done != p->done)
		p->came_ns = now_ns;
	p->done = done;
	if (is_hurried(p) || now_ns - p->came_ns >= seconds_of(p) * NSEC_PER_SEC ||
	    now_ns - p->began_ns >= limit_of(p) * NSEC_PER_SEC)
		end(p, what);
	else
		say(p, what, now_ns - p->began_ns);
	return !p->over;
}

const char *patience_words(const struct patience *p, char *text, size_t n)
{
	if (is_hurried(p))
		return "a signal asked to write now";
	if (p->came_ns - p->began_ns < (limit_of(p) - seconds_of(p)) * NSEC_PER_SEC)
		snprintf(text, n, "nothing came for %u s", seconds_of(p));
	else
		snprintf(text, n, "%u s have passed", limit_of(p));
	return text;
}
