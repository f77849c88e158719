/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many processes and threads a profile has samples of. Samples are of the same process if its
 * name and its pid are equal, as in the page, the report and krait top's tables. So a process that
 * execs another program counts as two, and one that execs its own program again as one.
 */
#ifndef RECORD_FIGURES_CENSUS_H
#define RECORD_FIGURES_CENSUS_H

#include "base/map.h"
#include "profile/profile.h"

/* The processes and threads that census_take() has counted. Zero-initialise. */
struct census {
	struct map processes, threads;
	size_t sets; /* how many label sets of the profile were already counted */
};

/*
 * Counts the processes and threads that were added to @p since the last call. @p must be the same
 * profile in all calls, and must not have been condensed between them.
 */
void census_take(struct census *c, const struct profile *p);
void census_fini(struct census *c);

#endif
