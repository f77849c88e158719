/* SPDX-License-Identifier: BSD-2-Clause */
/* A deadline that a user can shorten; see patience.h. */
#include "cli/patience.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/signals.h"

#define SAY_AFTER_NS NSEC_PER_SEC /* less is hardly noticed */
#define SAY_AGAIN_NS (500 * NSEC_PER_MSEC)

void patience_begin(struct patience *p)
{
	if (p->began_ns)
		return;
	p->began_ns = clock_ns(CLOCK_MONOTONIC);
	p->signals = MIN(signals_count(), 1u); /* the first one ended the sampling */
}

static bool is_hurried(const struct patience *p)
{
	return signals_count() > p->signals;
}

_Static_assert(PATIENCE_SECONDS == 5, "patience_words() says so");

static unsigned seconds_of(const struct patience *p)
{
	return p->seconds ?: PATIENCE_SECONDS;
}

static void say(struct patience *p, const char *what, uint64_t waited_ns)
{
	if (waited_ns < SAY_AFTER_NS || waited_ns - p->said_ns < SAY_AGAIN_NS)
		return;
	p->said_ns = waited_ns;
	if (!p->said)
		log_note("waiting for %s, %u s at most; Ctrl-C writes now, without", what,
			 seconds_of(p));
	p->said = true;
	log_progress("Waiting for %s, %.0f s", what, (double)waited_ns / NSEC_PER_SEC);
}

static void end(struct patience *p, const char *what)
{
	log_progress(NULL);
	if (is_hurried(p))
		log_warn("no longer waiting for %s: a signal asked to write now", what);
	else
		log_warn("no longer waiting for %s: %u s have passed", what, seconds_of(p));
	p->over = true;
}

bool patience_has(struct patience *p, const char *what)
{
	uint64_t waited_ns;

	patience_begin(p);
	waited_ns = clock_ns(CLOCK_MONOTONIC) - p->began_ns;
	if (p->over)
		return false;
	if (is_hurried(p) || waited_ns >= seconds_of(p) * NSEC_PER_SEC)
		end(p, what);
	else
		say(p, what, waited_ns);
	return !p->over;
}

const char *patience_words(const struct patience *p)
{
	return is_hurried(p) ? "a signal asked to write at once" : "the end waits for 5 s";
}
