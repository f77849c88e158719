/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many processes and threads a profile has samples of. As the page, the report and the tables of krait top tell
 * them apart, by name and number: an exec of the same program isn't another process, of another program it is.
 */
#ifndef RECORD_CENSUS_H
#define RECORD_CENSUS_H

#include "base/map.h"
#include "profile/profile.h"

/* Zero-initialise. */
struct census {
	struct map processes, threads;
	size_t sets; /* label sets of the profile that were looked at */
};

/* Takes in what came since the last call; the profile is the same, and wasn't condensed since. */
void census_take(struct census *c, const struct profile *p);
void census_fini(struct census *c);

#endif
