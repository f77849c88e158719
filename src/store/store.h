/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `krait agent` records: one SQLite database in one directory (docs/decisions/0028). A frame
 * has the samples of about a second. Frames whose definitions are numbered together form a segment.
 * When a segment is complete, it is sealed: its frames are replaced by blocks, one for each
 * service. One process writes; any number of processes may read at the same time.
 *
 * store_open() refuses a database that isn't a store, is damaged, is of a newer krait or can't be
 * written. Its message says which, and nothing in the database is changed.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <sys/types.h>
#include "store/batch.h"
#include "store/blob.h"
#include "store/restore.h"
#include "store/sealed/totals.h"

/* where the agent records if it isn't told another directory */
#define STORE_DIRECTORY "/var/lib/krait"
#define STORE_MODE	0700 /* permissions of a directory that krait makes */

/* Blocks in which samples are summed up cover so many ms, or six hours. */
#define STORE_TEN_MINUTES_MS ((int64_t)600 * 1000)
#define STORE_HOUR_MS	     ((int64_t)3600 * 1000)
#define STORE_DAY_MS	     ((int64_t)24 * 3600 * 1000)

struct store;

/*
 * Opens the store in @dir. @owner > 0: for writing; @owner is the agent's pid. Directory and store
 * are made if they don't exist. If another process writes already, -EBUSY is returned and the
 * message has its pid. @owner 0: for reading. Returns 0 or -errno + message; the caller closes
 * *ret.
 */
_must_use_ int store_open(const char *dir, pid_t owner, struct store **ret);
void store_close(struct store *s);

/*
 * Sets *ret to the number for the next segment, which is higher than all segment numbers in the
 * store. Returns 0 or -errno + message.
 */
_must_use_ int store_next_segment(struct store *s, uint64_t *ret);

/*
 * Appends a frame (about a second's samples), whose columns batch_encode() made. When this returns
 * 0, readers see the frame, and it survives a crash. Returns -ENOSPC + message if the disk is full
 * and nothing was added, or -errno + message.
 */
_must_use_ int store_append(struct store *s, const struct blob_place *place, const void *columns,
			    size_t n);

/*
 * Seals segment @segment, which must be complete: replaces its frames by blocks. A damaged frame
 * and all frames after it are dropped, with a warning. Returns 0, -ENOSPC in the case that
 * store_keep_to() describes, or -errno + message.
 */
_must_use_ int store_seal(struct store *s, uint64_t segment);

/*
 * Sets the BATCH_EARLIER_… counters in @figures: the sums over all earlier agents. Returns 0 or
 * -errno + message.
 */
_must_use_ int store_earlier_figures(struct store *s, int64_t figures[BATCH_FIGURES]);

/*
 * Seals the segments that earlier agents left unsealed: replaces their frames by blocks. Returns 0
 * or -errno + message.
 */
_must_use_ int store_seal_rest(struct store *s);

/*
 * Makes the blocks of sums that are missing (of ten minutes, an hour, six hours, a day, and of the
 * newest segments), for a few windows of time in one call. Call it after store_seal(). If only
 * those of the newest segments can't be made, a warning is logged. Returns 0 or -errno + message.
 */
_must_use_ int store_roll_up(struct store *s);

/* The smallest limit that store_keep_to() accepts: room for a few segments and for SQLite's log. */
#define STORE_LEAST_BYTES ((uint64_t)32 << 20)

/*
 * Removes the oldest contents until the store's files take at most @bytes, including the largest
 * size that SQLite's log may have. Call it before store_append(). Returns 0; -ENOSPC + message:
 * another process's transaction keeps the log from being emptied, and nothing may be written until
 * it has ended; -errno + message.
 */
_must_use_ int store_keep_to(struct store *s, uint64_t bytes);

/*
 * Makes a profile of the samples that @q asks for. Damaged rows are left out: a warning is logged
 * and added to the profile as a comment. Returns 0 or -errno + message; the caller frees *ret.
 */
_must_use_ int store_read(struct store *s, const struct store_query *q, struct profile **ret);

/*
 * Sets the functions whose time is summed up (sealed/totals.h), at most TOTALS_FUNCTIONS. Only the
 * writer calls it. Returns 0 or -errno + message.
 */
_must_use_ int store_count_functions(struct store *s, const char *const *names, size_t n);

/*
 * Adds to *ret the sums over all that was recorded since the store was made. Returns 0 or -errno +
 * message; the caller frees *ret with totals_fini() in any case.
 */
_must_use_ int store_totals(struct store *s, struct totals *ret);

/* Sizes, times and counters of a store, for users. */
struct store_facts {
	/*
	 * .segments: the number of sealed ones; .frames: the number of frames (about a second's
	 * samples each) in segments that aren't sealed yet
	 */
	uint64_t segments, frames, samples;
	/* the first and last time of which the store has samples; of an empty store: 0, -1 */
	int64_t first_ms, last_ms;
	/* .bytes: the size of all files; .free_bytes: how much of it is unused */
	uint64_t bytes, free_bytes;
	/* the pid of the agent that writes now; 0: none writes */
	pid_t writer;
	/* the agent's counters, as in the newest frame of the store */
	int64_t figures[BATCH_FIGURES];
};

_must_use_ int store_facts(struct store *s, struct store_facts *ret);

/*
 * Copies what @from has of a window of time (ms, @until_ms excluded) into a new store in the
 * directory @dir, and tells what the copy has. Blocks are copied whole, so the copy may also have
 * some time before and after the window. Returns 0; -EEXIST + message if @dir has a store that
 * isn't empty; -errno + message: nothing was copied then.
 */
_must_use_ int store_copy(struct store *from, const char *dir, int64_t since_ms, int64_t until_ms,
			  struct store_facts *ret);

#endif
