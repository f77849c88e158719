/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a profile says of itself, a line each: "cwd: DIR", "command: WORDS", "ended: 0" for how the
 * command ended, "warning: LINE" for what a recording lost, "note: LINE", "left out: 3 slices
 * without a time". Warnings come first. A file may have any number of lines, so they are bounded:
 * the last line then says how many were left out, and other lines make way for warnings.
 */
#ifndef PROFILE_COMMENTS_H
#define PROFILE_COMMENTS_H

#include "base/vec.h"

#define COMMENTS_MAX 4096
/*
 * The most bytes of all comments. A command line has 2 MiB at most, unless the limit of the stack
 * was raised.
 */
#define COMMENTS_MAX_BYTES (4u << 20)
#define COMMENTS_WARNING   "warning"
#define COMMENTS_ENDED	   "ended"
/*
 * Keys of comments that name a package as the user's own, wherever it is installed: COMMENTS_MINE
 * because the user said so, COMMENTS_ENTRY because a process was told to run it.
 */
#define COMMENTS_MINE  "mine"
#define COMMENTS_ENTRY "entry"
/* Key of a comment: packages that were installed together, separated by spaces. */
#define COMMENTS_TOGETHER "installed together"
/*
 * Keys of comments that say what was left out, or changed, when another tool's file was read; the
 * report shows them.
 */
#define COMMENTS_LEFT_OUT "left out"
#define COMMENTS_MENDED	  "mended"
/*
 * Key of a comment: samples are too few for the recording's numbers to be more than estimates. The
 * report shows it.
 */
#define COMMENTS_TOO_FEW "too few"

struct comments {
	VEC(char *) list; /* the comments, owned */
	size_t n_warnings, bytes;
	uint64_t left_out;
	bool told; /* the last comment says how many were left out */
};

/* Adds a copy of @text. 0, or -ENOMEM + message. */
_must_use_ int comments_add(struct comments *c, const char *text);
void comments_fini(struct comments *c);

/* Removes the comments for which @is returns true, except warnings. */
void comments_remove(struct comments *c, bool (*is)(const char *text));

/*
 * How many whole runs of commands the profile is of, if all of them ended with 0: "ended: 0" is one
 * run, "ended: 0, 12 runs" is a merged profile's line. 0: not known, also if there is more than one
 * such line.
 */
uint64_t comments_runs(const struct comments *c);
bool comments_is_ended(const char *text);

/*
 * Returns what the last comment of key "ended" says, such as "by Ctrl-C"; NULL: there is none. In a
 * file it may be any text.
 */
const char *comments_end(const struct comments *c);

#endif
