/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long the end of a recording, or a dump, waits for names, which threads read from files: a file
 * may be large, its file system may not answer, a server neither. The next Ctrl-C ends it sooner.
 */
#ifndef CLI_PATIENCE_H
#define CLI_PATIENCE_H

#include "base/util.h"

#define PATIENCE_SECONDS 5

struct patience {
	unsigned seconds;  /* 0: PATIENCE_SECONDS */
	uint64_t began_ns; /* CLOCK_MONOTONIC; 0: not yet */
	uint64_t said_ns;  /* when it was said last, for what it waits */
	unsigned signals;  /* so many came before it began, of which one counts */
	bool said, over;
};

/* From now on it counts, if it doesn't already. */
void patience_begin(struct patience *p);

/*
 * May @what be waited for any longer? For collect_config.wait. Begins by itself. After a second it
 * says for what it waits, at the end that it doesn't any more.
 */
bool patience_has(struct patience *p, const char *what);

/* That the end waits for 5 s, or that a signal ended it: for the words about what is missing. */
const char *patience_words(const struct patience *p);

#endif
