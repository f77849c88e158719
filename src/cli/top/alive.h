/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the processes and threads that a profile has samples of are alive: a server that starts a thread for
 * each request has hundreds since the start, and eight now.
 */
#ifndef CLI_TOP_ALIVE_H
#define CLI_TOP_ALIVE_H

#include "base/map.h"
#include "profile/profile.h"

/* Zero-initialise. */
struct alive {
	struct map processes, threads; /* ids of those that were alive at the last look */
	size_t sets;		       /* label sets of the profile that were looked at */
};

/* Takes in what came since the last call, and asks the kernel about all. */
void alive_look(struct alive *a, const struct profile *p);
/* The profile's ids are others now. */
void alive_condensed(struct alive *a);
void alive_fini(struct alive *a);

#endif
