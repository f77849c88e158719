/* SPDX-License-Identifier: BSD-2-Clause */
/* Where and on what a group of threads waits. */
#ifndef VIEW_WAITS_PLACE_H
#define VIEW_WAITS_PLACE_H

#include "view/waits/threads.h"

/* The frames of one stack that tell where its thread waits. 0: there is no such frame. */
struct waits_frames {
	uint32_t own;	 /* the innermost function of the user's own code */
	uint32_t callee; /* what .own calls directly; without .own, the innermost function */
};
struct waits_frames waits_frames_of(const struct costs *c, uint32_t stack);

struct waits_place {
	/*
	 * A line of the user's code that has at least half of the time (in that case .at_line is
	 * set); otherwise a function with at least half of the time; 0: there is neither.
	 */
	uint32_t own;
	bool at_line;
	/*
	 * The library's function that .own calls directly, if nearly all of the time is in it; or,
	 * without .own, the library's function that has at least half of the time. 0: none.
	 */
	uint32_t callee;
	int64_t ns; /* how long the threads waited at the line or function that is named */
	/* what at least half of the group's time in the state was a wait for; NULL: not known */
	const char *on;
	bool on_all; /* nearly all of that time was a wait for .on */
};

/*
 * Finds the place where the group waits in state @state (id of a string). The group was in that
 * state for @all ns. 0 or -ENOMEM.
 */
_must_use_ int waits_place_find(const struct waits *w, uint32_t group, uint32_t state, int64_t all,
				struct waits_place *ret);

/* Appends "in Cursor.execute, called from app.py:31", "at app.py:8 (work)" or "in work". */
void waits_place_add(const struct costs *c, const struct waits_place *at, struct str *b);

/* Is @part at least nine tenths of @all? */
static inline bool waits_nearly(int64_t part, int64_t all)
{
	return part >= all - all / 10;
}

#endif
