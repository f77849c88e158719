/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a profile of the part of another profile that struct view_options (filter/options.h)
 * chooses. The result is a profile too, so every writer can write it.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include "profile/profile.h"
#include "view/filter/options.h"
#include "view/names/frame.h"

/*
 * Writes into the comments of @p which packages are the user's own: the packages of .mine, and, if
 * frames are to be left out, the packages that were started according to the stacks. Call it before
 * view_apply(). Returns NULL, or the first entry of .mine that no file of @p belongs to.
 */
const char *view_mine(const struct view_options *o, struct profile *p);

/*
 * The sums of each value over all samples and over the samples that are shown, from which shares
 * can be computed.
 */
struct view_totals {
	int64_t all[PROFILE_MAX_VALUES], shown[PROFILE_MAX_VALUES];
	uint64_t all_samples, shown_samples;
};

/*
 * Replaces *p by a profile of the part that @o shows, and frees the old profile, even if everything
 * is shown. Stores in *ret (may be NULL) how much is shown. With --since and --until, the new
 * profile has the start and duration of that time. 0; on errors *p is unchanged: -EINVAL + message
 * (such as: the profile has no times); -E2BIG + message: .invert would need far more memory than
 * real profiles do; -ENOMEM + message.
 */
_must_use_ int view_apply(struct profile **p, const struct view_options *o,
			  struct view_totals *ret);

/*
 * Replaces each stack by one frame that says whose the sample is: the name of its process or thread
 * (without ids, which differ from run to run), or the value of label @by; "[no cgroup]" if the
 * sample has no such label. *p is replaced as by view_apply(). 0; -EINVAL + message if no sample
 * has the label; -ENOMEM + message.
 */
_must_use_ int view_by(struct profile **p, const char *by);

#endif
