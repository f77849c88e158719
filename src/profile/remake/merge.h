/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges several profiles into one. */
#ifndef PROFILE_REMAKE_MERGE_H
#define PROFILE_REMAKE_MERGE_H

#include "profile/profile.h"

/*
 * Puts all samples of @in into a new profile. If a profile began later than the earliest one (by
 * the wall clocks of the recordings), its times are shifted by that difference. A profile without a
 * wall clock time counts as begun with the earliest profile. The merged profile has the value types
 * of all profiles; if these are too many, an error is returned. The merged profile's duration is
 * from the first start to the last end. Its period is the first profile's, or one sample if
 * "samples" are of different events. Runs that ended with 0 are counted (comments_runs()). @labels
 * are added to every sample. 0 or -errno + message; the caller frees *ret.
 */
_must_use_ int profile_merge(struct profile *const *in, size_t n,
			     const struct profile_label_text *labels, size_t n_labels,
			     struct profile **ret);

#endif
