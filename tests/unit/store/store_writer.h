/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a store in a temporary directory, and fills it as an agent does: with frames (a second of
 * samples each), and then with sealed segments (whose frames were turned into blocks).
 */
#ifndef TESTS_UNIT_STORE_STORE_WRITER_H
#define TESTS_UNIT_STORE_STORE_WRITER_H

#include "store_profile.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "store/numbering.h"
#include "store/store.h"

static char dir[] = "/tmp/krait-store-XXXXXX";

static inline void run(const char *format, ...)
{
	char words[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	assert_int_equal(system(words), 0);
}

static inline int empty(void **state)
{
	run("rm -rf %s/s", dir);
	return 0;
}

/* Runs the tests in a new temporary directory `dir`, which is removed afterwards. */
#define run_in_directory(tests)                                                                    \
	({                                                                                         \
		int _failed = 1;                                                                   \
		if (mkdtemp(dir)) {                                                                \
			_failed = cmocka_run_group_tests(tests, NULL, NULL);                       \
			run("rm -rf %s", dir);                                                     \
		}                                                                                  \
		_failed;                                                                           \
	})

static inline const char *store_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/s", dir);
	return path;
}

/*
 * Opens the store's database with SQLite, while the store may be open. The caller calls
 * sqlite3_close().
 */
static inline sqlite3 *open_database(void)
{
	char path[80];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/store.db", store_path());
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	return db;
}

/* Executes SQL statements on the store's database. */
static inline void sql(const char *words)
{
	sqlite3 *db = open_database();

	assert_int_equal(sqlite3_exec(db, words, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static inline struct store *open_store_at(const char *path, pid_t owner)
{
	struct store *s = NULL;
	int r = store_open(path, owner, &s);

	if (r)
		print_message("%s\n", err_msg());
	assert_int_equal(r, 0);
	return s;
}

static inline struct store *open_store(pid_t owner)
{
	return open_store_at(store_path(), owner);
}

/*
 * State of a test that does what an agent does: takes samples, writes frames (batches of samples),
 * seals segments (turns their frames into blocks).
 */
struct writer {
	struct store *s;
	struct numbering n;
	struct profile *p;
	struct blob_place place;
	uint32_t random;
};

static inline void begin(struct writer *w, uint32_t seed)
{
	*w = (struct writer){.s = open_store(getpid()), .p = new_profile(), .random = seed};
	assert_int_equal(store_next_segment(w->s, &w->place.segment), 0);
	w->place.first_ms = w->place.last_ms = BEGIN_MS;
}

static inline void add_sample(struct writer *w, const struct profile_sample *s)
{
	int64_t ms = BEGIN_MS + s->time_ns / (int64_t)NSEC_PER_MSEC;

	assert_int_equal(profile_add(w->p, s), 0);
	assert_int_equal(numbering_add(&w->n, w->p, s, ms), 0);
	w->place.samples++;
	w->place.last_ms = MAX(w->place.last_ms, ms);
}

static inline void add_samples(struct writer *w, unsigned n)
{
	while (n--) {
		struct profile_sample s = random_sample(w->p, &w->random);

		add_sample(w, &s);
	}
}

static inline void write_frame(struct writer *w)
{
	_cleanup_str_ struct str columns = {};

	assert_int_equal(numbering_end(&w->n, w->p), 0);
	w->n.batch.figures[BATCH_SAMPLES] += w->place.samples;
	assert_int_equal(batch_encode(&w->n.batch, &columns), 0);
	assert_int_equal(store_append(w->s, &w->place, columns.s, columns.n), 0);
	batch_clear(&w->n.batch);
	w->place.sequence++;
	w->place.samples = 0;
	w->place.first_ms = w->place.last_ms = BEGIN_MS;
}

static inline void end_segment(struct writer *w)
{
	numbering_begin(&w->n);
	w->place = (struct blob_place){
		.segment = w->place.segment + 1, .first_ms = BEGIN_MS, .last_ms = BEGIN_MS};
}

static inline void end(struct writer *w)
{
	numbering_fini(&w->n);
	store_close(w->s);
	profile_free(w->p);
}

static const struct store_query all = {.since_ms = BEGIN_MS, .until_ms = BEGIN_MS + 100000};

static inline struct profile *read_at(const char *path, const struct store_query *q)
{
	struct store *s = open_store_at(path, 0);
	struct profile *p = NULL;

	assert_int_equal(store_read(s, q, &p), 0);
	store_close(s);
	return p;
}

static inline struct profile *read_back(const struct store_query *q)
{
	return read_at(store_path(), q);
}

#endif
