/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is shown of a profile: the choices that every command has. The options of the command line
 * that make them are in cli/options/view_options.h, what they do is in view/view.h.
 */
#ifndef VIEW_FILTER_OPTIONS_H
#define VIEW_FILTER_OPTIONS_H

#include "profile/profile.h"
#include "view/filter/pattern.h"

enum view_grain { VIEW_AS_IS, VIEW_LINES, VIEW_FUNCTIONS, VIEW_MODULES };

/*
 * Which native frames are shown, as NATIVE_MODE_* of abi/unwind.h. LEAF: only the native frames
 * that the innermost Python function calls.
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
	pattern_texts labels; /* patterns for labels: "KEY=PATTERN" */
	pattern_texts states; /* words of states: "net", "other", "other: mmap" */
	bool no_idle;	      /* waits of threads without work aren't shown */
	/*
	 * times since the start of the recording; 0: no limit. Of a wait the part in that time is
	 * shown
	 */
	uint64_t since_ns, until_ns;
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

	pattern_texts mine; /* packages of the user's own */
};

void view_options_fini(struct view_options *o);

/* Tells whether @o asks for anything. False: everything is shown, unchanged. */
bool view_wanted(const struct view_options *o);

/*
 * Does @o choose samples by their stacks or labels, and not only whole threads? Then the samples
 * that are left of a thread aren't all that the thread did in the time that is shown.
 */
bool view_is_partial(const struct view_options *o);

/* Does @o ask for waits of threads without work, which tables of waits leave out otherwise? */
bool view_asks_for_idle(const struct view_options *o);

/* Does @o make other frames of the frames of a profile, or leave some out? */
bool view_reframes(const struct view_options *o);

#endif
