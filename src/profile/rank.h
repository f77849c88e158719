/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An order of stacks and label sets that depends only on their contents (location and string ids),
 * not on which came first. Neighbours have the most in common, root frames first, which makes them
 * compress well. A profile that is read back sorts the same way.
 */
#ifndef PROFILE_RANK_H
#define PROFILE_RANK_H

#include "profile/profile.h"

/* *ret[id] is the rank of stack or label set @id, from 1, dense; [0] is 0. Caller frees. */
_must_use_ int profile_rank_stacks(const struct profile *p, uint32_t **ret);
_must_use_ int profile_rank_labels(const struct profile *p, uint32_t **ret);

#endif
