/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wait is a sample once it is over. So that a window also shows a thread that has waited all the
 * time, a long wait is kept in pieces: from time to time what it has been so far, and at its end
 * the rest. The rest of its values (for the GIL) come with the last piece.
 */
#ifndef AGENT_PIECES_H
#define AGENT_PIECES_H

#include "base/map.h"
#include "record/session.h"

struct pieces {
	struct session *s;
	/* receives each piece */
	int (*add)(void *ctx, const struct profile_sample *sample);
	void *ctx;
	/*
	 * by a hash of thread and begin: until when a wait was kept, ns of the profile's time. .old
	 * has those whose last piece isn't of the latest round: their end may still come.
	 */
	struct map kept, old;
	uint64_t due_ns; /* the next round, CLOCK_MONOTONIC */
	int64_t now_ns;	 /* of the round, the profile's time */
	int off_cpu;	 /* index of the value; -1: waits aren't recorded */
};

void pieces_begin(struct pieces *x, uint64_t now_ns);
void pieces_fini(struct pieces *x);

/* If a round is due, hands on a piece of each wait that isn't over. 0 or -ENOMEM + message. */
_must_use_ int pieces_turn(struct pieces *x, uint64_t now_ns);

/* Takes off a sample what was kept of it: to be called for each sample that joins the profile. */
void pieces_take_off(struct pieces *x, struct profile_sample *sample);

#endif
