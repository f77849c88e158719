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
 * Values of a wait: how long it was, how much of it was for the GIL, and others' waits meanwhile.
 */
enum { OPEN_WAITED, OPEN_GIL, OPEN_BLAME, OPEN_VALUES };

struct live_wait {
	uint64_t thread;	   /* the numbers of its process and thread */
	int64_t time_ns;	   /* when it began */
	int64_t told[OPEN_VALUES]; /* what of it was counted so far */
	/* the sample's, for live_wait_now(); 0 after the profile was condensed */
	uint32_t labels, stack;
	uint32_t tick; /* the last tick before which it was open */
	/* its stack was left out; if it ends before WAIT_LONG_NS, later samples have its time */
	bool left;
	bool over; /* its sample has come */
};

struct live_open {
	VEC(struct live_wait) waits;
	struct map by_wait;   /* thread and time -> index in .waits */
	struct map by_thread; /* thread -> index in .waits of what it waits for now */
	struct map debts;     /* thread -> time that was counted, and that later samples have too */
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
 * Called when sample @s has come: subtracts from it what was counted of its wait while it lasted.
 */
void live_open_settle(struct live *l, struct profile_sample *s);

/* Called after the profile was condensed, which changes its ids. */
void live_open_condensed(struct live_open *o);

/* What the thread of a row waits for now; NULL: it doesn't wait. */
const struct live_wait *live_wait_now(const struct live *l, const struct live_row *row);

#endif
