/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wait becomes a sample only when it ends. A window of time must also show a thread whose wait
 * goes on beyond the window. So a long wait is stored in pieces. Each piece has the time that the
 * wait has lasted since the piece before it. The last piece is stored when the wait ends; it also
 * has the wait's other values, those of waiting for the GIL.
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
	 * Keys: hashes of a wait's thread and beginning. Values: until when the wait is stored, in
	 * ns of the profile's time. .kept has waits of which the latest round (pieces_turn())
	 * stored a piece. .old has those of the round before; their samples may still come.
	 */
	struct map kept, old;
	/* when pieces of all long waits are stored next (a round), CLOCK_MONOTONIC */
	uint64_t due_ns;
	int64_t now_ns; /* when pieces were last stored, in ns of the profile's time */
	int off_cpu;	/* index of the value off_cpu; -1: waits aren't recorded */
};

void pieces_begin(struct pieces *x, uint64_t now_ns);
void pieces_fini(struct pieces *x);

/*
 * If it is time for the next pieces, calls .add() with a piece of each long wait that isn't over. 0
 * or -ENOMEM + message.
 */
_must_use_ int pieces_turn(struct pieces *x, uint64_t now_ns);

/*
 * Subtracts from the sample of a wait the time that was stored already while the wait lasted. Call
 * it for each sample that joins the profile.
 */
void pieces_take_off(struct pieces *x, struct profile_sample *sample);

#endif
