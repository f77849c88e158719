/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long the end of a recording, or a dump, waits for names, which threads read from files: a file
 * may be large, its file system may not answer, a server neither. As long as they come the end waits
 * on, up to a limit: a busy machine reads slowly. The next Ctrl-C ends it sooner.
 */
#ifndef RECORD_PATIENCE_H
#define RECORD_PATIENCE_H

#include "base/util.h"

#define PATIENCE_SECONDS 5 /* while nothing comes */
#define PATIENCE_LIMIT	 6 /* so many times that in all */

struct patience {
	unsigned seconds;  /* while nothing comes; 0: PATIENCE_SECONDS */
	uint64_t began_ns; /* CLOCK_MONOTONIC; 0: not yet */
	uint64_t came_ns;  /* when something came last */
	uint64_t said_ns;  /* when it was said last, for what it waits */
	unsigned done;	   /* as given last */
	unsigned signals;  /* so many came before it began, of which one counts */
	bool said, over;
};

/* From now on it counts, if it doesn't already. */
void patience_begin(struct patience *p);

/*
 * May @what be waited for any longer? For collect_config.wait: @done is another number whenever
 * something has come. Begins by itself. After a second it says for what it waits, at the end that it
 * doesn't any more.
 */
bool patience_has(struct patience *p, const char *what, unsigned done);

/* Why it isn't waited for any longer: for the words about what is missing. */
const char *patience_words(const struct patience *p, char *text, size_t n);

#endif
