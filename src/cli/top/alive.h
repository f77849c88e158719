/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts how many of the sampled processes and threads are alive. A server that starts a thread for
 * each request may have had hundreds of threads since krait top began, but have only eight now.
 */
#ifndef CLI_TOP_ALIVE_H
#define CLI_TOP_ALIVE_H

#include "base/map.h"
#include "profile/profile.h"

/* The processes and threads that are alive. Initialise the struct with zeros. */
struct alive {
	/* ids of the processes and threads that were alive when alive_look() was last called */
	struct map processes, threads;
	size_t sets; /* how many of the profile's label sets were looked at already */
};

/*
 * Adds the processes and threads of samples that came since the last call, and removes those that
 * aren't alive any more.
 */
void alive_look(struct alive *a, const struct profile *p);
/*
 * Forgets which label sets were looked at. Call it after the profile was condensed (made smaller),
 * because that changes the ids of label sets.
 */
void alive_condensed(struct alive *a);
void alive_fini(struct alive *a);

#endif
