/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a profile says of itself, as comments of one line each: "cwd: DIR", "command: WORDS",
 * "ended: 0" for how the command ended, "warning: LINE" for what a recording lost, "note: LINE",
 * "left out: 3 slices without a time". Warnings come first. A profile keeps a limited number of
 * comments, because a file may have any number. If there is no more room, a new warning replaces a
 * comment that isn't a warning, and other new comments are left out. Then the last comment says how
 * many were left out.
 */
#ifndef PROFILE_COMMENTS_H
#define PROFILE_COMMENTS_H

#include "base/vec.h"

#define COMMENTS_MAX 4096
/*
 * The most bytes that all comments together may have. A command line, which is one of the comments,
 * has at most 2 MiB unless the limit of the stack's size was raised.
 */
#define COMMENTS_MAX_BYTES (4u << 20)
#define COMMENTS_WARNING   "warning"
#define COMMENTS_ENDED	   "ended"
/*
 * Keys of comments that name a package which counts as the user's own, wherever it is installed.
 * COMMENTS_MINE: the user said so. COMMENTS_ENTRY: a process was started to run the package.
 */
#define COMMENTS_MINE  "mine"
#define COMMENTS_ENTRY "entry"
/* Key of a comment that lists packages which were installed together, separated by spaces. */
#define COMMENTS_TOGETHER "installed together"
/*
 * Keys of comments which say what was left out, or changed, when a profile was made: from another
 * tool's file, or from sums in the agent's store (an outline). Reports show these comments.
 */
#define COMMENTS_LEFT_OUT "left out"
#define COMMENTS_MENDED	  "mended"
/*
 * Key of a comment which says that there are too few samples, so that all numbers of the recording
 * are only estimates. Reports show this comment.
 */
#define COMMENTS_TOO_FEW "too few"

struct comments {
	VEC(char *) list; /* the comments, owned */
	size_t n_warnings, bytes;
	uint64_t left_out;
	bool told; /* true: the last comment says how many comments were left out */
};

/* Adds a copy of @text. 0, or -ENOMEM + message. */
_must_use_ int comments_add(struct comments *c, const char *text);
void comments_fini(struct comments *c);

/* Removes the comments for which @is returns true, except warnings. */
void comments_remove(struct comments *c, bool (*is)(const char *text));

/*
 * Returns how many whole runs of commands the profile has samples of: 1 if its comment is "ended:
 * 0", 12 if it is "ended: 0, 12 runs" (a merged profile). Returns 0 if there is no such comment, if
 * it says anything else, or if there are several.
 */
uint64_t comments_runs(const struct comments *c);
bool comments_is_ended(const char *text);

/*
 * Returns what the last comment of key "ended" says, such as "by Ctrl-C"; NULL if there is none. It
 * may be any text if a file says so.
 */
const char *comments_end(const struct comments *c);

#endif
