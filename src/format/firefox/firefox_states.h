/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the waits of a thread as markers of a Firefox profile. */
#ifndef FORMAT_FIREFOX_FIREFOX_STATES_H
#define FORMAT_FIREFOX_FIREFOX_STATES_H

#include <stdio.h>

#include "profile/profile.h"

struct firefox_states {
	struct profile *p;
	/* index of the value that is the time of waits; -1: the profile has no such value */
	int waits;
	FILE *columns[4]; /* columns of the table of markers of the current thread */
	const char *comma;
	uint64_t n; /* how many markers the thread has so far */
};

/* Prepares @s. 0 or -errno + message. Call firefox_states_close() in any case. */
_must_use_ int firefox_states_open(struct firefox_states *s, struct profile *p);
void firefox_states_close(struct firefox_states *s);

/* Adds a marker for a sample of the current thread, if the sample is a wait and has a time. */
void firefox_states_add(struct firefox_states *s, const struct profile_sample *wait);

/*
 * Writes the member "markers" of the current thread, and begins that of the next thread. 0 or
 * -errno + message.
 */
_must_use_ int firefox_states_put(struct firefox_states *s, FILE *out);

/* The schema of the markers for waits, as JSON for "meta". */
extern const char firefox_state_schema[];

#endif
