/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out where in the code a group of threads waits, and on what. */
#ifndef VIEW_WAITS_PLACE_H
#define VIEW_WAITS_PLACE_H

#include "view/waits/threads.h"

/* The frames of one stack that say where its thread waits. 0: there is no such frame. */
struct waits_frames {
	uint32_t own;	 /* the innermost function of the user's own code */
	uint32_t callee; /* what .own calls directly; without .own, the innermost function */
};
struct waits_frames waits_frames_of(const struct costs *c, uint32_t stack);

struct waits_place {
	/*
	 * A line of the user's code that has at least half of the time (then .at_line is set);
	 * otherwise a function that has at least half; 0: there is neither.
	 */
	uint32_t own;
	bool at_line;
	/*
	 * With .own: the library function that .own calls directly, if nearly all of the time is in
	 * it. Without .own: the library function that has at least half of the time. 0: there is
	 * none.
	 */
	uint32_t callee;
	int64_t ns; /* how long the threads waited in .own or .callee, whichever is named */
	/* what the group waited on in at least half of its time in the state; NULL: not known */
	const char *on;
	bool on_all; /* nearly all of the time was a wait on .on */
};

/*
 * Finds the place where the group waits in state @state (id of a string). @all: how many ns it was
 * in that state. 0 or -ENOMEM.
 */
_must_use_ int waits_place_find(const struct waits *w, uint32_t group, uint32_t state, int64_t all,
				struct waits_place *ret);

/* Appends "in Cursor.execute, called from app.py:31", "at app.py:8 (work)" or "in work". */
void waits_place_add(const struct costs *c, const struct waits_place *at, struct str *b);

/* Tells whether @part is at least nine tenths of @all. */
static inline bool waits_nearly(int64_t part, int64_t all)
{
	return part >= all - all / 10;
}

#endif
