/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The choices that every command has of what a profile shows. cli/options/view_options.h has the
 * options of the command line that make these choices, view/view.h does what they ask for.
 */
#ifndef VIEW_FILTER_OPTIONS_H
#define VIEW_FILTER_OPTIONS_H

#include "profile/profile.h"
#include "view/filter/pattern.h"

enum view_grain { VIEW_AS_IS, VIEW_LINES, VIEW_FUNCTIONS, VIEW_MODULES };

/*
 * Which native frames are shown, as NATIVE_MODE_* of abi/unwind.h. LEAF: only native frames that
 * the innermost Python function calls.
 */
enum view_native { VIEW_NATIVE_FULL, VIEW_NATIVE_LEAF, VIEW_NATIVE_NONE };

/*
 * What of a profile is shown. If all members are zero, everything is shown. Texts are borrowed, and
 * were checked.
 */
struct view_options {
	/*
	 * The next members choose samples. If several kinds of filters are given, a sample must
	 * match all kinds; for each kind one matching pattern is enough.
	 */
	pattern_texts processes, threads; /* patterns for names or ids of processes and threads */
	/*
	 * Patterns for the module of the innermost frame or of the innermost Python frame:
	 * libz.so.1; json, which includes json.decoder.
	 */
	pattern_texts modules;
	/* kinds of samples (view_stack_kind()) that are shown, as bits 1 << KIND_*; 0: all */
	unsigned kinds;
	pattern_texts labels; /* patterns for labels: "KEY=PATTERN" */
	pattern_texts states; /* states whose samples are shown: "net", "other", "other: mmap" */
	bool no_idle;	      /* waits of threads without work aren't shown */
	/*
	 * the time that is shown, in ns since the start of the recording; 0: no limit. A wait
	 * counts only with its part in that time
	 */
	uint64_t since_ns, until_ns;
	/* .focus: only stacks with a matching frame are shown; .ignore: only stacks without one */
	pattern_texts focus, ignore;

	/* The next members choose frames of the stacks. */
	/*
	 * .hide: frames that are left out; .show: if there are any, all other frames are left out
	 */
	pattern_texts hide, show;
	enum view_grain grain;	 /* what one frame is: a line, a function or a module */
	enum view_native native; /* which of the recorded native and kernel frames are shown */
	bool invert; /* stacks are turned round, so that the innermost frame comes first */

	const char *by; /* what root frames are made for, as in render_options.by */

	pattern_texts mine; /* packages of the user's own */
};

void view_options_fini(struct view_options *o);

/* Tells whether @o asks for any change. False: everything is shown as it was recorded. */
bool view_wanted(const struct view_options *o);

/*
 * Tells whether @o chooses samples by their stacks or labels, and not only whole threads. If so,
 * the samples of a thread that are shown aren't all that the thread did in the time that is shown.
 */
bool view_is_partial(const struct view_options *o);

/*
 * Tells whether @o asks for waits of threads without work, which tables of waits leave out by
 * default.
 */
bool view_asks_for_idle(const struct view_options *o);

/* Tells whether @o changes the frames of a profile, or leaves some of them out. */
bool view_reframes(const struct view_options *o);

#endif
