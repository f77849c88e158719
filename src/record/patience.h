/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides how long the end of a recording, or a dump, waits for names that threads read from files.
 * A file may be large, and its file system or a server may not answer. As long as more names come,
 * krait goes on waiting, up to a limit, because a busy machine reads slowly. The next Ctrl-C ends
 * the wait at once.
 */
#ifndef RECORD_PATIENCE_H
#define RECORD_PATIENCE_H

#include "base/util.h"

/* how many seconds the end of a recording waits for the next name to come */
#define PATIENCE_SECONDS 5
#define PATIENCE_LIMIT	 6 /* the whole wait takes at most this many times .seconds */

struct patience {
	/* how many seconds to wait for the next name to come; 0: PATIENCE_SECONDS */
	unsigned seconds;
	uint64_t began_ns; /* when the wait began, CLOCK_MONOTONIC; 0: the wait hasn't begun */
	uint64_t came_ns;  /* when anything that is waited for came last */
	uint64_t said_ns;  /* when the user was last told what is waited for */
	unsigned done;	   /* the value of @done at the last call of patience_has() */
	unsigned signals;  /* 1 if any signal came before the wait began, else 0 */
	bool said, over;
};

/* Begins to wait, unless it has begun already. */
void patience_begin(struct patience *p);

/*
 * May the caller wait longer for @what? Can be used as collect_config.wait: @done changes whenever
 * something has come. Calls patience_begin() itself. After a second this function tells the user
 * what krait waits for; at the end it says that the wait is over.
 */
bool patience_has(struct patience *p, const char *what, unsigned done);

/*
 * Returns in words why the wait is over, for messages about what is missing. Words that aren't
 * constant are written to @text.
 */
const char *patience_words(const struct patience *p, char *text, size_t n);

#endif
