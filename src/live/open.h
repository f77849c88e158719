/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits that aren't over. At the end of each interval (a tick), krait counts by how much each of
 * these waits grew in the interval, as if there were a sample. When the wait ends and its own
 * sample comes, only the rest is added. So each interval has the time that threads waited in it.
 */
#ifndef LIVE_OPEN_H
#define LIVE_OPEN_H

#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"

struct live;
struct live_row;

/*
 * Values of a wait: how long it lasted; how much of that time was for the GIL; how long other
 * threads waited meanwhile for the GIL because this thread held it.
 */
enum { OPEN_WAITED, OPEN_GIL, OPEN_BLAME, OPEN_VALUES };

struct live_wait {
	/* process id and thread id of the waiting thread, in one number */
	uint64_t thread;
	int64_t time_ns;	   /* when the wait began, as in the profile's samples */
	int64_t told[OPEN_VALUES]; /* how much was counted so far of each of the wait's values */
	/*
	 * ids of the stack and the labels that the wait's sample would have, for live_wait_now(); 0
	 * after the profile was condensed (made smaller)
	 */
	uint32_t labels, stack;
	uint32_t tick; /* number of the last interval at whose end the wait wasn't over */
	/*
	 * The kernel program didn't take the stack of this wait. If the wait ends before it reaches
	 * WAIT_LONG_NS, later samples of the thread contain its time.
	 */
	bool left;
	bool over; /* the sample of this wait has come */
};

struct live_open {
	VEC(struct live_wait) waits;
	struct map by_wait; /* thread and beginning of a wait -> its index in .waits */
	/* thread -> index in .waits of the wait that the thread is in at present */
	struct map by_thread;
	/*
	 * thread -> time that was counted already, but that later samples of the thread contain
	 * again
	 */
	struct map debts;
};

void live_open_fini(struct live_open *o);

/*
 * Called before live_tick(), in this order: live_open_begin(); live_open_add() for each wait that
 * isn't over; live_open_end(). @s: the sample that the wait would be if it ended now. @left: as in
 * struct live_wait. 0 or -ENOMEM + message.
 */
void live_open_begin(struct live *l);
_must_use_ int live_open_add(struct live *l, const struct profile_sample *s, bool left);
_must_use_ int live_open_end(struct live *l);

/*
 * Call it when sample @s has come: it subtracts what was already counted of the sample's wait while
 * the wait lasted.
 */
void live_open_settle(struct live *l, struct profile_sample *s);

/*
 * Forgets the ids of stacks and labels. Call it after the profile was condensed (made smaller),
 * because that changes the ids.
 */
void live_open_condensed(struct live_open *o);

/* Returns the wait in which the row's thread is at present. NULL: the thread doesn't wait. */
const struct live_wait *live_wait_now(const struct live *l, const struct live_row *row);

#endif
