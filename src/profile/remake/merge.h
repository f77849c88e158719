/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges several profiles into one. */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include "profile/profile.h"

/*
 * Puts all samples of @in into a new profile. The times of each profile are shifted by how much
 * later than the first it began (by the wall clock of its recording; without one it began with the
 * first). The value types are those of all profiles; more than fit are refused. The duration is
 * from the first start to the last end. Runs that ended with 0 are counted (comments_runs()). The
 * period is the first profile's, or one sample if "samples" are of different events.
 * @labels are added to every sample. 0 or -errno + message; *ret is the caller's to free.
 */
_must_use_ int profile_merge(struct profile *const *in, size_t n,
			     const struct profile_label_text *labels, size_t n_labels,
			     struct profile **ret);

#endif
