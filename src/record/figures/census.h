/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the processes and threads of which a profile has samples. Samples with the same name and
 * pid are of one process, as in the page, the report and krait top's tables. So a process that
 * execs another program counts as two processes, and a process that execs its own program again as
 * one.
 */
#ifndef RECORD_FIGURES_CENSUS_H
#define RECORD_FIGURES_CENSUS_H

#include "base/map.h"
#include "profile/profile.h"

/*
 * The processes and threads that census_take() has counted. The caller zero-initialises the struct.
 */
struct census {
	struct map processes, threads;
	size_t sets; /* how many of the profile's label sets were counted already */
};

/*
 * Counts the processes and threads that were added to @p since the last call. @p must be the same
 * profile in all calls, and must not have been condensed (its rare parts summed up) between them.
 */
void census_take(struct census *c, const struct profile *p);
void census_fini(struct census *c);

#endif
