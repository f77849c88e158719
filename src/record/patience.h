/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long the end of a recording, or a dump, waits for names that threads read from files. A file
 * may be large, and its file system or a server may not answer. As long as more names come, krait
 * goes on waiting, up to a limit, because a busy machine reads slowly. The next Ctrl-C ends the
 * wait at once.
 */
#ifndef RECORD_PATIENCE_H
#define RECORD_PATIENCE_H

#include "base/util.h"

#define PATIENCE_SECONDS 5 /* how many seconds the end of a recording waits while nothing comes */
#define PATIENCE_LIMIT	 6 /* the whole wait takes at most this many times .seconds */

struct patience {
	unsigned seconds;  /* how long to wait while nothing comes; 0: PATIENCE_SECONDS */
	uint64_t began_ns; /* when the wait began, CLOCK_MONOTONIC; 0: the wait hasn't begun */
	uint64_t came_ns;  /* when something that is waited for last came */
	uint64_t said_ns;  /* when the user was last told what is waited for */
	unsigned done;	   /* the value of @done at the last call of patience_has() */
	unsigned signals;  /* 1 if any signals came before the wait began, else 0 */
	bool said, over;
};

/* Begins the wait, unless it has begun already. */
void patience_begin(struct patience *p);

/*
 * May the caller wait longer for @what? For collect_config.wait: @done changes whenever something
 * has come. Calls patience_begin() itself. After a second it tells the user what is waited for; at
 * the end it says that the wait is over.
 */
bool patience_has(struct patience *p, const char *what, unsigned done);

/*
 * Returns words for why the wait is over, for messages about what is missing. If the words aren't
 * constant, they are in @text.
 */
const char *patience_words(const struct patience *p, char *text, size_t n);

#endif
