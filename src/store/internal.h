/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of src/store share: the open store, and how a call of SQLite is checked. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <sqlite3.h>
#include "store/sealed/names.h"
#include "store/store.h"

#define STORE_ID      0x6b726169 /* "krai": SQLite's application_id */
#define STORE_VERSION 2		 /* SQLite's user_version: the format */
#define STORE_FILE    "store.db"
#define STORE_LOCK    "lock"
#define STORE_BUSY_MS 5000 /* how long a call waits for another process's transaction */

/* The number of a frame's row: its segment, then its place in it. */
#define STORE_SEQUENCE_BITS 20
#define STORE_FRAME(segment, sequence)                                                             \
	((sqlite3_int64)((segment) << STORE_SEQUENCE_BITS | (sequence)))
#define STORE_MOST_SEGMENT (1ull << 42)

/*
 * What a block is; the numbers are in the database. An exact one is numbered as frames are, by
 * segment, others by tier and window.
 */
enum store_tier {
	STORE_EXACT,
	STORE_TEN_MINUTES,
	STORE_HOUR,
	STORE_TOTALS = 100, /* no block, but the sums of sealed/totals.h: one row */
};
#define STORE_OUTLINE(tier, ms, number)                                                            \
	((sqlite3_int64)((uint64_t)(tier) << 60 |                                                  \
			 (uint64_t)((ms) / STORE_TEN_MINUTES_MS) << STORE_SEQUENCE_BITS |          \
			 (number)))

struct store {
	sqlite3 *db;
	char *dir;
	int lock_fd; /* -1: opened for reading */
	int64_t version;
	/* of exact blocks, and of outlines; for writing */
	struct names names, outline;
	/* names that were read, so that they are read once for many blocks; see blocks.c */
	struct store_cache {
		uint64_t epoch; /* 0: none */
		uint32_t rows;	/* of the epoch that .b has */
		struct batch b; /* beside names what the last block had */
	} cache;
};

/* Stores of format 1 have segments only. */
static inline bool store_has_blocks(const struct store *s)
{
	return s->version > 1;
}

/* What a table has of a frame or segment, beside its blob. */
struct store_row {
	struct blob_place place;
	const void *blob; /* valid until the statement's next step */
	size_t n;
};

/* *ret, heap: the path of file @name in the store's directory. 0 or -ENOMEM + message. */
_must_use_ int store_file_path(const struct store *s, const char *name, char **ret);

/* no_extensions.c: keeps SQL from loading shared libraries */
void store_refuse_extensions(struct store *s);

/*
 * The error of SQLite that call @rc met, as -errno + message; 0 if it met none. @what: what failed,
 * in words that follow "can't".
 */
int store_error(const struct store *s, int rc, const char *what);

/* Runs statements that return nothing. 0 or -errno + message. */
_must_use_ int store_exec(struct store *s, const char *sql, const char *what);

/* Prepares @sql. 0 or -errno + message; the caller ends *ret with sqlite3_finalize(). */
_must_use_ int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret);
static inline void store_finalize(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}
#define _cleanup_stmt_ _cleanup_(store_finalize)

/* Reads one number: *ret is what @sql selects; 0 if that is no row. 0 or -errno + message. */
_must_use_ int store_number(struct store *s, const char *sql, int64_t *ret);

/* Binds a row's number, times, count of samples and blob, which are the first five parameters. */
void store_bind_row(sqlite3_stmt *stmt, sqlite3_int64 id, const struct blob_place *place,
		    const struct str *blob);

/* sealed/total_row.c: the sums of all that is sealed, or was. 0 or -errno + message. */
_must_use_ int store_sealed_totals(struct store *s, struct totals *ret);
_must_use_ int store_write_totals(struct store *s, const struct totals *t);

/*
 * Finds the first segment from *segment on that has frames, so that it isn't sealed: the one that
 * is being written, or what a crash left. Returns 1; 0: there is none; -errno + message.
 */
_must_use_ int store_next_unsealed(struct store *s, uint64_t *segment);

/* *ret: the ms behind the last block of a tier; 0 if it has none. 0 or -errno + message. */
_must_use_ int store_tier_end(struct store *s, enum store_tier tier, int64_t *ret);

/* Removes the frames of a segment, within a transaction. 0 or -errno + message. */
_must_use_ int store_remove_frames(struct store *s, uint64_t segment);

/*
 * seal.c: writes a block as row @id, within a transaction; @place has its times, and gets the rest.
 * @service: "" if it is of none, or of several. 0 or -errno + message.
 */
_must_use_ int store_insert_block(struct store *s, enum store_tier tier, sqlite3_int64 id,
				  struct blob_place *place, struct batch *b, const char *service,
				  uint64_t epoch);
/* Writes the names that aren't written yet; @ms: when they were first met. */
_must_use_ int store_insert_names(struct store *s, const struct names *n, int64_t ms);
/* Begins an epoch of @n, with a number above all that are there. */
_must_use_ int store_begin_names(struct store *s, struct names *n, int64_t ms);

/*
 * blocks.c: adds the samples that @q wants of a tier's blocks to @p. @service: only of its blocks;
 * NULL: those that @q's labels may want. Damage is as for store_read().
 */
_must_use_ int store_read_blocks(struct store *s, enum store_tier tier, const char *service,
				 const struct store_query *q, struct profile *p);

/* Forgets the names that were read. */
void store_forget_names(struct store *s);

/* Adds a row to @b: 0; 1 + message: it is damaged; -errno + message. */
_must_use_ int store_add_row(struct batch *b, const struct store_row *row);
void store_take_row(sqlite3_stmt *stmt, struct store_row *ret);
/* Columns of a statement that store_take_row() is for; further ones follow. */
#define STORE_ROW "SELECT id, first_ms, last_ms, samples, body"
/* Words for damage: what it is, and of which time. Sets the message, and returns 1. */
int store_tell_damage(const struct blob_place *at);
/* Has @p say the message, as a warning. */
void store_leave_out(struct profile *p);

/* What a block's head has of the service that its row names. */
uint32_t store_service_hash(const char *service);

/*
 * rows.c: a reader whose transaction goes on keeps SQLite's log from being emptied, and each commit
 * makes that longer. 0; -ENOSPC + message: it is at its limit, and nothing may be written until
 * that reader has ended.
 */
_must_use_ int store_bound_log(struct store *s);

/* Ends a transaction, if there is one, in which nothing was written. */
void store_end_reading(struct store *s);

/* Undoes a transaction that @r has ended early; returns @r. */
int store_undo(struct store *s, int r);

/*
 * read.c: adds the frames of @segment to @b, in order, until one is missing or damaged. *ret: what
 * they are together. Returns 0; 1 + message if one wasn't good; -errno + message.
 */
_must_use_ int store_read_frames(struct store *s, uint64_t segment, struct batch *b,
				 struct blob_place *ret);

/* Reads the figures of the newest frame, sealed or not; zeros if there is none. 0 or -errno. */
_must_use_ int store_newest_figures(struct store *s, int64_t figures[BATCH_FIGURES]);

#endif
