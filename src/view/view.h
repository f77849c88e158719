/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses what is shown of a profile, by the filter options that every command has. The result is a
 * profile again, so every writer can write it. The options are in cli/options/view_options.h.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include "profile/profile.h"
#include "view/filter/pattern.h"
#include "view/names/frame.h"

enum view_grain { VIEW_AS_IS, VIEW_LINES, VIEW_FUNCTIONS, VIEW_MODULES };

/*
 * Which native frames are shown, as NATIVE_MODE_* of abi/unwind.h. LEAF: only those that the
 * innermost Python function calls.
 */
enum view_native { VIEW_NATIVE_FULL, VIEW_NATIVE_LEAF, VIEW_NATIVE_NONE };

/* What of a profile is shown. All zero shows everything. Texts are borrowed, and were checked. */
struct view_options {
	/*
	 * Which samples are shown. If several kinds of filters are given, all kinds must match. Of
	 * each kind one matching pattern is enough.
	 */
	pattern_texts processes, threads; /* patterns for names or ids of processes and threads */
	/*
	 * Patterns for the module of the innermost frame or of the innermost Python frame:
	 * libz.so.1; json, which includes json.decoder.
	 */
	pattern_texts modules;
	/* kinds of samples (view_stack_kind()) that are shown, as bits 1 << KIND_*; 0: all */
	unsigned kinds;
	pattern_texts labels;	     /* patterns for labels: "KEY=PATTERN" */
	pattern_texts states;	     /* words of states: "net", "other", "other: mmap" */
	bool no_idle;		     /* waits of threads without work aren't shown */
	uint64_t since_ns, until_ns; /* times since the start of the recording; 0: no limit */
	/* .focus: only stacks with such a frame; .ignore: only stacks without such a frame */
	pattern_texts focus, ignore;

	/* Which frames of the stacks are shown. */
	/*
	 * .hide: frames that are left out; .show: if there are any, all other frames are left out
	 */
	pattern_texts hide, show;
	enum view_grain grain;	 /* what one frame is: a line, a function or a module */
	enum view_native native; /* which of the recorded native and kernel frames are shown */
	bool invert; /* stacks are turned round, so that the innermost frame is the first */

	const char *by; /* what root frames are made for: see render_options.by */

	pattern_texts mine; /* packages that are the user's own ones */
};

void view_options_fini(struct view_options *o);

/*
 * Writes to @p's comments which packages are the user's own: those of .mine, and those that the
 * stacks show to have been started, if frames are to be left out. Call it before view_apply().
 * Returns NULL, or an entry of .mine in which no file of @p is.
 */
const char *view_mine(const struct view_options *o, struct profile *p);

/* Tells whether @o asks for anything. False: everything is shown, unchanged. */
bool view_wanted(const struct view_options *o);

/*
 * Does @o choose samples by their stacks, labels or times, and not only whole threads? Then the
 * samples that are left of a thread aren't all that the thread did. A wait has only the time at
 * which it began, so a part of the time doesn't have the waits that were in that part.
 */
bool view_is_partial(const struct view_options *o);

/* Sums of each value: of all samples and of those shown, for shares of both. */
struct view_totals {
	int64_t all[PROFILE_MAX_VALUES], shown[PROFILE_MAX_VALUES];
	uint64_t all_samples, shown_samples;
};

/*
 * Replaces *p by the part of it that @o shows, and frees the old profile, even if all is shown.
 * Stores in *ret (may be NULL) how much is shown. With --since and --until, the new profile's start
 * and duration are those of that time. 0; on errors *p is unchanged: -EINVAL + message (such as:
 * the profile has no times); -E2BIG + message: .invert would need far more memory than real
 * profiles do; -ENOMEM + message.
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
