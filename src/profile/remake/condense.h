/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a profile smaller while it is in use: what was rare so far is summed up, and all ids
 * change.
 *
 * As many functions as asked for are kept, the heaviest ones (each value counts as a share of its
 * total in the profile); frames of all others become "[rare code]". Then as many stacks as asked
 * for stay whole. As many of the others keep their functions, without lines and recursion. The rest
 * keep only their innermost frame. So the self value of a kept function stays what it was, and its
 * total too, as far as its stacks are among the first two groups. The labels "pid", "tid" and
 * "thread" are given up unless they are asked for.
 */
#ifndef PROFILE_CONDENSE_H
#define PROFILE_CONDENSE_H

#include "base/vec.h"
#include "profile/remake/rebase.h"
#include "profile/sums.h"

/* value of the label "pid" in samples of processes whose own value was given up */
#define CONDENSE_ENDED "0"

struct condense {
	struct rebase rebase; /* its .copy: from the old profile to the condensed one */
	/* the values of stacks, borrowed; only while functions and stacks are chosen */
	const struct sums *const *sums;
	size_t n_sums, keep;
	int64_t factors[PROFILE_MAX_VALUES]; /* what makes a weight of each value */
	bool *functions;		     /* by function id: whether the function is kept */
	uint32_t *seen; /* by function id: the last .turn in which the function was met */
	uint32_t turn;
	uint8_t *detail;      /* by stack id: how much of the stack is kept (enum detail) */
	VEC(uint64_t) frames; /* frames of the stack being made, coded as in condense.c */
	VEC(uint32_t) locations;
	uint32_t rare; /* id of the location that is the mark "[rare code]" */
	struct profile_label ended[3];
	/* labels of ended processes stay too; may be set after condense_begin() */
	bool keeps_ended;
	size_t given_up; /* how many functions were given up */
};

/*
 * Empties @p as rebase_begin() does. The @n @sums give the values of stacks. @last: sums of the
 * last interval, whose functions and stacks stay whole. @keep: how many functions are kept. Until
 * condense_end(), whoever holds ids of @p asks for the new ones. 0, or -ENOMEM + message: then @p
 * is unchanged.
 */
_must_use_ int condense_begin(struct condense *c, struct profile *p, const struct sums *last,
			      const struct sums *const *sums, size_t n, size_t keep);

/* Return the new id for an old one. If memory runs out, profile_failed() tells. */
uint32_t condense_function(struct condense *c, uint32_t id);
uint32_t condense_stack(struct condense *c, uint32_t id);
uint32_t condense_labels(struct condense *c, uint32_t id);
/*
 * As condense_labels(), but gives up no label. If both are called for one id, this one must be
 * first.
 */
uint32_t condense_labels_whole(struct condense *c, uint32_t id);
/* Replaces @s by the sums of its samples under their new ids. 0 or -ENOMEM + message. */
_must_use_ int condense_sums(struct condense *c, struct sums *s);

/*
 * Takes over the samples with their times. @r: 0, or an error that the caller met since
 * condense_begin(). Returns 0; or @r or -errno + message: then the profile is as it was at the
 * beginning, and the new ids must not be used.
 */
_must_use_ int condense_end(struct condense *c, int r);

#endif
