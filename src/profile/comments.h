/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a profile says of itself, a line each: "cwd: DIR", "command: WORDS", "ended: 0" for how that
 * ended, "warning: LINE" for what a recording lost, "note: LINE"; "left out: 3 slices without a time". Warnings come first. A file may
 * bring any number: what is kept is
 * bounded, and the last line says then how many aren't. Other lines make way for warnings.
 */
#ifndef PROFILE_COMMENTS_H
#define PROFILE_COMMENTS_H

#include "base/vec.h"

#define COMMENTS_MAX 4096
/* A command line has 2 MiB at most, unless somebody raised the limit of the stack. */
#define COMMENTS_MAX_BYTES (4u << 20)
#define COMMENTS_WARNING   "warning"
#define COMMENTS_ENDED	   "ended"
/* A package of the user's own, wherever it is installed: of their word, or what a process was told to run. */
#define COMMENTS_MINE  "mine"
#define COMMENTS_ENTRY "entry"
/* Packages that were installed together, a blank between them. */
#define COMMENTS_TOGETHER "installed together"
/* What of another tool's file isn't here, and what is here in another way: the report says it. */
#define COMMENTS_LEFT_OUT "left out"
#define COMMENTS_MENDED	  "mended"
/* Why a recording's numbers are no counts; the report says it. */
#define COMMENTS_TOO_FEW "too few"

struct comments {
	VEC(char *) list; /* owned */
	size_t n_warnings, bytes;
	uint64_t left_out;
	bool told; /* the last line says how many were left out */
};

/* Adds a copy of @text. 0, or -ENOMEM + message. */
_must_use_ int comments_add(struct comments *c, const char *text);
void comments_fini(struct comments *c);

/* Removes those, no warnings, that @is says true of. */
void comments_remove(struct comments *c, bool (*is)(const char *text));

/*
 * How many runs of commands that ended with 0 the profile is, whole ones and nothing else: "ended: 0" is
 * one, "ended: 0, 12 runs" is what a merged profile says. 0: that isn't known; more than one such line
 * says so too.
 */
uint64_t comments_runs(const struct comments *c);
bool comments_is_ended(const char *text);

/* The last of these lines, "by -d"; NULL: there is none. A file may say anything. */
const char *comments_end(const struct comments *c);

#endif
