/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts how many sampled processes and threads are alive. A server that starts a thread for each
 * request has had hundreds since the start, but only eight now.
 */
#ifndef CLI_TOP_ALIVE_H
#define CLI_TOP_ALIVE_H

#include "base/map.h"
#include "profile/profile.h"

/* Zero-initialise. */
struct alive {
	struct map processes, threads; /* ids of those that were alive at the last look */
	size_t sets;		       /* number of the profile's label sets that were looked at */
};

/*
 * Adds the processes and threads that were sampled since the last call, and asks the kernel which
 * of all are alive.
 */
void alive_look(struct alive *a, const struct profile *p);
/* To be called after the profile was condensed: its ids have changed. */
void alive_condensed(struct alive *a);
void alive_fini(struct alive *a);

#endif
