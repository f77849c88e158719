/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies what a store has of a window of time into a new store, row by row. Rows keep their
 * numbers, which their checksums and names refer to. Blocks and segments are copied whole, so the
 * copy may also have some of the time before and after the window.
 */
#include <assert.h>
#include <unistd.h>

#include "base/error.h"
#include "store/internal.h"

#define IN_WINDOW "last_ms >= ?1 AND first_ms < ?2"
/*
 * SQL on a row's id: the number of a frame's segment, or, for a row of names, the number of its
 * epoch (the time for which a name keeps its number)
 */
#define SEGMENT "id >> 20"
static_assert(STORE_SEQUENCE_BITS == 20, "the SQL above has this number in it");

/*
 * The tables in the order in which they are copied, with a condition that says which of their rows
 * are copied.
 */
static const struct {
	const char *table, *where;
	int since; /* the format of the store in which the table was added */
} parts[] = {
	/* a frame can only be read together with the earlier frames of its segment */
	{"frame", SEGMENT " IN (SELECT " SEGMENT " FROM frame WHERE " IN_WINDOW ")", 1},
	{"segment", IN_WINDOW, 1},
	{"names", SEGMENT " IN (SELECT epoch FROM block WHERE tier < 100 AND " IN_WINDOW ")", 2},
	{"block", "tier < 100 AND " IN_WINDOW, 2},
	{"pin", "until_ms > ?1 AND since_ms < ?2", 3},
};
static_assert(STORE_TOTALS == 100, "the SQL above has this number in it");

struct copy {
	struct store *from, *to;
	int64_t since_ms, until_ms;
};

/* Inserts each row that the statement @rows selects into the new store. */
static int copy_rows(struct copy *c, sqlite3_stmt *rows, sqlite3_stmt *insert)
{
	int columns = sqlite3_column_count(rows), rc, r = 0;

	while (!r && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
		for (int i = 0; !r && i < columns; i++)
			r = store_error(
				c->to,
				sqlite3_bind_value(insert, i + 1, sqlite3_column_value(rows, i)),
				"write");
		r = r ? r : store_error(c->to, sqlite3_step(insert), "write");
		sqlite3_reset(insert);
	}
	return r ? r : store_error(c->from, rc, "read");
}

static int copy_part(struct copy *c, size_t part)
{
	static const char marks[] = "?,?,?,?,?,?,?,?";
	_cleanup_stmt_ sqlite3_stmt *rows = NULL, *insert = NULL;
	char sql[256];
	int r;

	if (c->from->version < parts[part].since)
		return 0;
	snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE %s", parts[part].table,
		 parts[part].where);
	r = store_prepare(c->from, sql, &rows);
	if (r)
		return r;
	snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (%.*s)", parts[part].table,
		 2 * sqlite3_column_count(rows) - 1, marks);
	r = store_prepare(c->to, sql, &insert);
	if (r)
		return r;
	sqlite3_bind_int64(rows, 1, c->since_ms);
	sqlite3_bind_int64(rows, 2, c->until_ms);
	return copy_rows(c, rows, insert);
}

/*
 * Copies the tables, in one transaction of each store, because an agent may seal segments of the
 * old store meanwhile.
 */
static int copy_parts(struct copy *c)
{
	int r = store_exec(c->from, "BEGIN", "read");

	r = r ? r : store_exec(c->to, "BEGIN IMMEDIATE", "write");
	for (size_t i = 0; !r && i < ARRAY_SIZE(parts); i++)
		r = copy_part(c, i);
	r = r ? r : store_exec(c->to, "COMMIT", "write");
	store_end_reading(c->from);
	return store_undo(c->to, r);
}

static int check_empty(struct store *to)
{
	struct store_facts f;
	int r = store_facts(to, &f);

	if (!r && f.segments + f.frames)
		return err_set(-EEXIST, "%s has a store already; choose another directory",
			       to->dir);
	return r;
}

int store_copy(struct store *from, const char *dir, int64_t since_ms, int64_t until_ms,
	       struct store_facts *ret)
{
	struct copy c = {.from = from, .since_ms = since_ms, .until_ms = until_ms};
	int r = store_open(dir, getpid(), &c.to);

	if (r)
		return r;
	r = check_empty(c.to);
	r = r ? r : copy_parts(&c);
	/* empties SQLite's write-ahead log, so that one file has everything */
	r = r ? r : store_exec(c.to, "PRAGMA wal_checkpoint(TRUNCATE)", "write");
	r = r ? r : store_facts(c.to, ret);
	store_close(c.to);
	return r;
}
