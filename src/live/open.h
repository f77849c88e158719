/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits that aren't over. At each tick the time by which they grew since the last tick is counted,
 * as if it were a sample. When the wait's own sample comes, only what wasn't counted yet is added.
 * So each interval has the time that threads waited in it.
 */
#ifndef LIVE_OPEN_H
#define LIVE_OPEN_H

#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"

struct live;
struct live_row;

/*
 * Values of a wait: how long it was, how much of that time was for the GIL, and how long other
 * threads waited meanwhile for a GIL that this thread held.
 */
enum { OPEN_WAITED, OPEN_GIL, OPEN_BLAME, OPEN_VALUES };

struct live_wait {
	uint64_t thread;	   /* the numbers of the process and of the thread that waits */
	int64_t time_ns;	   /* when it began */
	int64_t told[OPEN_VALUES]; /* what was counted of this wait so far */
	/*
	 * ids of the sample that the wait would be, for live_wait_now(); 0 after the profile was
	 * condensed
	 */
	uint32_t labels, stack;
	uint32_t tick; /* the last tick before which the wait was open */
	/*
	 * the wait's stack was left out. If the wait ends before WAIT_LONG_NS, later samples of the
	 * thread have its time.
	 */
	bool left;
	bool over; /* the sample of this wait has come */
};

struct live_open {
	VEC(struct live_wait) waits;
	struct map by_wait;   /* thread and time -> index in .waits */
	struct map by_thread; /* thread -> index in .waits of the wait that the thread is in now */
	/*
	 * thread -> time that was counted already, and that later samples of the thread contain
	 * again
	 */
	struct map debts;
};

void live_open_fini(struct live_open *o);

/*
 * Before a tick, in this order: live_open_begin(), live_open_add() for each wait that isn't over
 * (@s: the sample that it would be; @left as in struct live_wait), live_open_end(). 0 or -ENOMEM +
 * message.
 */
void live_open_begin(struct live *l);
_must_use_ int live_open_add(struct live *l, const struct profile_sample *s, bool left);
_must_use_ int live_open_end(struct live *l);

/*
 * Called when sample @s has come: subtracts from it what was counted of its wait while the wait
 * lasted.
 */
void live_open_settle(struct live *l, struct profile_sample *s);

/* Called after the profile was condensed, because that changes the ids of labels and stacks. */
void live_open_condensed(struct live_open *o);

/* Returns the wait in which the thread of a row is now; NULL: the thread doesn't wait. */
const struct live_wait *live_wait_now(const struct live *l, const struct live_row *row);

#endif
