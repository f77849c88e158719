/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives what samples of a profile refer to numbers of a segment, and puts a definition into a frame
 * before its first use. The profile goes on growing, and its ids stay, until a new segment begins.
 */
#ifndef STORE_NUMBERING_H
#define STORE_NUMBERING_H

#include "store/batch.h"

struct numbers {
	uint32_t *v; /* by id of the profile: the number; 0: none yet */
	size_t cap;
};

struct numbering {
	struct batch batch; /* the frame that is being filled */
	struct numbers numbers[BATCH_TABLES];
	/* by number - 1: the set's id in the profile, and a hash of the labels that were told */
	VEC(struct numbered_set {
		uint32_t id;
		uint64_t hash;
	})
	sets;
};

void numbering_fini(struct numbering *n);

/*
 * Begins a segment: all numbers begin anew. Call it whenever the profile's ids have changed. The
 * frame is empty.
 */
void numbering_begin(struct numbering *n);

/*
 * The profile's ids have changed: the frame may be completed, and a new segment must begin before
 * the next sample.
 */
void numbering_forget(struct numbering *n);

/*
 * Adds a sample of @p to the frame; @ms: its wall clock time. 0 or -ENOMEM + message; then the
 * segment can't go on.
 */
_must_use_ int numbering_add(struct numbering *n, const struct profile *p,
			     const struct profile_sample *s, int64_t ms);

/*
 * Completes the frame, in .batch: defines sets anew whose labels have changed since (a thread got
 * its name), and in a segment's first frame says what the values mean. batch_encode() and
 * batch_clear() follow. 0 or -ENOMEM + message.
 */
_must_use_ int numbering_end(struct numbering *n, struct profile *p);

#endif
