/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is shown of a profile: the filter words that every command has. A view is a profile again,
 * so every writer can write it. The options are in cli/options/view_options.h.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include "profile/profile.h"
#include "view/pattern.h"

enum view_grain { VIEW_AS_IS, VIEW_LINES, VIEW_FUNCTIONS, VIEW_MODULES };

/*
 * Which native frames are shown, as NATIVE_MODE_* of abi/unwind.h; LEAF: only those below the
 * innermost Python function.
 */
enum view_native { VIEW_NATIVE_FULL, VIEW_NATIVE_LEAF, VIEW_NATIVE_NONE };

/* What of a profile is shown. All zero shows everything. Texts are borrowed, and were checked. */
struct view_options {
	/*
	 * Which samples. Of each kind of filter any pattern may match; all kinds of filters given
	 * must match.
	 */
	pattern_texts processes, threads; /* patterns for names or ids of processes and threads */
	/*
	 * Module of the innermost frame, or of the innermost Python frame: libz.so.1; json, which
	 * includes json.decoder.
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
 * Writes to @p's comments which packages are the user's own: those of .mine; and, if frames are to
 * be left out, those that the stacks show to have been started. To be called before view_apply().
 * Returns NULL, or an entry of .mine that contains no file.
 */
const char *view_mine(const struct view_options *o, struct profile *p);

/* Tells whether @o asks for anything. False: everything is shown, unchanged. */
bool view_wanted(const struct view_options *o);

/*
 * Does @o choose samples by their stacks or labels, and not only whole threads or a part of the
 * time? Then what is left of a thread isn't all that it did.
 */
bool view_is_partial(const struct view_options *o);

/* Sums of each value: of all samples and of those shown, for shares of both. */
struct view_totals {
	int64_t all[PROFILE_MAX_VALUES], shown[PROFILE_MAX_VALUES];
	uint64_t all_samples, shown_samples;
};

/*
 * Replaces *p by the part of it that @o shows, and frees the old one, even if all is shown. Stores
 * in *ret (may be NULL) how much that is. With --since and --until, start and duration are those of
 * the view. 0; on errors *p is unchanged: -EINVAL + message (such as: the profile has no times);
 * -E2BIG + message: .invert needs far more memory than for a real profile; -ENOMEM + message.
 */
_must_use_ int view_apply(struct profile **p, const struct view_options *o,
			  struct view_totals *ret);

/*
 * Replaces each stack by one frame that says whose the sample is: the name of its process or thread
 * (without ids, which differ from run to run), or the value of label @by; "[no cgroup]" if it has
 * none. *p is replaced as by view_apply(). 0; -EINVAL + message if no sample has that label;
 * -ENOMEM + message.
 */
_must_use_ int view_by(struct profile **p, const char *by);

/*
 * The kind that a sample counts for. If the garbage collector is anywhere in the stack, it is the
 * collector's, because all that it calls is its doing, finalizers too. Else it is that of the
 * innermost frame. @stack: @n > 0 frames, leaf first or (@inverted) last.
 */
enum frame_kind view_stack_kind(const struct profile *p, const uint32_t *stack, size_t n,
				bool inverted);

/* The word for a kind, such as "python"; and the kind of a word: -EINVAL + message. */
const char *view_kind_word(enum frame_kind kind);
_must_use_ int view_kind_by_word(const char *word);

struct render_names;
struct str;

/*
 * Appends the module of a frame: "json.decoder", "libz.so.1", "[kernel]"; nothing if it isn't
 * known.
 */
void view_module(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b);

/*
 * Appends a frame's name with its module, if it has one: "json.decoder.JSONDecoder.decode",
 * "deflate".
 */
void view_dotted(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b);

#endif
