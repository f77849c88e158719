/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a profile smaller while it is in use: what was rare so far is summed up, and all ids change.
 *
 * Kept are as many functions as asked for, those with the most value; the frames of all others become
 * "[rare code]". Of the stacks as they are then, as many as asked for stay whole; as many of the others keep
 * their functions without lines and recursion, the rest its innermost frame. So what a function that is kept
 * had itself stays what it was, and so does its total where its stacks are among the first two. The
 * labels "pid", "tid" and "thread" are given up unless they are asked for.
 */
#ifndef PROFILE_CONDENSE_H
#define PROFILE_CONDENSE_H

#include "base/vec.h"
#include "profile/copy.h"
#include "profile/sums.h"

#define CONDENSE_ENDED "0" /* label "pid" of what has none any more */

struct condense {
	struct profile_copy copy;	/* .from: the profile as it was; .to: it, as it is now */
	const struct sums *const *sums; /* while it is chosen what is kept */
	size_t n_sums, keep;
	bool *functions; /* by id: kept */
	uint32_t *seen;	 /* by function: the latest turn in which it was met */
	uint32_t turn;
	uint8_t *detail;      /* by stack: how much of it is kept */
	VEC(uint64_t) frames; /* of one stack; see condense.c */
	VEC(uint32_t) locations;
	uint32_t rare; /* location */
	struct profile_label ended[3];
	bool keeps_ended; /* may be set after condense_begin(): all labels stay */
	size_t given_up;  /* functions */
};

/*
 * @p becomes small and has no samples until condense_end(). What has value is said by the @n @sums; what is in
 * @last stays whole. Whoever holds ids asks for the new ones meanwhile. 0, or -ENOMEM + message: @p is
 * as it was.
 */
_must_use_ int condense_begin(struct condense *c, struct profile *p, const struct sums *last,
			      const struct sums *const *sums, size_t n, size_t keep);

/* New ids of what has no place in .copy for itself. Out of memory: profile_failed(). */
uint32_t condense_function(struct condense *c, uint32_t id);
uint32_t condense_stack(struct condense *c, uint32_t id);
uint32_t condense_labels(struct condense *c, uint32_t id);
/* With all labels; to be asked for before the others are. */
uint32_t condense_labels_whole(struct condense *c, uint32_t id);
/* The sums of samples by their new ids. 0 or -ENOMEM + message. */
_must_use_ int condense_sums(struct condense *c, struct sums *s);

/*
 * Takes the samples over, with their times. @r: 0, or what failed meanwhile. 0; that or -errno + message: the profile is
 * as it was at the beginning, and nobody may use the ids that were given out.
 */
_must_use_ int condense_end(struct condense *c, int r);

#endif
