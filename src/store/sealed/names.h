/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that sealed blocks share: strings, mappings, functions and places, each numbered once in an
 * epoch. An epoch ends after a day, at a bound of memory, and with the process that writes. What of
 * them isn't written yet is written with the segment that needs it first.
 */
#ifndef STORE_SEALED_NAMES_H
#define STORE_SEALED_NAMES_H

#include "base/intern.h"
#include "store/batch.h"

#define NAMES_TABLES 4 /* BATCH_STRINGS to BATCH_LOCATIONS */

struct names {
	uint64_t epoch;	   /* 0: none has begun */
	uint32_t sequence; /* rows of it that are written */
	int64_t first_ms;  /* when it began */
	struct intern of[NAMES_TABLES];
	uint32_t written[NAMES_TABLES]; /* how many of each table are written */
};

void names_fini(struct names *n);

/* Does the epoch have to end before a segment of time @ms? */
bool names_full(const struct names *n, int64_t ms);

/* Begins an epoch. */
void names_begin(struct names *n, uint64_t epoch, int64_t ms);

/*
 * Gives the definitions of @b numbers of the epoch: whatever refers to them has those afterwards,
 * and @b's own names are forgotten. 0 or -errno + message.
 */
_must_use_ int names_take(struct names *n, struct batch *b);

/* *ret: the names that aren't written yet. 0 or -ENOMEM + message; the caller ends it. */
_must_use_ int names_new(const struct names *n, struct batch *ret);

/* Is there anything that isn't written? */
bool names_are_new(const struct names *n);

/* All that there is is written. */
void names_written(struct names *n);

#endif
