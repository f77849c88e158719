/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a profile of the part of another profile that struct view_options (filter/options.h)
 * chooses. The result is a profile again, so every writer can write it.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include "profile/profile.h"
#include "view/filter/options.h"
#include "view/names/frame.h"

/*
 * Writes to @p's comments which packages are the user's own: the packages of .mine, and the
 * packages that the stacks show to have been started, if frames are to be left out. Call it before
 * view_apply(). Returns NULL, or an entry of .mine in which no file of @p is.
 */
const char *view_mine(const struct view_options *o, struct profile *p);

/*
 * Sums of each value, over all samples and over the samples shown, so that shares of both can be
 * told.
 */
struct view_totals {
	int64_t all[PROFILE_MAX_VALUES], shown[PROFILE_MAX_VALUES];
	uint64_t all_samples, shown_samples;
};

/*
 * Replaces *p by the part of it that @o shows, and frees the old profile, even if all is shown.
 * Stores in *ret (may be NULL) how much is shown. With --since and --until, the new profile has the
 * start and duration of that time. 0; on errors *p is unchanged: -EINVAL + message (such as: the
 * profile has no times); -E2BIG + message: .invert would need far more memory than real profiles
 * do; -ENOMEM + message.
 */
_must_use_ int view_apply(struct profile **p, const struct view_options *o,
			  struct view_totals *ret);

/*
 * Replaces each stack by one frame that says whose the sample is: the name of its process or thread
 * (without ids, which differ from run to run), or the value of label @by; "[no cgroup]" if the
 * sample has none. *p is replaced as by view_apply(). 0; -EINVAL + message if no sample has that
 * label; -ENOMEM + message.
 */
_must_use_ int view_by(struct profile **p, const char *by);

#endif
