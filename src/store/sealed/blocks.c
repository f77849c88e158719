/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads blocks of sealed segments and of coarser tiers (sums over ten minutes, hours, six hours and
 * days, and parts) into a profile. Blocks whose names belong to one epoch (the time for which a
 * name keeps its number) are read together.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "store/internal.h"

/* The state of answering one query from blocks. */
struct answer {
	struct store *s;
	const struct store_choice *choice;
	const struct store_query *q;
	struct profile *p;
	/*
	 * the epoch (the time for which a name keeps its number) whose names the last block used;
	 * 0: no block was read
	 */
	uint64_t epoch;
	struct restoring *restoring;
};

static void answer_fini(struct answer *a)
{
	restore_end(a->restoring);
	a->restoring = NULL;
}

void store_forget_names(struct store *s)
{
	batch_fini(&s->cache.b);
	s->cache = (struct store_cache){};
}

/*
 * Reads those names of the epoch (the time for which a name keeps its number) that aren't in the
 * cache yet, row by row. Stops at the first row that is missing or damaged.
 */
static int read_names(struct store *s)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct store_cache *c = &s->cache;
	int r = store_prepare(s, STORE_ROW " FROM names WHERE id >= ? AND id < ? ORDER BY id",
			      &stmt);
	int rc = SQLITE_DONE;

	if (r)
		return r;
	batch_forget_block(&c->b);
	sqlite3_bind_int64(stmt, 1, STORE_FRAME(c->epoch, c->rows));
	sqlite3_bind_int64(stmt, 2, STORE_FRAME(c->epoch + 1, 0));
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_row row;

		store_take_row(stmt, &row);
		row.place.segment = c->epoch;
		row.place.sequence = c->rows++;
		r = store_add_row(&c->b, &row);
	}
	if (r > 0)
		log_warn("%s", err_msg());
	return r < 0 ? r : store_error(s, rc, "read");
}

static int begin_epoch(struct answer *a, uint64_t epoch)
{
	struct store_cache *c = &a->s->cache;
	int r;

	if (a->epoch == epoch)
		return 0;
	answer_fini(a);
	a->epoch = epoch;
	if (c->epoch != epoch)
		store_forget_names(a->s);
	c->epoch = epoch;
	r = read_names(a->s);
	r = r ? r : restore_begin(&c->b, a->q, a->p, &a->restoring);
	if (r != -EBADMSG)
		return r;
	/*
	 * the names contradict each other, so the query goes on without them, and blocks that need
	 * them count as damaged
	 */
	answer_fini(a);
	store_forget_names(a->s);
	log_warn("%s", err_msg());
	return restore_begin(&c->b, a->q, a->p, &a->restoring);
}

/*
 * Adds the samples of one block to the answer. @stmt: a statement whose current row is the block's.
 */
static int add_block(struct answer *a, sqlite3_stmt *stmt)
{
	_cleanup_str_ struct str columns = {};
	struct store_row row;
	const char *service;
	int r;

	store_take_row(stmt, &row);
	service = (const char *)sqlite3_column_text(stmt, 5);
	row.place.segment = (uint64_t)sqlite3_column_int64(stmt, 0);
	row.place.sequence = store_service_hash(service ? service : "");
	r = begin_epoch(a, (uint64_t)sqlite3_column_int64(stmt, 6));
	if (r)
		return r;
	r = blob_unpack(&row.place, row.blob, row.n, &columns);
	r = r ? r : batch_decode_block(&a->s->cache.b, columns.s, columns.n);
	r = r ? r : restore_block(a->restoring);
	if (r != -EBADMSG)
		return r;
	store_tell_damage(&row.place);
	store_leave_out(a->p);
	return 0;
}

static bool is_service(const struct profile_label_text *l)
{
	return l->key_len == strlen(STORE_SERVICE_KEY) &&
	       !memcmp(l->key, STORE_SERVICE_KEY, l->key_len);
}

/*
 * Sorts blocks such that those which share names are read together, and among these the blocks of
 * one service.
 */
#define ORDER " ORDER BY epoch, service, id"

/*
 * Adds conditions to @sql that select the blocks which the caller chose, of the services which the
 * query names, and the blocks that several services share.
 */
static void add_services(const struct answer *a, struct str *sql)
{
	const struct store_query *q = a->q;
	bool any = false;

	if (a->choice->where)
		str_addf(sql, " AND %s", a->choice->where);
	if (a->choice->service) {
		str_add(sql, " AND service = ?" ORDER);
		return;
	}

	for (size_t i = 0; i < q->n_labels; i++) {
		if (!is_service(&q->labels[i]))
			continue;
		str_add(sql, any ? ",?" : " AND service IN ('',?");
		any = true;
	}
	str_add(sql, any ? ")" ORDER : ORDER);
}

static void bind_services(const struct answer *a, sqlite3_stmt *stmt)
{
	const struct store_query *q = a->q;
	int at = 4;

	if (a->choice->service) {
		sqlite3_bind_text(stmt, at, a->choice->service, -1, SQLITE_STATIC);
		return;
	}

	for (size_t i = 0; i < q->n_labels && at <= sqlite3_bind_parameter_count(stmt); i++)
		if (is_service(&q->labels[i]))
			sqlite3_bind_text(stmt, at++, q->labels[i].value, -1, SQLITE_STATIC);
}

struct ids {
	VEC(sqlite3_int64) list;
};

static void ids_fini(struct ids *ids)
{
	vec_fini(&ids->list);
}

/*
 * Lists the ids of the blocks that the query needs. Only their ids are sorted, because SQLite would
 * copy whole blocks to sort them.
 */
static int list_blocks(const struct answer *a, struct ids *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	_cleanup_str_ struct str sql = {};
	int r, rc = SQLITE_DONE;

	str_add(&sql, "SELECT id FROM block WHERE tier = ? AND last_ms >= ? AND first_ms < ?");
	add_services(a, &sql);
	r = sql.failed ? err_nomem() : store_prepare(a->s, sql.s, &stmt);
	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, a->choice->tier);
	sqlite3_bind_int64(stmt, 2, a->q->since_ms);
	sqlite3_bind_int64(stmt, 3, a->q->until_ms);
	bind_services(a, stmt);
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		if (vec_push(&ret->list, sqlite3_column_int64(stmt, 0)))
			r = err_nomem();
	return r ? r : store_error(a->s, rc, "read");
}

static int add_blocks(struct answer *a)
{
	_cleanup_(ids_fini) struct ids ids = {};
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = list_blocks(a, &ids);

	r = r ? r
	      : store_prepare(a->s, STORE_ROW ", service, epoch FROM block WHERE id = ?", &stmt);
	for (size_t i = 0; !r && i < ids.list.n; i++) {
		int rc;

		sqlite3_bind_int64(stmt, 1, ids.list.v[i]);
		rc = sqlite3_step(stmt);
		r = rc == SQLITE_ROW ? add_block(a, stmt) : store_error(a->s, rc, "read");
		sqlite3_reset(stmt);
	}
	return r;
}

int store_read_blocks(struct store *s, const struct store_choice *choice,
		      const struct store_query *q, struct profile *p)
{
	struct store_query of_tier = *q;
	_cleanup_(answer_fini) struct answer a = {.s = s, .choice = choice, .q = &of_tier, .p = p};

	of_tier.sums = choice->tier != STORE_EXACT;
	return store_has_blocks(s) && q->since_ms < q->until_ms ? add_blocks(&a) : 0;
}
