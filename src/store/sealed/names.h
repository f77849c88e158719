/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names (strings, mappings, functions and locations) that the blocks of sealed segments share. Each
 * has one number within an epoch. An epoch ends after a day (that of parts after an hour), when its
 * names take too much memory, and when the writer ends. A name is written together with the first
 * segment that needs it.
 */
#ifndef STORE_SEALED_NAMES_H
#define STORE_SEALED_NAMES_H

#include "base/intern.h"
#include "store/batch.h"

#define NAMES_TABLES 4 /* BATCH_STRINGS to BATCH_LOCATIONS */

struct names {
	uint64_t epoch; /* 0: none has begun */
	/* how many rows of names of this epoch (at most about a day) are in the database */
	uint32_t sequence;
	int64_t first_ms; /* the time at which this epoch of names began */
	struct intern of[NAMES_TABLES];
	/* for each table: how many of its names are in the database */
	uint32_t written[NAMES_TABLES];
};

void names_fini(struct names *n);

/*
 * Tells whether the epoch (the time for which names keep their numbers) must end before the names
 * of a segment that begins at time @ms are added.
 */
bool names_full(const struct names *n, int64_t ms);

/* Begins an epoch. */
void names_begin(struct names *n, uint64_t epoch, int64_t ms);

/*
 * Numbers the names that @b defines, within the epoch, and changes the references to them in @b.
 * Then removes the names' definitions from @b. Returns 0 or -errno + message.
 */
_must_use_ int names_take(struct names *n, struct batch *b);

/*
 * Copies the names that aren't written yet into *ret. Returns 0 or -ENOMEM + message; the caller
 * frees *ret with batch_fini().
 */
_must_use_ int names_new(const struct names *n, struct batch *ret);

/* Tells whether any name isn't written yet. */
bool names_are_new(const struct names *n);

/* Marks all names as written. */
void names_written(struct names *n);

#endif
