/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers what the samples of a growing profile refer to, for one segment of the store. A
 * definition is put into the frame (about a second's samples) that uses it first. When the
 * profile's ids change, a new segment begins, with new numbers.
 */
#ifndef STORE_NUMBERING_H
#define STORE_NUMBERING_H

#include "store/batch.h"

struct numbers {
	/* indexed by id in the profile: the number in the segment; 0: the id has none yet */
	uint32_t *v;
	size_t cap;
};

struct numbering {
	struct batch batch; /* the frame of the store that is being filled */
	struct numbers numbers[BATCH_TABLES];
	/*
	 * for each label set, by number - 1: its id in the profile, and a hash of the labels that
	 * were last written
	 */
	VEC(struct numbered_set {
		uint32_t id;
		uint64_t hash;
	})
	sets;
};

void numbering_fini(struct numbering *n);

/*
 * Begins a new segment of the store, and in it an empty frame (about a second's samples). In the
 * new segment strings, functions and other definitions are numbered from 1 again. Call this
 * whenever the profile's ids have changed.
 */
void numbering_begin(struct numbering *n);

/*
 * Call this when the profile's ids have changed while a frame of the store (about a second's
 * samples) is being filled. That frame may still be completed, but a new segment must begin before
 * the next sample.
 */
void numbering_forget(struct numbering *n);

/*
 * Adds a sample of @p to the frame of the store that is being filled. @ms: its wall clock time.
 * Returns 0 or -ENOMEM + message; after that the segment can't be continued.
 */
_must_use_ int numbering_add(struct numbering *n, const struct profile *p,
			     const struct profile_sample *s, int64_t ms);

/*
 * Completes the frame of the store that was being filled, which is in .batch. Label sets whose
 * labels have changed (a thread got its name) are defined again. In a segment's first frame it also
 * describes the values. The caller then calls batch_encode() and batch_clear(). Returns 0 or
 * -ENOMEM + message.
 */
_must_use_ int numbering_end(struct numbering *n, struct profile *p);

#endif
