/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts how many sampled processes and threads are alive. A server that starts a thread for each
 * request may have had hundreds since the start, but have only eight now.
 */
#ifndef CLI_TOP_ALIVE_H
#define CLI_TOP_ALIVE_H

#include "base/map.h"
#include "profile/profile.h"

/* The processes and threads that are alive. Zero-initialise. */
struct alive {
	/* ids of the processes and threads that were alive when alive_look() was last called */
	struct map processes, threads;
	size_t sets; /* how many label sets of the profile were looked at */
};

/*
 * Adds the processes and threads that were sampled since the last call, and removes all that are no
 * longer alive.
 */
void alive_look(struct alive *a, const struct profile *p);
/* Must be called after the profile was condensed, because its ids have changed then. */
void alive_condensed(struct alive *a);
void alive_fini(struct alive *a);

#endif
