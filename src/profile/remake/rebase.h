/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes everything out of a profile that is in use, into a second profile. The profile in use goes
 * on, empty. Some callers hold ids of it for samples that are still to come. Between rebase_begin()
 * and rebase_end() these callers ask for new ids, and the objects that they ask for are copied into
 * the emptied profile. A rebase is used to cut a window out of a recording that goes on
 * (record/session.h; docs/decisions/0022), and to condense a profile (condense.h).
 */
#ifndef PROFILE_REMAKE_REBASE_H
#define PROFILE_REMAKE_REBASE_H

#include "profile/remake/copy.h"

struct condense;

struct rebase {
	struct profile_copy copy; /* .from: what the profile held before; .to: the profile in use */
	/*
	 * set if the profile is being condensed, which sums up what is rare; NULL: everything is
	 * copied as it is
	 */
	struct condense *condense;
};

/* Empties @p, except for profile_meta(). 0, or -ENOMEM + message: then @p is unchanged. */
_must_use_ int rebase_begin(struct rebase *r, struct profile *p);

/*
 * Returns the new id of a stack. (For new ids of other objects, use .copy.) If memory runs out,
 * returns 0, and profile_failed() is true.
 */
uint32_t rebase_stack(struct rebase *r, uint32_t id);

/*
 * Ends what rebase_begin() began. @err: 0, or an error that the caller met since then. If @err is 0
 * and all goes well, returns 0, and *ret is a profile with everything that the profile in use held
 * before, its samples, and a copy of profile_meta(); the caller frees it. Otherwise returns @err,
 * or -ENOMEM + message. Then the profile is as it was before rebase_begin(), and the new ids must
 * not be used.
 */
_must_use_ int rebase_end(struct rebase *r, int err, struct profile **ret);

#endif
