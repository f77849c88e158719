/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a profile smaller while it is in use: what was rare so far is summed up. All ids change.
 *
 * The caller says how many functions to keep. The heaviest functions are kept; each value of a
 * sample counts as a share of its total in the profile. Frames of all other functions become "[rare
 * code]". The same number of stacks, the heaviest ones, stay whole. The same number of further
 * stacks keep their functions, without lines and recursion. The rest keep only their innermost
 * frame. So the self value of a kept function stays what it was. Its total lacks only the values of
 * stacks of which just the innermost frame is kept. Label sets lose "pid", "tid" and "thread",
 * unless the caller asks for a whole set.
 */
#ifndef PROFILE_REMAKE_CONDENSE_H
#define PROFILE_REMAKE_CONDENSE_H

#include "base/vec.h"
#include "profile/remake/rebase.h"
#include "profile/sums.h"

/* value of the label "pid" in samples of processes that have ended and whose own pid was removed */
#define CONDENSE_ENDED "0"

struct condense {
	/* condensing is a rebase (rebase.h); .copy copies from the old profile to the new one */
	struct rebase rebase;
	/*
	 * sums with the values of stacks, borrowed; set only while functions and stacks are chosen
	 */
	const struct sums *const *sums;
	size_t n_sums, keep;
	/* for each value: the factor by which it is multiplied to get its weight */
	int64_t factors[PROFILE_MAX_VALUES];
	bool *functions; /* by function id: whether the function is kept */
	/* by function id: the value that .turn had when the function was last found in a stack */
	uint32_t *seen;
	uint32_t turn;
	uint8_t *detail;      /* by stack id: how much of the stack is kept (enum detail) */
	VEC(uint64_t) frames; /* frames of the stack being made, coded as in condense.c */
	VEC(uint32_t) locations;
	uint32_t rare; /* id of the location that is the mark "[rare code]" */
	struct profile_label ended[3];
	/* samples of ended processes also keep their labels; may be set after condense_begin() */
	bool keeps_ended;
	size_t given_up; /* how many functions weren't kept: their frames became "[rare code]" */
};

/*
 * Begins to condense @p, which is emptied as by rebase_begin(). The @n @sums give the values of
 * stacks. @last: sums of the last interval that krait top shows; its functions and stacks stay
 * whole. @keep: how many functions are kept. Whoever holds ids of @p must ask for the new ones
 * before condense_end(). 0, or -ENOMEM + message: then @p is unchanged.
 */
_must_use_ int condense_begin(struct condense *c, struct profile *p, const struct sums *last,
			      const struct sums *const *sums, size_t n, size_t keep);

/*
 * Return the new id for the old id of a function, stack or label set. If memory runs out,
 * profile_failed() tells.
 */
uint32_t condense_function(struct condense *c, uint32_t id);
uint32_t condense_stack(struct condense *c, uint32_t id);
uint32_t condense_labels(struct condense *c, uint32_t id);
/*
 * Does what condense_labels() does, but keeps all labels. If both functions are called for the same
 * id, condense_labels_whole() must be called first.
 */
uint32_t condense_labels_whole(struct condense *c, uint32_t id);
/* Replaces the samples summed up in @s by sums under their new ids. 0 or -ENOMEM + message. */
_must_use_ int condense_sums(struct condense *c, struct sums *s);

/*
 * Ends the condensing: adds the samples, with their times, to the condensed profile. @r: 0, or an
 * error that the caller met since condense_begin(). Returns 0, or @r or -errno + message. After an
 * error the profile is as it was before condense_begin(), and the new ids must not be used.
 */
_must_use_ int condense_end(struct condense *c, int r);

#endif
