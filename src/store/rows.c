/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes frames, describes the store's contents, and keeps the store within its size; see store.h.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "store/internal.h"

#define INSERT_FRAME "INSERT INTO frame (id, first_ms, last_ms, samples, body) VALUES (?,?,?,?,?)"
/*
 * How many bytes SQLite's write-ahead log may take beside the database while a segment is sealed.
 */
#define LOG_BYTES ((uint64_t)12 << 20)
/* how many ms krait waits for other processes' transactions to end when the log is full */
#define READER_MS 100

int store_next_segment(struct store *s, uint64_t *ret)
{
	int64_t old, sealed, unsealed, parts, newest;
	int r = store_number(s, "SELECT max(id) FROM segment", &old);

	r = r ? r : store_number(s, "SELECT max(id) FROM block WHERE tier = 0", &sealed);
	r = r ? r : store_number(s, "SELECT max(id) FROM frame", &unsealed);
	/* parts may be left whose samples were removed; they must not become another segment's */
	r = r ? r
	      : store_number(s, "SELECT max(" STORE_PART_SEGMENT ") FROM block WHERE tier = 5",
			     &parts);
	if (r)
		return r;
	newest = MAX(sealed, unsealed) >> STORE_SEQUENCE_BITS;
	newest = MAX(newest, parts);
	*ret = (uint64_t)MAX(old, newest) + 1;
	if (old < 0 || sealed < 0 || unsealed < 0 || *ret >= STORE_MOST_SEGMENT)
		return err_set(
			-EBADMSG,
			"the store in %s is damaged: a row of its database has an impossible id",
			s->dir);
	return 0;
}

int store_next_unsealed(struct store *s, uint64_t *segment)
{
	char sql[96];
	int64_t id;
	int r;

	snprintf(sql, sizeof(sql), "SELECT min(id) FROM frame WHERE id >= %lld",
		 (long long)STORE_FRAME(*segment, 0));
	r = store_number(s, sql, &id);
	if (r || id <= 0)
		return r;
	*segment = (uint64_t)id >> STORE_SEQUENCE_BITS;
	return 1;
}

int store_tier_end(struct store *s, enum store_tier tier, int64_t *ret)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT max(last_ms) + 1 FROM block WHERE tier = %d", tier);
	return store_number(s, sql, ret);
}

void store_bind_row(sqlite3_stmt *stmt, sqlite3_int64 id, const struct blob_place *place,
		    const struct str *blob)
{
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, place->first_ms);
	sqlite3_bind_int64(stmt, 3, place->last_ms);
	sqlite3_bind_int64(stmt, 4, place->samples);
	sqlite3_bind_blob64(stmt, 5, blob->s, blob->n, SQLITE_STATIC);
}

uint32_t store_service_hash(const char *service)
{
	return (uint32_t)XXH3_64bits(service, strlen(service));
}

int store_append(struct store *s, const struct blob_place *place, const void *columns, size_t n)
{
	_cleanup_str_ struct str blob = {};
	sqlite3_stmt *stmt;
	int r;

	if (place->segment >= STORE_MOST_SEGMENT || place->sequence >> STORE_SEQUENCE_BITS)
		return err_set(-ERANGE,
			       "the store in %s has no numbers left for further frames (a second's "
			       "samples each)",
			       s->dir);
	r = blob_pack(place, columns, n, BLOB_FAST, &blob);
	r = r ? r : store_prepare_kept(s, KEPT_APPEND, INSERT_FRAME, &stmt);
	if (r)
		return r;
	store_bind_row(stmt, STORE_FRAME(place->segment, place->sequence), place, &blob);
	r = store_error(s, sqlite3_step(stmt), "write");
	sqlite3_reset(stmt);
	return r;
}

int store_remove_frames(struct store *s, uint64_t segment)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "DELETE FROM frame WHERE id >= %lld AND id < %lld",
		 (long long)STORE_FRAME(segment, 0), (long long)STORE_FRAME(segment + 1, 0));
	return store_exec(s, sql, "write");
}

static void add_file(const struct store *s, const char *name, uint64_t *bytes)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (!store_file_path(s, name, &path) && !stat(path, &st))
		*bytes += (uint64_t)st.st_blocks * 512;
}

int store_bound_log(struct store *s)
{
	uint64_t bytes = 0;

	add_file(s, STORE_FILE "-wal", &bytes);
	if (bytes <= LOG_BYTES)
		return 0;
	sqlite3_busy_timeout(s->db, READER_MS);
	(void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
	bytes = 0;
	add_file(s, STORE_FILE "-wal", &bytes);
	if (bytes <= LOG_BYTES)
		return 0;
	return err_set(-ENOSPC,
		       "another process has read the store in %s for so long that its log has no "
		       "room left",
		       s->dir);
}

static int kept_number(struct store *s, enum store_kept which, const char *sql, int64_t *ret)
{
	sqlite3_stmt *stmt;
	int r = store_prepare_kept(s, which, sql, &stmt), rc;

	if (r)
		return r;
	rc = sqlite3_step(stmt);
	*ret = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
	sqlite3_reset(stmt);
	return store_error(s, rc, "read");
}

/*
 * Sets *ret to the bytes of the database that are in use, and *all to its whole size. SQLite uses
 * freed pages again.
 */
static int used_bytes(struct store *s, uint64_t *ret, uint64_t *all)
{
	int64_t pages, free_pages, size;
	int r = kept_number(s, KEPT_PAGES, "PRAGMA page_count", &pages);

	r = r ? r : kept_number(s, KEPT_FREE_PAGES, "PRAGMA freelist_count", &free_pages);
	r = r ? r : kept_number(s, KEPT_PAGE_SIZE, "PRAGMA page_size", &size);
	*ret = r ? 0 : (uint64_t)((pages - free_pages) * size);
	*all = r ? 0 : (uint64_t)(pages * size);
	return r;
}

#define OLDEST                                                                                     \
	"(SELECT id >> 20 FROM block WHERE tier = 0 AND NOT " STORE_PINNED " ORDER BY id LIMIT 1)"

/*
 * What is removed when the store is full: the statements are tried in this order until one removes
 * something. Each removes the oldest rows of its kind.
 */
static const char *const removals[] = {
	"DELETE FROM segment WHERE id = (SELECT min(id) FROM segment)",
	/*
	 * removes the exact blocks of the oldest segment, except pinned ones, and its parts; the
	 * segment's number is the id without the lowest STORE_SEQUENCE_BITS
	 */
	("DELETE FROM block WHERE (tier = 0 AND id >> 20 = " OLDEST " AND NOT " STORE_PINNED
	 ") OR (tier = 5 AND " STORE_PART_SEGMENT " = " OLDEST ")"),
	"DELETE FROM block WHERE tier = 1 AND last_ms = "
	"(SELECT min(last_ms) FROM block WHERE tier = 1)",
	/*
	 * removes the oldest blocks of hours; a block of six hours or a day is removed with the
	 * last of its hours
	 */
	"DELETE FROM block WHERE tier IN (2, 3, 4) AND last_ms <= "
	"(SELECT min(last_ms) FROM block WHERE tier = 2)",
};
#define REMOVE_PIN   "DELETE FROM pin WHERE id = (SELECT min(id) FROM pin)"
#define REMOVE_FRAME "DELETE FROM frame WHERE id = (SELECT min(id) FROM frame)"

int store_remove_names(struct store *s)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "DELETE FROM names WHERE id >> 20 NOT IN (SELECT epoch FROM block) "
		 "AND id >> 20 NOT IN (%lld, %lld, %lld)",
		 (long long)s->names.epoch, (long long)s->outline.epoch, (long long)s->parts.epoch);
	return store_exec(s, sql, "make room");
}

static int remove_rows(struct store *s, const char *sql, bool *removed)
{
	int r = store_exec(s, sql, "make room");

	*removed = sqlite3_changes(s->db) > 0;
	return r;
}

/*
 * Removes the oldest pin (a window of time whose samples are kept). Then its samples may be removed
 * too.
 */
static int give_up_pin(struct store *s, bool *removed)
{
	_cleanup_(pins_fini) struct pins pins = {};
	int r = store_read_pins(s, &pins);

	if (!r && pins.list.n)
		log_warn("window %lld (%s: %s) is no longer pinned: the store has no room for its "
			 "samples",
			 (long long)pins.list.v[0].id, pins.list.v[0].cause, pins.list.v[0].words);
	return r ? r : remove_rows(s, REMOVE_PIN, removed);
}

static int remove_oldest(struct store *s, bool *removed)
{
	int r = 0;

	*removed = false;
	for (size_t i = 0; !r && !*removed && i < ARRAY_SIZE(removals); i++)
		r = remove_rows(s, removals[i], removed);
	if (!r && !*removed)
		r = give_up_pin(s, removed);
	if (!r && !*removed)
		r = remove_rows(s, REMOVE_FRAME, removed);
	return r ? r : store_remove_names(s);
}

/*
 * Sets *ret to the bytes that pins keep: those of pinned blocks, and of their names if the epoch of
 * these names (the time for which a name keeps its number) has ended.
 */
static int pinned_bytes(struct store *s, int64_t *ret)
{
	char sql[640];

	snprintf(sql, sizeof(sql),
		 "SELECT ifnull(sum(length(body)), 0) + "
		 "(SELECT ifnull(sum(length(body)), 0) FROM names WHERE id >> 20 != %lld AND "
		 "id >> 20 IN (SELECT epoch FROM block WHERE tier = 0 AND " STORE_PINNED ")) "
		 "FROM block WHERE tier = 0 AND " STORE_PINNED,
		 (long long)s->names.epoch);
	return store_number(s, sql, ret);
}

/*
 * Removes pinned windows until the samples of the others take at most half of the store's limit
 * (@most bytes).
 */
static int bound_pins(struct store *s, uint64_t most)
{
	bool removed = true;
	int64_t bytes;
	int r;

	do {
		r = pinned_bytes(s, &bytes);
		if (r || (uint64_t)bytes <= most / 2)
			return r;
		r = give_up_pin(s, &removed);
	} while (!r && removed);
	return r;
}

/*
 * Ends the epoch of names (the time for which a name keeps its number) if the names take more than
 * a quarter of the store's limit (@most bytes). The names of an ended epoch are removed together
 * with the last block that uses them.
 */
static int end_large_epoch(struct store *s, struct names *names, uint64_t most)
{
	char sql[128];
	int64_t bytes;
	int r;

	if (!names->epoch)
		return 0;
	snprintf(sql, sizeof(sql),
		 "SELECT sum(length(body)) FROM names WHERE id >= %lld AND id < %lld",
		 (long long)STORE_FRAME(names->epoch, 0),
		 (long long)STORE_FRAME(names->epoch + 1, 0));
	r = store_number(s, sql, &bytes);
	if (!r && (uint64_t)bytes > most / 4)
		names_fini(names);
	return r;
}

static int end_large_epochs(struct store *s, uint64_t most)
{
	int r = end_large_epoch(s, &s->names, most);

	r = r ? r : end_large_epoch(s, &s->outline, most);
	return r ? r : end_large_epoch(s, &s->parts, most);
}

int store_keep_to(struct store *s, uint64_t bytes)
{
	uint64_t most = bytes - MIN(bytes, LOG_BYTES), used, all;
	bool removed = true;
	int r = store_bound_log(s) ?: used_bytes(s, &used, &all);

	if (!r && used > most)
		r = end_large_epochs(s, most) ?: bound_pins(s, most);
	while (!r && used > most && removed) {
		r = remove_oldest(s, &removed);
		r = r ? r : used_bytes(s, &used, &all);
	}
	if (!r && all > most)
		r = store_exec(s, "PRAGMA incremental_vacuum(1024)", "make room");
	return r;
}

/* Returns the pid of the process that holds the writer's lock; 0: no process holds it. */
static pid_t writer_of(const struct store *s)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	char pid[24] = "";

	if (store_file_path(s, STORE_LOCK, &path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !flock(fd, LOCK_SH | LOCK_NB))
		return 0;
	return read(fd, pid, sizeof(pid) - 1) > 0 ? (pid_t)strtol(pid, NULL, 10) : 0;
}

static int count(struct store *s, const char *table, uint64_t *rows, struct store_facts *to)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	char sql[128];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT count(*), sum(samples), min(first_ms), max(last_ms) FROM %s", table);
	r = store_prepare(s, sql, &stmt);
	if (r)
		return r;
	r = store_error(s, sqlite3_step(stmt), "read");
	*rows = (uint64_t)sqlite3_column_int64(stmt, 0);
	if (r || !*rows)
		return r;
	to->samples += (uint64_t)sqlite3_column_int64(stmt, 1);
	to->first_ms = to->last_ms < 0 ? sqlite3_column_int64(stmt, 2)
				       : MIN(to->first_ms, sqlite3_column_int64(stmt, 2));
	to->last_ms = MAX(to->last_ms, sqlite3_column_int64(stmt, 3));
	return 0;
}

static int count_blocks(struct store *s, struct store_facts *to)
{
	uint64_t blocks;
	int64_t sealed = 0;
	int r = count(s, "block WHERE tier = 0", &blocks, to);

	r = r ? r
	      : store_number(s, "SELECT count(DISTINCT id >> 20) FROM block WHERE tier = 0",
			     &sealed);
	to->segments += (uint64_t)sealed;
	return r;
}

static int read_facts(struct store *s, struct store_facts *ret)
{
	uint64_t used;
	int r = store_exec(s, "BEGIN", "read");

	r = r ? r : count(s, "segment", &ret->segments, ret);
	if (!r && store_has_blocks(s))
		r = count_blocks(s, ret);
	r = r ? r : count(s, "frame", &ret->frames, ret);
	r = r ? r : used_bytes(s, &used, &ret->free_bytes);
	if (r)
		return r;
	ret->free_bytes -= used;
	add_file(s, STORE_FILE, &ret->bytes);
	add_file(s, STORE_FILE "-wal", &ret->bytes);
	return store_newest_figures(s, ret->figures);
}

int store_facts(struct store *s, struct store_facts *ret)
{
	int r;

	*ret = (struct store_facts){.last_ms = -1, .writer = writer_of(s)};
	r = read_facts(s, ret);
	store_end_reading(s);
	return r;
}
