/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a profile is shown: the filter words that every command has. A view is a profile again,
 * so that every writer works on it. The words as options: cli/options/view_options.h.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include "profile/profile.h"
#include "view/pattern.h"

enum view_grain { VIEW_AS_IS, VIEW_LINES, VIEW_FUNCTIONS, VIEW_MODULES };

/* As NATIVE_MODE_* of abi/unwind.h; leaf: below the innermost Python function. */
enum view_native { VIEW_NATIVE_FULL, VIEW_NATIVE_LEAF, VIEW_NATIVE_NONE };

/* Zero-initialised shows all. Texts are borrowed; they were checked. */
struct view_options {
	/* Samples. Of one kind any may match, all kinds that are given must. */
	pattern_texts processes, threads; /* by name or id */
	/* Of the innermost frame or the innermost Python one: libz.so.1; json, so json.decoder too. */
	pattern_texts modules;
	unsigned kinds;		     /* view_stack_kind(): 1 << KIND_*; 0 = all */
	pattern_texts labels;	     /* "KEY=PATTERN" */
	uint64_t since_ns, until_ns; /* since the start of the recording; 0 = no limit */
	pattern_texts focus, ignore; /* stacks with, without such a frame */

	/* Frames of the stacks that are left. */
	pattern_texts hide, show; /* without such frames; nothing but such */
	enum view_grain grain;	  /* what is one: a line, a function, a module */
	enum view_native native;  /* what of native and kernel frames, of those that are there */
	bool invert;		  /* innermost frame first */

	const char *by; /* for struct render_options: root frames */

	pattern_texts mine; /* packages of the user's own */
};

void view_options_fini(struct view_options *o);

/*
 * Writes to @p's comments which packages are the user's own: those of .mine, and where frames are to be left out those
 * that stacks show to be what was started. Before view_apply(). NULL, or one of .mine that no file is in.
 */
const char *view_mine(const struct view_options *o, struct profile *p);

/* False if it shows all, as it is. */
bool view_wanted(const struct view_options *o);

/* Sums of each value, so that shares can be said of all as well as of what is shown. */
struct view_totals {
	int64_t all[PROFILE_MAX_VALUES], shown[PROFILE_MAX_VALUES];
	uint64_t all_samples, shown_samples;
};

/*
 * Replaces *p by what @o shows of it (also if that is all; the old one is freed), and says in @ret
 * (may be NULL) how much that is. With --since and --until the view's start and duration are theirs.
 * 0; -EINVAL + message (no times in the profile, ...), *p as it was; -E2BIG + message: .invert needs far
 * more memory than of a real profile, *p as it was; -ENOMEM + message.
 */
_must_use_ int view_apply(struct profile **p, const struct view_options *o,
			  struct view_totals *ret);

/*
 * Leaves of each stack one frame, which says whose the sample is: the name of its process or thread
 * (without ids, which differ from run to run), or the label @by; "[no cgroup]" where it has none.
 * 0; -EINVAL + message if no sample has that label; -ENOMEM + message. *p is replaced, as above.
 */
_must_use_ int view_by(struct profile **p, const char *by);

/*
 * What a sample with this stack of @n > 0 frames, leaf first or (@inverted) last, is taken for: the collector's where
 * that is anywhere in it, for whatever it calls is its doing, finalizers too; else its innermost frame's.
 */
enum frame_kind view_stack_kind(const struct profile *p, const uint32_t *stack, size_t n,
				bool inverted);

/* The word for a kind, "python"; and back: -EINVAL + message. */
const char *view_kind_word(enum frame_kind kind);
_must_use_ int view_kind_by_word(const char *word);

struct render_names;
struct str;

/* Appends the module of a frame: "json.decoder", "libz.so.1", "[kernel]"; "" if it isn't known. */
void view_module(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b);

/* Appends "json.decoder.JSONDecoder.decode", "deflate": the name with its module where it has one. */
void view_dotted(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b);

#endif
