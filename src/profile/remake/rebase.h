/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes what a profile in use holds out of it, and makes that a profile of its own; the profile in
 * use goes on empty. Between rebase_begin() and rebase_end(), whoever holds ids of the profile, for
 * samples that are still to come, asks for new ids. Only what is asked for is copied into the
 * emptied profile. Two things are made of this: a window of
 * a recording that goes on (record/session.h; docs/decisions/0022), and a smaller profile
 * (condense.h).
 */
#ifndef PROFILE_REBASE_H
#define PROFILE_REBASE_H

#include "profile/remake/copy.h"

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
 * Ends what rebase_begin() began. @err: 0, or an error that the caller met since then. Returns 0:
 * *ret is what the profile held, with its samples and a copy of profile_meta(); the caller frees
 * it. Returns @err or -ENOMEM + message: the profile is as it was before rebase_begin(), and the
 * new ids must not be used.
 */
_must_use_ int rebase_end(struct rebase *r, int err, struct profile **ret);

#endif
