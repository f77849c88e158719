/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares what the files of src/store share: the open store, the keys of its tables, and functions
 * that run SQL and report SQLite's errors.
 */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <sqlite3.h>
#include "store/pins/pins.h"
#include "store/sealed/names.h"
#include "store/store.h"

#define STORE_ID      0x6b726169 /* "krai": SQLite's application_id */
#define STORE_VERSION 4		 /* SQLite's user_version: the number of the store's format */
#define STORE_FILE    "store.db"
#define STORE_LOCK    "lock"
/* how many ms a call waits while another process's transaction locks the database */
#define STORE_BUSY_MS 5000

/*
 * The id of a row of table frame: the segment's number and, in the low bits, the frame's index in
 * the segment.
 */
#define STORE_SEQUENCE_BITS 20
#define STORE_FRAME(segment, sequence)                                                             \
	((sqlite3_int64)((segment) << STORE_SEQUENCE_BITS | (sequence)))
#define STORE_MOST_SEGMENT (1ull << 42)

/*
 * The tier of a block: how much its samples are summed up. The database stores the numbers of this
 * enum. The id of a block of exact samples has the segment's number in it, as a frame's id has. The
 * id of a coarser block has its tier and window in it: STORE_OUTLINE(). A krait that doesn't know a
 * tier reads the finer ones instead, so a new tier needs no new format.
 */
enum store_tier {
	STORE_EXACT,
	STORE_TEN_MINUTES,
	STORE_HOUR,
	STORE_DAY,
	STORE_SIX_HOURS,
	/* the sums of one segment in a window of ten minutes, until the block of these is made */
	STORE_PARTS,
	STORE_TIERS,
	/* not a tier: the row of table block with this number has the sums of sealed/totals.h */
	STORE_TOTALS = 100,
};
#define STORE_OUTLINE(tier, ms, number)                                                            \
	((sqlite3_int64)((uint64_t)(tier) << 60 |                                                  \
			 (uint64_t)((ms) / STORE_TEN_MINUTES_MS) << STORE_SEQUENCE_BITS |          \
			 (number)))

/*
 * The id of a part (sealed/parts.c): its segment's number, its window's index among those of the
 * segment, and a number for its service. Its times are those of the whole segment.
 */
#define STORE_PART_BITS 10
#define STORE_PART(segment, window, number)                                                        \
	((sqlite3_int64)((uint64_t)STORE_PARTS << 60 | (segment) << STORE_SEQUENCE_BITS |          \
			 (uint64_t)(window) << STORE_PART_BITS | (number)))
/* SQL: the number of a part's segment; whether the segment of a block of exact samples has parts */
#define STORE_PART_SEGMENT "(id >> 20 & 1099511627775)"
#define STORE_HAS_PARTS	   "id >> 20 IN (SELECT " STORE_PART_SEGMENT " FROM block WHERE tier = 5)"

/*
 * Returns the step of a tier in ms: 1 ms, ten minutes, an hour, six hours or a day. Blocks of
 * coarser tiers begin and end at multiples of their step.
 */
static inline int64_t store_step_ms(enum store_tier tier)
{
	static const int64_t steps[STORE_TIERS] = {
		[STORE_EXACT] = 1,
		[STORE_TEN_MINUTES] = STORE_TEN_MINUTES_MS,
		[STORE_HOUR] = STORE_HOUR_MS,
		[STORE_SIX_HOURS] = 6 * STORE_HOUR_MS,
		[STORE_DAY] = STORE_DAY_MS,
		[STORE_PARTS] = STORE_TEN_MINUTES_MS,
	};

	return steps[tier];
}

/* The SQL statements that are executed each second, and so are prepared only once. */
enum store_kept {
	KEPT_APPEND,
	KEPT_PAGES,
	KEPT_FREE_PAGES,
	KEPT_PAGE_SIZE,
	STORE_KEPT,
};

struct store {
	sqlite3 *db;
	char *dir;
	int lock_fd; /* -1: opened for reading */
	sqlite3_stmt *kept[STORE_KEPT];
	int64_t version;
	/*
	 * names (strings, mappings, functions, locations) while blocks are written: .names for
	 * blocks of exact samples, .outline for trees (sums over ten minutes to a day), .parts for
	 * parts: these have names that no tree keeps, and that must go when the parts go
	 */
	struct names names, outline, parts;
	/*
	 * by tier (ten minutes, hours, six hours, days): the time (ms) up to which the tier's
	 * blocks were made. The newest block alone doesn't tell this: a window of time without
	 * undamaged data gets no block, and would be read again and again.
	 */
	int64_t rolled_ms[STORE_TIERS];
	uint64_t parted; /* the newest segment that was looked at to make its parts; 0: none */
	/*
	 * the time of the newest sealed samples, in ms. It, not the time of a window, says when the
	 * epochs of .outline and .parts end: one call makes blocks of windows up to a day before
	 * and after each other.
	 */
	int64_t newest_ms;
	/*
	 * The names (strings, mappings, functions, locations) that were read from the store. They
	 * are kept because many blocks share them; see sealed/blocks.c.
	 */
	struct store_cache {
		uint64_t epoch; /* 0: none */
		uint32_t rows;	/* how many rows of that epoch were read from table names into .b */
		struct batch b; /* the names, and the contents of the block that was read last */
	} cache;
};

/* Tells whether the store has blocks. A store of format 1 has only segments. */
static inline bool store_has_blocks(const struct store *s)
{
	return s->version > 1;
}

/*
 * Tells whether the store can have pins (windows of time whose samples are kept). Stores of formats
 * 1 and 2 have none.
 */
static inline bool store_has_pins(const struct store *s)
{
	return s->version > 2;
}

/*
 * A condition of SQL on a row of table block: true if the block overlaps a pinned window (a time
 * whose samples are kept).
 */
#define STORE_PINNED                                                                               \
	"EXISTS (SELECT 1 FROM pin WHERE until_ms > block.first_ms AND since_ms <= block.last_ms)"

/* One row of table frame, segment or block: the row's times and samples, and its blob. */
struct store_row {
	struct blob_place place;
	const void *blob; /* the blob; valid until the statement's next step */
	size_t n;
};

/*
 * Sets *ret to the path (heap) of the file @name in the store's directory. Returns 0 or -ENOMEM +
 * message.
 */
_must_use_ int store_file_path(const struct store *s, const char *name, char **ret);

/*
 * Makes sure that no SQL statement can load a shared library from now on. Defined in
 * no_extensions.c.
 */
void store_refuse_extensions(struct store *s);

/*
 * Turns @rc, which a call of SQLite returned, into 0 or -errno + message. @what completes the
 * message "can't …".
 */
int store_error(const struct store *s, int rc, const char *what);

/* Runs SQL statements whose results aren't needed. Returns 0 or -errno + message. */
_must_use_ int store_exec(struct store *s, const char *sql, const char *what);

/* Prepares @sql. 0 or -errno + message; the caller ends *ret with sqlite3_finalize(). */
_must_use_ int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret);
static inline void store_finalize(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}
#define _cleanup_stmt_ _cleanup_(store_finalize)

/*
 * Does what store_prepare() does, but only at the first call for each @which. *ret belongs to @s;
 * the caller ends each use of it with sqlite3_reset().
 */
_must_use_ int store_prepare_kept(struct store *s, enum store_kept which, const char *sql,
				  sqlite3_stmt **ret);

/*
 * Sets *ret to the one number that @sql selects, or 0 if @sql selects no row. Returns 0 or -errno +
 * message.
 */
_must_use_ int store_number(struct store *s, const char *sql, int64_t *ret);

/* Binds a row's id, times, count of samples and blob to the statement's first five parameters. */
void store_bind_row(sqlite3_stmt *stmt, sqlite3_int64 id, const struct blob_place *place,
		    const struct str *blob);

/*
 * Read and write the sums over all segments that were ever sealed (sealed/total_row.c). Return 0 or
 * -errno + message.
 */
_must_use_ int store_sealed_totals(struct store *s, struct totals *ret);
_must_use_ int store_write_totals(struct store *s, const struct totals *t);

/*
 * Finds the first segment, from number *segment on, that still has frames and so isn't sealed: it
 * is still being written, or a crash left it. Returns 1, 0 if there is none, or -errno + message.
 */
_must_use_ int store_next_unsealed(struct store *s, uint64_t *segment);

/*
 * Sets *ret to the time (ms) at which the last block of a tier (enum store_tier) ends; 0 if the
 * tier has no block. Returns 0 or -errno + message.
 */
_must_use_ int store_tier_end(struct store *s, enum store_tier tier, int64_t *ret);

/*
 * Removes the frames of a segment; the caller has begun a transaction. Returns 0 or -errno +
 * message.
 */
_must_use_ int store_remove_frames(struct store *s, uint64_t segment);

/*
 * Inserts block @b as row @id (sealed/seal.c). The caller has begun a transaction and set the times
 * in @place; this function sets the other members of @place. @service: "" if the block is of no
 * service, or of several. Returns 0 or -errno + message.
 */
_must_use_ int store_insert_block(struct store *s, enum store_tier tier, sqlite3_int64 id,
				  struct blob_place *place, struct batch *b, const char *service,
				  uint64_t epoch);
/*
 * Writes those names of @n that aren't in the database yet. @ms: the time at which these were first
 * used.
 */
_must_use_ int store_insert_names(struct store *s, const struct names *n, int64_t ms);
/*
 * Begins a new epoch (sealed/names.h) in @n: names are numbered anew. The number of the epoch
 * itself is higher than those of all epochs in the store.
 */
_must_use_ int store_begin_names(struct store *s, struct names *n, int64_t ms);

/* Says which blocks are read. */
struct store_choice {
	enum store_tier tier;
	const char *service; /* NULL: the blocks of all services that the query's labels allow */
	const char *where;   /* a further condition of SQL on a row of table block; NULL: none */
};

/*
 * Adds to @p those samples of the blocks @choice that @q asks for (sealed/blocks.c). Damaged blocks
 * are left out, as in store_read().
 */
_must_use_ int store_read_blocks(struct store *s, const struct store_choice *choice,
				 const struct store_query *q, struct profile *p);

/*
 * Does what store_read_blocks() does for the exact tier, but an outline (an answer with sums) is
 * read from parts where there are any (sealed/parts.c).
 */
_must_use_ int store_read_recent(struct store *s, const char *service, const struct store_query *q,
				 struct profile *p);

/*
 * Adds the samples @sums of @p to *ret, with stacks that end at the first node that has less than
 * 1/@part of all samples (sealed/prune.c). Returns 0 or -ENOMEM + message.
 */
_must_use_ int store_prune(struct profile *p, const struct sums *sums, int64_t part,
			   struct sums *ret);

/*
 * Removes the names of each epoch (the time for which a name keeps its number) once no block uses
 * them any more. The epochs that are still being written stay. Returns 0 or -errno + message.
 */
_must_use_ int store_remove_names(struct store *s);

/* Frees the names that .cache holds. */
void store_forget_names(struct store *s);

/* Decodes a row into @b. Returns 0; 1 + message if the row is damaged; -errno + message. */
_must_use_ int store_add_row(struct batch *b, const struct store_row *row);
void store_take_row(sqlite3_stmt *stmt, struct store_row *ret);
/*
 * The columns that a statement must select first so that store_take_row() can read them. It may
 * select more columns after these.
 */
#define STORE_ROW "SELECT id, first_ms, last_ms, samples, body"
/* Adds to the last error's message the time that the damaged row is from. Returns 1. */
int store_tell_damage(const struct blob_place *at);
/* Logs the last error's message as a warning, and adds it to @p as a comment. */
void store_leave_out(struct profile *p);

/*
 * Returns the hash of the name of a row's service. The head of the row's blob has this hash too, so
 * krait notices a changed name.
 */
uint32_t store_service_hash(const char *service);

/*
 * Keeps SQLite's write-ahead log within its limit (rows.c). While another process is in a
 * transaction the log can't be emptied, and each commit makes it longer. Returns 0; -ENOSPC +
 * message: the log is at its limit, and nothing may be written until that process's transaction has
 * ended.
 */
_must_use_ int store_bound_log(struct store *s);

/* Ends a transaction in which nothing was written, if one was begun. */
void store_end_reading(struct store *s);

/* If @r is an error, rolls back the transaction that the error interrupted. Returns @r. */
int store_undo(struct store *s, int r);

/*
 * Adds the frames of @segment to @b, in order, until one is missing or damaged (read.c). Sets *ret
 * to the times and counts of all frames that were added. Returns 0; 1 + message if a frame was
 * missing or damaged; -errno + message.
 */
_must_use_ int store_read_frames(struct store *s, uint64_t segment, struct batch *b,
				 struct blob_place *ret);

/*
 * Reads the agent's counters from the newest frame (about a second's samples) of the store, or from
 * its newest block if that is later than all frames; zeros if the store has neither. Returns 0 or
 * -errno.
 */
_must_use_ int store_newest_figures(struct store *s, int64_t figures[BATCH_FIGURES]);

#endif
