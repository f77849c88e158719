/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that sealed blocks share: strings, mappings, functions and locations. Each has one number
 * within an epoch. An epoch ends after a day, when its names take too much memory, and when the
 * writer ends. A name is written together with the first segment that needs it.
 */
#ifndef STORE_SEALED_NAMES_H
#define STORE_SEALED_NAMES_H

#include "base/intern.h"
#include "store/batch.h"

#define NAMES_TABLES 4 /* BATCH_STRINGS to BATCH_LOCATIONS */

struct names {
	uint64_t epoch;	   /* 0: none has begun */
	uint32_t sequence; /* how many rows of the epoch's names are written */
	int64_t first_ms;  /* the time at which the epoch began */
	struct intern of[NAMES_TABLES];
	uint32_t written[NAMES_TABLES]; /* for each table: how many of its names are written */
};

void names_fini(struct names *n);

/* Must the epoch end before a segment that begins at time @ms? */
bool names_full(const struct names *n, int64_t ms);

/* Begins an epoch. */
void names_begin(struct names *n, uint64_t epoch, int64_t ms);

/*
 * Gives the definitions of @b numbers of the epoch, and renumbers all that refers to them. Then
 * removes the definitions from @b. Returns 0 or -errno + message.
 */
_must_use_ int names_take(struct names *n, struct batch *b);

/*
 * Copies the names that aren't written yet into *ret. Returns 0 or -ENOMEM + message; the caller
 * frees *ret with batch_fini().
 */
_must_use_ int names_new(const struct names *n, struct batch *ret);

/* Are there names that aren't written yet? */
bool names_are_new(const struct names *n);

/* Says that all names are written now. */
void names_written(struct names *n);

#endif
