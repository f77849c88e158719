/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the sums of totals.h in one row of the store, which is rewritten whenever a segment is
 * sealed.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "store/internal.h"

/* the row's id in table block; no real block has this id, because segments are numbered from 1 */
#define TOTALS_ID 0
#define SELECT	  "SELECT body FROM block WHERE id = 0 AND tier = ?"
#define REPLACE                                                                                    \
	"INSERT OR REPLACE INTO block (id, first_ms, last_ms, samples, body, tier, service, "      \
	"epoch) VALUES (?,?,?,?,?,?,'',0)"

static const struct blob_place totals_place = {};

static int take(const struct store *s, const void *blob, size_t n, struct totals *ret)
{
	_cleanup_str_ struct str text = {};
	int r = blob_unpack(&totals_place, blob, n, &text);

	r = r ? r : totals_read(ret, str_cstr(&text));
	if (r != -EBADMSG)
		return r;
	log_warn("the sums of services in %s are damaged; they are counted from 0 again", s->dir);
	totals_fini(ret);
	*ret = (struct totals){};
	return 0;
}

int store_sealed_totals(struct store *s, struct totals *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_has_blocks(s) ? store_prepare(s, SELECT, &stmt) : 1, rc;

	if (r)
		return MIN(r, 0);
	sqlite3_bind_int64(stmt, 1, STORE_TOTALS);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		return take(s, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0),
			    ret);
	return store_error(s, rc, "read");
}

int store_write_totals(struct store *s, const struct totals *t)
{
	_cleanup_str_ struct str text = {}, blob = {};
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r;

	totals_write(t, &text);
	if (text.failed)
		return err_nomem();
	r = blob_pack(&totals_place, str_cstr(&text), text.n, BLOB_FAST, &blob);
	r = r ? r : store_prepare(s, REPLACE, &stmt);
	if (r)
		return r;
	store_bind_row(stmt, TOTALS_ID, &totals_place, &blob);
	sqlite3_bind_int64(stmt, 6, STORE_TOTALS);
	return store_error(s, sqlite3_step(stmt), "write");
}

static bool is_in(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (streq(names[i], name))
			return true;
	return false;
}

/*
 * Removes the functions that the user doesn't name any more, to make room for those that he names
 * now.
 */
static void forget_others(struct totals *t, const char *const *names, size_t n)
{
	size_t kept = 0;

	vec_foreach(total, &t->list) {
		if (total->kind == TOTAL_FUNCTION && !is_in(names, n, total->name))
			free(total->name);
		else
			t->list.v[kept++] = *total;
	}
	t->list.n = kept;
}

int store_count_functions(struct store *s, const char *const *names, size_t n)
{
	_cleanup_(totals_fini) struct totals t = {};
	int r = store_sealed_totals(s, &t);

	if (r)
		return r;
	forget_others(&t, names, n);
	for (size_t i = 0; i < n; i++)
		if (!totals_get(&t, TOTAL_FUNCTION, names[i]))
			return n > TOTALS_FUNCTIONS ? -E2BIG : -ENOMEM;
	return store_write_totals(s, &t);
}

static int add_segment(struct store *s, uint64_t segment, struct totals *t)
{
	__attribute__((cleanup(batch_fini))) struct batch b = {};
	struct blob_place place;
	int r = store_read_frames(s, segment, &b, &place);

	/* damaged frames of the segment aren't counted; sealing leaves them out too */
	return r < 0 ? r : totals_add(t, &b);
}

static int add_unsealed(struct store *s, struct totals *t)
{
	uint64_t segment = 0;
	int r;

	while ((r = store_next_unsealed(s, &segment)) > 0) {
		r = add_segment(s, segment++, t);
		if (r)
			break;
	}
	return r;
}

int store_totals(struct store *s, struct totals *ret)
{
	int r = store_exec(s, "BEGIN", "read");

	r = r ? r : store_sealed_totals(s, ret);
	r = r ? r : add_unsealed(s, ret);
	store_end_reading(s);
	return r;
}
