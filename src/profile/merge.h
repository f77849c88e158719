/* SPDX-License-Identifier: BSD-2-Clause */
/* Several profiles as one. */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include "profile/profile.h"

/*
 * All samples of @in, in a new profile: times are shifted by how much later than the first each one
 * began (by the wall clock of its recording; one that has none began with the first). Value types
 * are those of all; more than fit are refused. The duration is from the first start to the last
 * end. Runs that ended with 0 are counted (comments_runs()). @labels are written to every sample.
 * 0 or -errno + message; *ret is the caller's to free.
 */
_must_use_ int profile_merge(struct profile *const *in, size_t n,
			     const struct profile_label_text *labels, size_t n_labels,
			     struct profile **ret);

#endif
