/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does all that happens to an agent's store, while disk.h records the calls: makes, fills and reads
 * the store, seals its segments (turns batches of samples into blocks), removes the oldest samples,
 * and opens it with another agent. Also keeps what the store contained after each of these steps,
 * and what was written.
 */
#ifndef TESTS_UNIT_STORE_RECORDED_H
#define TESTS_UNIT_STORE_RECORDED_H

#include "disk.h"
#include "store_writer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/system/log.h"
#include "store/internal.h"

#define FRAMES	   240
#define OF_SEGMENT 5
/* after this many frames (batches of samples) another agent opens the store */
#define REOPEN	 90
#define FRAME_MS 100
#define PIN_EACH 20 /* number of frames (batches of samples) from one pinned window to the next */
#define SAMPLES	 4
/* the store's limit in bytes, of which 12 MiB are for SQLite's log */
#define LIMIT ((12ull << 20) + (72 << 10))

/*
 * The state of the store after a step: which frames (batches of samples) it has, and a hash of all
 * rows of all tables.
 */
struct ack {
	size_t ops; /* number of calls that were recorded before this state */
	unsigned first, frames;
	uint64_t rows;
};

static struct recorded {
	struct writer w;
	struct store *reader; /* a reader in an open transaction, or NULL */
	VEC(struct ack) acks;
	struct lines truth; /* all samples that were ever written, sorted by time */
	/* upto[i]: number of samples in the batches (frames) before number i */
	size_t upto[FRAMES + 1];
	/*
	 * the encoded columns of a frame (batch of samples), which the test appends after a power
	 * cut
	 */
	struct str spare;
	unsigned written, warned;
	uint32_t random;
} rec = {.random = 1};

static inline void count_warnings(enum log_level level, const char *text)
{
	(void)text;
	rec.warned += level <= LOG_WARN;
}

static inline uint64_t hash_row(sqlite3_stmt *stmt, uint64_t hash)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const void *v = sqlite3_column_blob(stmt, i);

		hash = XXH3_64bits_withSeed(v, (size_t)sqlite3_column_bytes(stmt, i), hash);
	}
	return hash;
}

static inline int hash_table(sqlite3 *db, const char *name, uint64_t *hash)
{
	_cleanup_stmt_ sqlite3_stmt *rows = NULL;
	char sql[96];
	int rc;

	snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\" ORDER BY rowid", name);
	rc = sqlite3_prepare_v2(db, sql, -1, &rows, NULL);
	while (!rc && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
		*hash = hash_row(rows, *hash + 1);
		rc = 0;
	}
	return rc;
}

/* Returns a hash of all rows of all tables of the store, or 0 if they can't be read. */
static inline uint64_t hash_rows(struct store *s)
{
	_cleanup_stmt_ sqlite3_stmt *tables = NULL;
	uint64_t hash = 1;
	int rc = sqlite3_prepare_v2(s->db,
				    "SELECT name FROM sqlite_schema WHERE type = 'table' "
				    "ORDER BY name",
				    -1, &tables, NULL);

	while (!rc && (rc = sqlite3_step(tables)) == SQLITE_ROW)
		rc = hash_table(s->db, (const char *)sqlite3_column_text(tables, 0), &hash) ==
				     SQLITE_DONE
			     ? 0
			     : SQLITE_CORRUPT;
	return rc == SQLITE_DONE ? hash : 0;
}

/* Notes the state of the store after a call of the store's functions has returned. */
static inline void acknowledge(void)
{
	struct store_facts facts;
	struct ack a = {.frames = rec.written, .rows = hash_rows(rec.w.s)};

	assert_int_equal(store_facts(rec.w.s, &facts), 0);
	a.ops = disk.ops.n;
	a.first = facts.samples ? (unsigned)((facts.first_ms - BEGIN_MS) / FRAME_MS) : rec.written;
	assert_int_equal(vec_push(&rec.acks, a), 0);
}

/* Notes that at first there is no store. */
static inline void acknowledge_none(void)
{
	assert_int_equal(vec_push(&rec.acks, (struct ack){}), 0);
}

/* Lets a reader begin a transaction, or ends the transaction that it is in. */
static inline void read_or_stop(void)
{
	if (rec.reader) {
		store_close(rec.reader);
		rec.reader = NULL;
		return;
	}
	rec.reader = open_store(0);
	assert_int_equal(store_exec(rec.reader, "BEGIN; SELECT count(*) FROM frame", "read"), 0);
}

/*
 * Returns a shallow stack: with deep ones, the test would spend most of its time in making and
 * comparing stacks.
 */
static inline uint32_t shallow_stack(struct writer *w)
{
	uint32_t frames[4];
	size_t n = random_below(&w->random, ARRAY_SIZE(frames));

	for (size_t i = 0; i < n; i++)
		frames[i] = random_location(w->p, &w->random);
	return profile_stack(w->p, frames, n);
}

static inline void fill_frame(void)
{
	struct writer *w = &rec.w;
	unsigned n = random_below(&rec.random, 8) ? SAMPLES : 40 * SAMPLES;
	int64_t begin_ms = rec.written * FRAME_MS;

	w->place.first_ms = w->place.last_ms = BEGIN_MS + begin_ms;
	for (unsigned i = 0; i < n; i++) {
		struct profile_sample s = {
			.stack = shallow_stack(w),
			.labels = random_labels(w->p, &w->random),
			.values = {1, 10101010, -(int64_t)random_below(&w->random, 1u << 30)},
		};

		s.time_ns = (begin_ms + i % FRAME_MS) * (int64_t)NSEC_PER_MSEC;
		add_sample(w, &s);
	}
	rec.upto[rec.written + 1] = rec.upto[rec.written] + n;
}

static inline void keep_columns(void)
{
	struct numbering n = {};

	for (int64_t i = 0; i < SAMPLES; i++) {
		struct profile_sample s = {.time_ns = 0, .values = {1, 1}};

		assert_int_equal(numbering_add(&n, rec.w.p, &s, BEGIN_MS + FRAMES * FRAME_MS), 0);
	}
	assert_int_equal(numbering_end(&n, rec.w.p), 0);
	assert_int_equal(batch_encode(&n.batch, &rec.spare), 0);
	numbering_fini(&n);
}

/*
 * Pins a window in which nothing was recorded, so that the table of pins has rows but no frame
 * (batch of samples) is kept for them.
 */
static inline void pin_nothing(void)
{
	struct pin p = {.since_ms = 1 + rec.written, .until_ms = 2 + rec.written};

	strcpy(p.cause, PIN_BY_MARK);
	assert_int_equal(store_add_pin(rec.w.s, &p), 0);
	acknowledge();
}

/* Does what an agent does in one second. */
static inline void go_on(void)
{
	if (rec.written % PIN_EACH == 1)
		pin_nothing();
	assert_int_equal(store_keep_to(rec.w.s, LIMIT), 0);
	acknowledge();
	fill_frame();
	write_frame(&rec.w);
	rec.written++;
	acknowledge();
	if (!random_below(&rec.random, 6))
		read_or_stop();
	if (rec.written % OF_SEGMENT)
		return;
	end_segment(&rec.w);
	assert_int_equal(store_seal(rec.w.s, rec.w.place.segment - 1), 0);
	acknowledge();
}

static inline void weaken(const char *mode)
{
	if (mode)
		assert_int_equal(store_exec(rec.w.s, mode, "weaken"), 0);
}

static inline void next_agent(const char *mode)
{
	store_close(rec.w.s);
	rec.w.s = open_store(getpid());
	weaken(mode);
	assert_int_equal(store_seal_rest(rec.w.s), 0);
	assert_int_equal(store_next_segment(rec.w.s, &rec.w.place.segment), 0);
	rec.w.place.sequence = 0;
	numbering_begin(&rec.w.n);
	acknowledge();
}

static inline void record(const char *mode, enum disk_fault fault)
{
	empty(NULL);
	disk_record(dir, fault);
	acknowledge_none();
	begin(&rec.w, 1);
	weaken(mode);
	acknowledge();
	while (rec.written < FRAMES) {
		go_on();
		if (rec.written % REOPEN == 0)
			next_agent(mode);
	}
	disk.root = NULL;
	rec.truth = lines_of(rec.w.p);
	assert_int_equal(rec.truth.list.n, rec.upto[FRAMES]);
	keep_columns();
}

static inline void forget(void)
{
	lines_fini(&rec.truth);
	str_fini(&rec.spare);
	vec_fini(&rec.acks);
	store_close(rec.reader);
	end(&rec.w);
	rec = (struct recorded){.random = 1};
}

#endif
