/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Saves all that a recording's collector is given (records, events of perf's side band, calls of
 * collect_flush()), so that it can be given to another collector. The Makefile links this so that
 * calls of collect_*() come here first.
 */
#ifndef TESTS_RECORD_STREAM_H
#define TESTS_RECORD_STREAM_H

#include "record/session.h"

/*
 * stream_entries() returns how many entries were saved; stream_is_flush() tells whether entry @i is
 * a call of collect_flush().
 */
size_t stream_entries(void);
bool stream_is_flush(size_t i);

/*
 * Moves the record that describes the process to a place after the process's first sample, as if
 * the two had come from the rings of different CPUs.
 */
void stream_delay_process(void);

/*
 * Gives the saved entries to a new collector with a new profile. After each entry i for which @cuts
 * returns true, calls collect_flush() and cuts a window, as session_window() does. Calls @window
 * for each window, and at the end for the rest of the profile. @live is the recorded session: its
 * sampling has stopped, but its process lives, and the session hasn't ended.
 */
struct stream_user {
	bool (*cuts)(void *ctx, size_t i);
	void (*window)(void *ctx, struct profile *p);
	void *ctx;
	bool native; /* replays with native frames, which takes ten times as long */
};
void stream_replay(struct session *live, const struct stream_user *user);

/*
 * Makes a mistake on purpose, to prove that the test notices it. "stack", "label": in every seventh
 * stack or label that is carried over into a new window or made there. "drop", "double": in every
 * seventh sample after a cut. "memory": memory runs out for every seventh stack that is carried
 * over. NULL: no mistake.
 */
void stream_fault(const char *what);

/* Unless @ok, prints @why and ends the program. */
void expect(bool ok, const char *why);

#endif
