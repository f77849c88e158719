/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes what a profile in use holds out of it: that becomes a profile of its own, and the one in
 * use goes on empty. Whoever holds ids of it, for samples that are still to come, asks for new ones
 * meanwhile. What nobody asks for is carried over no more. Two things are made of this: a window of
 * a recording that goes on (record/session.h; docs/decisions/0022), and a smaller profile
 * (condense.h).
 */
#ifndef PROFILE_REBASE_H
#define PROFILE_REBASE_H

#include "profile/copy.h"

struct condense;

struct rebase {
	struct profile_copy copy; /* .from: what the profile held; .to: the profile in use */
	/* NULL: what is asked for is copied as it is; else this sums up what was rare */
	struct condense *condense;
};

/* Empties @p, except for profile_meta(). 0, or -ENOMEM + message: then @p is unchanged. */
_must_use_ int rebase_begin(struct rebase *r, struct profile *p);

/*
 * The new id of a stack; .copy has those of all other objects. Without memory: 0, and
 * profile_failed().
 */
uint32_t rebase_stack(struct rebase *r, uint32_t id);

/*
 * Ends it. @err: 0, or an error from meanwhile. 0: *ret is what the profile held, with its samples
 * and a copy of profile_meta(); the caller frees it. @err or -ENOMEM + message: the profile is as
 * it was at the beginning, and the new ids must not be used.
 */
_must_use_ int rebase_end(struct rebase *r, int err, struct profile **ret);

#endif
