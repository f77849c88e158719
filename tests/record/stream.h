/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All that a recording's collector is given (records, events of the side band, flushes), saved, and
 * given to another collector. The Makefile links it so that calls of collect_*() come here first.
 */
#ifndef TESTS_RECORD_STREAM_H
#define TESTS_RECORD_STREAM_H

#include "record/session.h"

/*
 * stream_entries() returns how many entries were saved; stream_is_flush() tells whether entry @i is
 * a flush.
 */
size_t stream_entries(void);
bool stream_is_flush(size_t i);

/*
 * Gives the saved entries to a new collector, with a profile of its own. After each entry i for
 * which @cuts says so, it flushes and cuts a window, as session_window() does. @window is called
 * for each window, and at the end for the rest. @live is the session that was recorded: sampling
 * has stopped, but its process lives and the session hasn't ended.
 */
struct stream_user {
	bool (*cuts)(void *ctx, size_t i);
	void (*window)(void *ctx, struct profile *p);
	void *ctx;
	bool native; /* with native frames, which takes ten times as long */
};
void stream_replay(struct session *live, const struct stream_user *user);

/*
 * Makes a mistake in every seventh "stack" or "label" that is carried over or made, or every
 * seventh sample that comes after a cut ("drop", "double"), to prove that it is seen. "memory": no
 * memory for every seventh stack that is carried over. NULL: none.
 */
void stream_fault(const char *what);

/* If @ok is false, prints @why and ends the program. */
void expect(bool ok, const char *why);

#endif
