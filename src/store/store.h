/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `krait agent` records: one SQLite database in one directory (docs/decisions/0028). A frame
 * is about a second of samples. Frames whose numbers go on are a segment; once it has ended, it is
 * sealed: its frames become one row. One process writes, any number read meanwhile.
 *
 * A store that isn't one, is damaged, is of a newer krait or can't be written is refused with a
 * message that says so, and nothing in it is changed.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <sys/types.h>
#include "store/batch.h"
#include "store/blob.h"
#include "store/restore.h"
#include "store/sealed/totals.h"

/* where the agent records, unless it is told another directory */
#define STORE_DIRECTORY "/var/lib/krait"
#define STORE_MODE	0700 /* of a directory that krait makes */

/* The steps of the coarser tiers. */
#define STORE_TEN_MINUTES_MS ((int64_t)600 * 1000)
#define STORE_HOUR_MS	     ((int64_t)3600 * 1000)

struct store;

/*
 * Opens the store in @dir. For writing (@owner > 0: the agent's pid) the directory and the store
 * are made if there is none, and a second writer is refused with -EBUSY and the first one's pid.
 * @owner 0: for reading. 0 or -errno + message; the caller closes *ret.
 */
_must_use_ int store_open(const char *dir, pid_t owner, struct store **ret);
void store_close(struct store *s);

/* The number of the next segment: above all that are there. 0 or -errno + message. */
_must_use_ int store_next_segment(struct store *s, uint64_t *ret);

/*
 * Appends a frame: its columns (batch_encode()). It is there for readers, and survives a crash,
 * once this has returned. 0; -ENOSPC + message: the disk is full, and nothing was added; -errno +
 * message.
 */
_must_use_ int store_append(struct store *s, const struct blob_place *place, const void *columns,
			    size_t n);

/*
 * Seals segment @segment, to which no frame will be added. Frames that are damaged, and those that
 * follow them in the segment, are given up with a warning. 0 or -errno + message, -ENOSPC as
 * store_keep_to().
 */
_must_use_ int store_seal(struct store *s, uint64_t segment);

/*
 * Adds up the figures of all agents before, for those of the next agent: sets BATCH_EARLIER_…
 * of @figures. 0 or -errno + message.
 */
_must_use_ int store_earlier_figures(struct store *s, int64_t figures[BATCH_FIGURES]);

/* Seals the segments that an agent which ended hasn't sealed. 0 or -errno + message. */
_must_use_ int store_seal_rest(struct store *s);

/*
 * Makes what is missing of the coarser tiers, of some hours at most. Call it after store_seal(). 0
 * or -errno + message.
 */
_must_use_ int store_roll_up(struct store *s);

/* The least that store_keep_to() takes: a few segments, and what SQLite's log may take. */
#define STORE_LEAST_BYTES ((uint64_t)32 << 20)

/*
 * Removes the oldest until the store's files take at most @bytes, with what SQLite's log may take.
 * Call it before store_append(). 0; -ENOSPC + message: a reader holds the log, and nothing may be
 * written until it has ended; -errno + message.
 */
_must_use_ int store_keep_to(struct store *s, uint64_t bytes);

/*
 * Makes a profile of the samples that @q wants. What is damaged is left out: a warning is logged
 * and becomes a comment of the profile. 0 or -errno + message; the caller frees *ret.
 */
_must_use_ int store_read(struct store *s, const struct store_query *q, struct profile **ret);

/*
 * Says which functions are counted (sealed/totals.h), TOTALS_FUNCTIONS at most; for the writer. 0
 * or -errno + message.
 */
_must_use_ int store_count_functions(struct store *s, const char *const *names, size_t n);

/*
 * Adds all that was recorded since the store was made to *ret. 0 or -errno + message; the caller
 * ends it in any case.
 */
_must_use_ int store_totals(struct store *s, struct totals *ret);

struct store_facts {
	uint64_t segments, frames, samples; /* sealed segments; frames that aren't sealed */
	int64_t first_ms, last_ms;	    /* what it is of; nothing: 0, -1 */
	uint64_t bytes, free_bytes;	    /* of all files; of them unused */
	pid_t writer;			    /* the agent that writes now; 0: none */
	int64_t figures[BATCH_FIGURES];	    /* of the newest frame */
};

_must_use_ int store_facts(struct store *s, struct store_facts *ret);

#endif
