/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the table of pins (windows of time whose samples are kept), and writes and reads pins as
 * text; see pins.h.
 */
#include "store/pins/pins.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "base/text/utf8.h"
#include "base/text/visible.h"
#include "store/internal.h"

#define EXTEND                                                                                     \
	"UPDATE pin SET until_ms = max(until_ms, ?) WHERE since_ms = ? AND cause = ? AND words = " \
	"?"
/*
 * Inserts a pinned window with a new number. Windows that were removed count too, so that no number
 * is given twice.
 */
#define INSERT                                                                                     \
	"INSERT INTO pin (until_ms, since_ms, cause, words, made_ms, id) VALUES (?,?,?,?,?, "      \
	"1 + max((SELECT ifnull(max(id), 0) FROM pin), "                                           \
	"(SELECT ifnull(sum(times), 0) FROM fired)))"
#define COUNT	    "UPDATE fired SET times = times + 1 WHERE cause = ?"
#define COUNT_FIRST "INSERT INTO fired (cause, times) VALUES (?, 1)"

void pins_fini(struct pins *p)
{
	vec_fini(&p->list);
	vec_fini(&p->counts);
}

/*
 * Copies text of a file or a user into @to, a buffer of @size bytes. What doesn't fit is cut off.
 */
static int copy_clean(const char *text, size_t n, char *to, size_t size)
{
	_cleanup_str_ struct str clean = {};

	utf8_clean(&clean, text, n);
	if (clean.failed)
		return err_nomem();
	if (clean.n)
		visible_in_place(clean.s);
	n = utf8_valid(str_cstr(&clean), MIN(strlen(str_cstr(&clean)), size - 1));
	memcpy(to, str_cstr(&clean), n);
	to[n] = '\0';
	return 0;
}

int pin_words(const char *text, size_t n, char ret[PIN_WORDS_BYTES])
{
	if (n >= PIN_WORDS_BYTES)
		return err_set(-EINVAL, "a mark may have %d bytes at most", PIN_WORDS_BYTES - 1);
	if (strspn(text, " \t\r\n") >= n)
		return err_set(-EINVAL, "a mark needs words that say what it is for");
	return copy_clean(text, n, ret, PIN_WORDS_BYTES);
}

static int step(struct store *s, sqlite3_stmt *stmt)
{
	return store_error(s, sqlite3_step(stmt), "write");
}

/*
 * Executes an SQL statement about a pinned window. *changed: how many rows the statement changed.
 */
static int change_pin(struct store *s, const char *sql, const struct pin *p, int *changed)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, sql, &stmt);

	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, p->until_ms);
	sqlite3_bind_int64(stmt, 2, p->since_ms);
	sqlite3_bind_text(stmt, 3, p->cause, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 4, p->words, -1, SQLITE_STATIC);
	if (sqlite3_bind_parameter_count(stmt) > 4)
		sqlite3_bind_int64(stmt, 5, p->made_ms);
	r = step(s, stmt);
	*changed = sqlite3_changes(s->db);
	return r;
}

static int change_count(struct store *s, const char *sql, const char *cause, int *changed)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, sql, &stmt);

	if (r)
		return r;
	sqlite3_bind_text(stmt, 1, cause, -1, SQLITE_STATIC);
	r = step(s, stmt);
	*changed = sqlite3_changes(s->db);
	return r;
}

static int insert(struct store *s, const struct pin *p)
{
	char sql[96];
	int changed, r = change_pin(s, INSERT, p, &changed);

	r = r ? r : change_count(s, COUNT, p->cause, &changed);
	if (!r && !changed)
		r = change_count(s, COUNT_FIRST, p->cause, &changed);
	snprintf(sql, sizeof(sql),
		 "DELETE FROM pin WHERE id NOT IN (SELECT id FROM pin ORDER BY id DESC LIMIT %d)",
		 PINS_MOST);
	return r ? r : store_exec(s, sql, "write");
}

int store_add_pin(struct store *s, const struct pin *p)
{
	int changed, r = store_bound_log(s);

	r = r ? r : store_exec(s, "BEGIN IMMEDIATE", "write");
	r = r ? r : change_pin(s, EXTEND, p, &changed);
	if (!r && !changed)
		r = insert(s, p);
	r = r ? r : store_exec(s, "COMMIT", "write");
	return store_undo(s, r);
}

static int take_text(sqlite3_stmt *stmt, int column, char *to, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return copy_clean(text ? text : "", text ? strlen(text) : 0, to, size);
}

static bool is_window(const struct pin *p)
{
	return p->id > 0 && p->since_ms >= 0 && p->since_ms < p->until_ms && p->until_ms <= MOST_MS;
}

static int add(struct pins *to, const struct pin *p)
{
	/* a pinned window is left out if its row is damaged */
	if (!is_window(p) || to->list.n >= PINS_MOST)
		return 0;
	return vec_push(&to->list, *p) ? err_nomem() : 0;
}

static int read_list(struct store *s, struct pins *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s,
			      "SELECT id, since_ms, until_ms, made_ms, cause, words FROM pin "
			      "ORDER BY id",
			      &stmt);
	int rc = SQLITE_DONE;

	if (r)
		return r;
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct pin p = {.id = sqlite3_column_int64(stmt, 0),
				.since_ms = sqlite3_column_int64(stmt, 1),
				.until_ms = sqlite3_column_int64(stmt, 2),
				.made_ms = sqlite3_column_int64(stmt, 3)};

		r = take_text(stmt, 4, p.cause, sizeof(p.cause));
		r = r ? r : take_text(stmt, 5, p.words, sizeof(p.words));
		r = r ? r : add(ret, &p);
	}
	return r ? r : store_error(s, rc, "read");
}

static int read_counts(struct store *s, struct pins *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT cause, times FROM fired ORDER BY id", &stmt);
	int rc = SQLITE_DONE;

	if (r)
		return r;
	while (!r && ret->counts.n < PIN_CAUSES && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct pin_count c = {.times = sqlite3_column_int64(stmt, 1)};

		r = take_text(stmt, 0, c.cause, sizeof(c.cause));
		if (!r && vec_push(&ret->counts, c))
			r = err_nomem();
	}
	return r ? r : store_error(s, rc, "read");
}

int store_read_pins(struct store *s, struct pins *ret)
{
	int r = store_has_pins(s) ? read_list(s, ret) : 1;

	return r > 0 ? 0 : r ? r : read_counts(s, ret);
}

const struct pin *pins_find(const struct pins *p, int64_t id, const char *words)
{
	const struct pin *found = NULL;

	vec_foreach(pin, &p->list)
		if (id ? pin->id == id
		       : streq(pin->cause, PIN_BY_MARK) && strstr(pin->words, words))
			found = pin;
	if (!found && id)
		err_set(-ENOENT,
			"no pinned window has the number %lld; krait agent status lists the pinned "
			"windows",
			(long long)id);
	else if (!found)
		err_set(-ENOENT,
			"no mark has '%s' in its words; krait agent status lists the marks", words);
	return found;
}

void pins_write(const struct pins *p, struct str *ret)
{
	vec_foreach(pin, &p->list)
		str_addf(ret, "%lld %lld %lld %lld %s %s\n", (long long)pin->id,
			 (long long)pin->since_ms, (long long)pin->until_ms,
			 (long long)pin->made_ms, pin->cause, pin->words);
}

static int read_line(struct pins *p, const char *line, size_t n)
{
	struct pin pin = {};
	long long v[4];
	int cause = 0, words = 0, r;
	char text[512];

	snprintf(text, sizeof(text), "%.*s", (int)MIN(n, sizeof(text) - 1), line);
	if (sscanf(text, "%lld %lld %lld %lld %n%*s %n", &v[0], &v[1], &v[2], &v[3], &cause,
		   &words) != 4 ||
	    !words)
		return err_set(-EBADMSG, "the server's answer isn't a list of pins");
	pin = (struct pin){.id = v[0], .since_ms = v[1], .until_ms = v[2], .made_ms = v[3]};
	r = copy_clean(text + cause, strcspn(text + cause, " "), pin.cause, sizeof(pin.cause));
	r = r ? r : copy_clean(text + words, strlen(text + words), pin.words, sizeof(pin.words));
	return r ? r : add(p, &pin);
}

int pins_read(struct pins *p, const char *text)
{
	int r = 0;

	for (size_t n; !r && *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		r = read_line(p, text, n);
	}
	return r;
}
