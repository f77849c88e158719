/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds how long the main thread waits for files. The bound is WAITED_ONE for each file system and
 * each user, and WAITED_ALL for all together. The main thread may wait that long at once, and in
 * addition a share of the time since its first wait (WAITED_SHARE). Of a bound, waits for slow
 * answers may take only a part at once (WAITED_SLOW). Answers as fast as those of the machine's own
 * files don't count, because a machine that starts programs all day has many of them.
 */
#ifndef PROC_FILES_WAITED_H
#define PROC_FILES_WAITED_H

#include "base/system/clock.h"

#define WAITED_ONE (3 * NSEC_PER_SEC)
#define WAITED_ALL (6 * NSEC_PER_SEC)
/* All waits for slow answers together may take WAITED_ONE or WAITED_ALL divided by this number. */
#define WAITED_SLOW 6
#define WAITED_FAST (20 * NSEC_PER_MSEC) /* an answer that takes at least this long is slow */
/* a wait for an answer that comes faster than this isn't counted */
#define WAITED_LEAST NSEC_PER_MSEC
/* the share of passing time that the main thread may wait, as a divisor: 50 means 2 % */
#define WAITED_SHARE 50

struct waited {
	uint64_t since_ns, ns, slow_ns;
};

/* May the main thread wait for another answer? @most: WAITED_ONE or WAITED_ALL. */
static inline bool waited_is_left(const struct waited *w, uint64_t now, uint64_t most)
{
	uint64_t more = w->since_ns ? (now - w->since_ns) / WAITED_SHARE : 0;

	return w->ns < most + more && w->slow_ns < most / WAITED_SLOW + more;
}

static inline void waited_add(struct waited *w, uint64_t began, uint64_t took)
{
	w->since_ns = w->since_ns ?: began;
	w->ns += took >= WAITED_LEAST ? took : 0;
	w->slow_ns += took >= WAITED_FAST ? took : 0;
}

#endif
