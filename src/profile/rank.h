/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks stacks and label sets in an order that depends only on what they contain (ids of locations
 * and strings), not on which came first. Neighbours have the most outer frames in common, so they
 * compress well. A profile that was written and read back has the same order.
 */
#ifndef PROFILE_RANK_H
#define PROFILE_RANK_H

#include "profile/profile.h"

/*
 * (*ret)[id] is the rank of stack or label set @id; ranks are numbered from 1 without gaps.
 * (*ret)[0] is 0. The caller frees *ret. 0 or -ENOMEM + message.
 */
_must_use_ int profile_rank_stacks(const struct profile *p, uint32_t **ret);
_must_use_ int profile_rank_labels(const struct profile *p, uint32_t **ret);

#endif
