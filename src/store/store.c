/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens stores, makes new ones, and says what is wrong with a directory or file that isn't a store;
 * see store.h.
 */
#include "store/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "store/internal.h"

/*
 * How long SQLite's log may become, in pages (2 MiB in all), before SQLite moves the pages into the
 * database.
 */
#define CHECKPOINT "500"

/*
 * The tables of a store, with the SQL text by which SQLite keeps each. A database whose tables have
 * other texts is refused.
 */
static const struct {
	const char *name, *sql;
	int since; /* the format of the store in which the table was added */
} tables[] = {
	{"frame",
	 "CREATE TABLE frame (id INTEGER PRIMARY KEY, first_ms INTEGER NOT NULL, "
	 "last_ms INTEGER NOT NULL, samples INTEGER NOT NULL, body BLOB NOT NULL)",
	 1},
	/*
	 * table of the segments of a store that had format 1; these are still read, and are removed
	 * when they are old
	 */
	{"segment",
	 "CREATE TABLE segment (id INTEGER PRIMARY KEY, first_ms INTEGER NOT NULL, "
	 "last_ms INTEGER NOT NULL, samples INTEGER NOT NULL, frames INTEGER NOT NULL, "
	 "body BLOB NOT NULL)",
	 1},
	{"names",
	 "CREATE TABLE names (id INTEGER PRIMARY KEY, first_ms INTEGER NOT NULL, "
	 "last_ms INTEGER NOT NULL, samples INTEGER NOT NULL, body BLOB NOT NULL)",
	 2},
	{"block",
	 "CREATE TABLE block (id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, "
	 "first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, samples INTEGER NOT NULL, "
	 "service TEXT NOT NULL, epoch INTEGER NOT NULL, body BLOB NOT NULL)",
	 2},
	{"block_by_time",
	 "CREATE INDEX block_by_time ON block (tier, last_ms, first_ms, service, epoch, samples)",
	 2},
	{"pin",
	 "CREATE TABLE pin (id INTEGER PRIMARY KEY, since_ms INTEGER NOT NULL, "
	 "until_ms INTEGER NOT NULL, made_ms INTEGER NOT NULL, cause TEXT NOT NULL, "
	 "words TEXT NOT NULL)",
	 3},
	/* table of how often each cause has pinned a window of time */
	{"fired",
	 "CREATE TABLE fired (id INTEGER PRIMARY KEY, cause TEXT NOT NULL, "
	 "times INTEGER NOT NULL)",
	 3},
};

static int errno_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

int store_error(const struct store *s, int rc, const char *what)
{
	if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
		return 0;
	if (errno_of(rc) == -EBADMSG)
		return err_set(-EBADMSG, "the store in %s is damaged: can't %s: %s", s->dir, what,
			       sqlite3_errstr(rc));
	return err_set(errno_of(rc), "can't %s in %s: %s", what, s->dir, sqlite3_errstr(rc));
}

int store_exec(struct store *s, const char *sql, const char *what)
{
	return store_error(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL), what);
}

int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret)
{
	return store_error(s, sqlite3_prepare_v2(s->db, sql, -1, ret, NULL), "read the tables");
}

int store_prepare_kept(struct store *s, enum store_kept which, const char *sql, sqlite3_stmt **ret)
{
	int r = s->kept[which] ? 0 : store_prepare(s, sql, &s->kept[which]);

	*ret = s->kept[which];
	return r;
}

int store_number(struct store *s, const char *sql, int64_t *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, sql, &stmt), rc;

	*ret = 0;
	if (r)
		return r;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	return store_error(s, rc, "read");
}

int store_undo(struct store *s, int r)
{
	if (r)
		store_end_reading(s);
	return r;
}

void store_end_reading(struct store *s)
{
	if (!sqlite3_get_autocommit(s->db))
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_file_path(const struct store *s, const char *name, char **ret)
{
	return asprintf(ret, "%s/%s", s->dir, name) < 0 ? err_nomem() : 0;
}

/*
 * Checks that nobody else may write to the directory. Another user could put a link there, and
 * krait would write to the file to which the link leads.
 */
static int check_directory(const struct store *s)
{
	struct stat st;

	if (stat(s->dir, &st))
		return err_sys(-errno, "can't read %s", s->dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(-ENOTDIR, "%s isn't a directory", s->dir);
	if (st.st_uid != geteuid())
		return err_set(-EACCES,
			       "%s belongs to another user, so nothing is recorded into it",
			       s->dir);
	if (st.st_mode & 022)
		return err_set(-EACCES,
			       "others can write to %s, so nothing is recorded into it; use "
			       "chmod go-w, or another directory",
			       s->dir);
	return 0;
}

/*
 * Takes the lock that only one writing process can have. The lock's file has this process's id in
 * it, so that the message of a second agent can name the process.
 */
static int lock(struct store *s, pid_t owner)
{
	_cleanup_free_ char *path = NULL;
	char pid[24] = "";
	int r = store_file_path(s, STORE_LOCK, &path);

	if (r)
		return r;
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return err_sys(-errno, "can't write to %s", s->dir);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB)) {
		(void)!pread(s->lock_fd, pid, sizeof(pid) - 1, 0);
		return err_set(-EBUSY,
			       "another krait agent, process %ld, writes to %s; end it first, or "
			       "choose another directory",
			       strtol(pid, NULL, 10), s->dir);
	}
	snprintf(pid, sizeof(pid), "%ld\n", (long)owner);
	if (ftruncate(s->lock_fd, 0) || pwrite(s->lock_fd, pid, strlen(pid), 0) < 0)
		return err_sys(-errno, "can't write to %s", s->dir);
	return 0;
}

static int open_file(struct store *s, const char *path, int flags)
{
	int rc = sqlite3_open_v2(path, &s->db, flags, NULL);
	int r = store_error(s, rc, "open the store");

	if (!s->db)
		return err_nomem();
	if (r)
		return r;
	/*
	 * the file may be damaged or forged: SQLite runs none of its triggers and views, and limits
	 * lengths in it
	 */
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	store_refuse_extensions(s);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, (int)BATCH_MAX_BYTES);
	sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
	return 0;
}

/* Makes the tables that were added in formats later than @version. */
static int make_tables(struct store *s, int64_t version)
{
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(tables); i++)
		if (tables[i].since > version)
			r = store_exec(s, tables[i].sql, "make a store");
	return r;
}

/*
 * Makes an empty store. It gets its final name only when it is complete, so a crash leaves no
 * incomplete store of that name.
 */
static int make(struct store *s, const char *path)
{
	_cleanup_free_ char *unfinished = NULL;
	char header[128];
	int r = store_file_path(s, STORE_FILE ".new", &unfinished);

	if (r)
		return r;
	if (unlink(unfinished) && errno != ENOENT)
		return err_sys(-errno, "can't write to %s", s->dir);
	r = open_file(s, unfinished, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
	snprintf(header, sizeof(header),
		 "PRAGMA auto_vacuum=INCREMENTAL; BEGIN; PRAGMA application_id=%d; "
		 "PRAGMA user_version=%d",
		 STORE_ID, STORE_VERSION);
	r = r ? r : store_exec(s, header, "make a store");
	r = r ? r : make_tables(s, 0);
	r = r ? r : store_exec(s, "COMMIT", "make a store");
	sqlite3_close(TAKE_PTR(s->db));
	if (!r && rename(unfinished, path))
		r = err_sys(-errno, "can't write to %s", s->dir);
	return r;
}

static int check_version(struct store *s)
{
	int64_t id;
	int r = store_number(s, "PRAGMA application_id", &id);

	if (r == -EBADMSG)
		return err_set(r, "%s/%s isn't a store of krait's, and is left as it is", s->dir,
			       STORE_FILE);
	r = r ? r : store_number(s, "PRAGMA user_version", &s->version);
	if (r)
		return r;
	if (id != STORE_ID)
		return err_set(-EBADMSG,
			       "%s/%s is a database of another program, and is left as it is",
			       s->dir, STORE_FILE);
	if (s->version > STORE_VERSION)
		return err_set(-EPROTONOSUPPORT,
			       "the store in %s has format %lld, of a newer krait; this one knows "
			       "format %d",
			       s->dir, (long long)s->version, STORE_VERSION);
	return 0;
}

static bool is_table(const struct store *s, const char *name, const char *sql)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i].since <= s->version && streq(name, tables[i].name) &&
		    streq(sql, tables[i].sql))
			return true;
	return false;
}

static int count_tables(const struct store *s)
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		n += tables[i].since <= s->version;
	return n;
}

/* Checks that the database's tables are exactly those of a store of its format. */
static int check_tables(struct store *s)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT name, sql FROM sqlite_schema", &stmt), rc, n = 0;
	bool all = true;

	if (r)
		return r;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const char *sql = (const char *)sqlite3_column_text(stmt, 1);

		all &= name && sql && is_table(s, name, sql);
		n++;
	}
	r = store_error(s, rc, "read the tables");
	if (!r && (!all || n != count_tables(s)))
		r = err_set(-EBADMSG,
			    "the store in %s is damaged: its tables aren't those of a store",
			    s->dir);
	return r;
}

/* Upgrades a store of an older format to the current one. Its contents stay as they are. */
static int upgrade(struct store *s)
{
	char version[64];
	int r;

	if (s->version == STORE_VERSION)
		return 0;
	snprintf(version, sizeof(version), "PRAGMA user_version=%d", STORE_VERSION);
	r = store_exec(s, "BEGIN IMMEDIATE", "write");
	r = r ? r : make_tables(s, s->version);
	r = r ? r : store_exec(s, version, "write");
	r = r ? r : store_exec(s, "COMMIT", "write");
	s->version = STORE_VERSION;
	return store_undo(s, r);
}

/*
 * Flushes the names in a directory to the disk. Errors are ignored: file systems that can't do it
 * on request (EINVAL) do it by themselves.
 */
static void flush_directory(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		(void)fsync(fd);
}

/*
 * Flushes to the disk the names of the store, of its log and of the directory. An agent may have
 * been killed after it had made these files and before it had flushed them. SQLite only flushes the
 * names of files that it made itself.
 */
static int flush_names(const struct store *s)
{
	_cleanup_free_ char *above = NULL;
	int r = store_file_path(s, "..", &above);

	if (r)
		return r;
	flush_directory(s->dir);
	flush_directory(above);
	return 0;
}

/*
 * Sets up SQLite for writing: a commit returns only once its data is on the disk, and other
 * processes can read during a write.
 */
static int prepare_to_write(struct store *s)
{
	int r;

	if (sqlite3_db_readonly(s->db, "main"))
		return err_set(-EACCES, "%s/%s can't be written", s->dir, STORE_FILE);
	r = store_exec(s,
		       "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
		       "PRAGMA wal_autocheckpoint=" CHECKPOINT
		       "; PRAGMA journal_size_limit=4194304; PRAGMA secure_delete=OFF; "
		       "PRAGMA temp_store=MEMORY",
		       "write");
	return r ? r : upgrade(s);
}

static int open_it(struct store *s, pid_t owner)
{
	_cleanup_free_ char *path = NULL;
	int r = owner && mkdir(s->dir, STORE_MODE) && errno != EEXIST
			? err_sys(-errno, "can't make the directory %s", s->dir)
			: store_file_path(s, STORE_FILE, &path);

	if (!r && owner)
		r = check_directory(s) ?: lock(s, owner);
	if (!r && access(path, F_OK)) {
		if (errno != ENOENT)
			r = err_sys(-errno, "can't read %s", path);
		else
			r = owner ? make(s, path)
				  : err_set(-ENOENT, "no agent has recorded into %s", s->dir);
	}
	r = r ? r : open_file(s, path, owner ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
	r = r ? r : check_version(s);
	r = r ? r : check_tables(s);
	if (r || !owner)
		return r;
	return prepare_to_write(s) ?: flush_names(s);
}

int store_open(const char *dir, pid_t owner, struct store **ret)
{
	struct store *s = calloc(1, sizeof(*s));
	mode_t mask = umask(077);
	int r;

	if (s) {
		s->lock_fd = -1;
		s->dir = strdup(dir);
	}
	r = s && s->dir ? open_it(s, owner) : err_nomem();
	umask(mask);
	if (r) {
		store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < STORE_KEPT; i++)
		sqlite3_finalize(s->kept[i]);
	sqlite3_close(s->db);
	names_fini(&s->names);
	names_fini(&s->outline);
	names_fini(&s->parts);
	store_forget_names(s);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	free(s->dir);
	free(s);
}
