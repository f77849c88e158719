/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes everything out of a profile in use, into a second profile. The profile in use goes on,
 * empty. Some callers hold ids of the profile in use for samples that are still to come. Between
 * rebase_begin() and rebase_end() these callers ask for new ids, and what they ask for is copied
 * into the emptied profile. A rebase is used to cut a window of a recording that goes on
 * (record/session.h; docs/decisions/0022), and to condense a profile (condense.h).
 */
#ifndef PROFILE_REMAKE_REBASE_H
#define PROFILE_REMAKE_REBASE_H

#include "profile/remake/copy.h"

struct condense;

struct rebase {
	struct profile_copy copy; /* .from: what the profile held; .to: the profile in use */
	/*
	 * set if the profile is being condensed: sums up what is rare; NULL: everything is copied
	 * as it is
	 */
	struct condense *condense;
};

/* Empties @p, except for profile_meta(). 0, or -ENOMEM + message: then @p is unchanged. */
_must_use_ int rebase_begin(struct rebase *r, struct profile *p);

/*
 * Returns the new id of a stack; for other objects, use .copy. If memory runs out, returns 0, and
 * profile_failed() is true.
 */
uint32_t rebase_stack(struct rebase *r, uint32_t id);

/*
 * Ends what rebase_begin() began. @err: 0, or an error that the caller met since then. On success
 * returns 0, and *ret is a profile of what the profile held, with its samples and a copy of
 * profile_meta(); the caller frees it. Else returns @err or -ENOMEM + message. Then the profile is
 * as it was before rebase_begin(), and the new ids must not be used.
 */
_must_use_ int rebase_end(struct rebase *r, int err, struct profile **ret);

#endif
