/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads frames and segments: into batches for sealing, into a profile for questions. */
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "store/internal.h"

#define ROWS "SELECT id, first_ms, last_ms, samples, body"

/* Words for damage: what it is, and of which time. Sets the message, and returns 1. */
static int tell_damage(const struct blob_place *at)
{
	char from[32] = "", to[32] = "";
	time_t first = at->first_ms / 1000, last = at->last_ms / 1000;
	struct tm tm;

	if (localtime_r(&first, &tm))
		strftime(from, sizeof(from), "%F %T", &tm);
	if (localtime_r(&last, &tm))
		strftime(to, sizeof(to), "%T", &tm);
	err_wrap(0, "what was recorded from %s to %s is damaged and left out", from, to);
	return 1;
}

static void take_row(sqlite3_stmt *stmt, struct store_row *ret)
{
	*ret = (struct store_row){
		.place = {.first_ms = sqlite3_column_int64(stmt, 1),
			  .last_ms = sqlite3_column_int64(stmt, 2),
			  .samples = (uint32_t)sqlite3_column_int64(stmt, 3)},
		.blob = sqlite3_column_blob(stmt, 4),
		.n = (size_t)sqlite3_column_bytes(stmt, 4),
	};
}

/*
 * Adds what a row holds to @b. 0; 1 + message: it is damaged; -errno + message. If the row's
 * columns contradict themselves although the checksum is right, @b is empty afterwards.
 */
static int add_row(struct batch *b, const struct store_row *row)
{
	_cleanup_str_ struct str columns = {};
	int r = blob_unpack(&row->place, row->blob, row->n, &columns);

	if (r)
		return r == -EBADMSG ? tell_damage(&row->place) : r;
	r = batch_decode(b, columns.s, columns.n);
	if (r) {
		batch_fini(b);
		*b = (struct batch){};
	}
	return r == -EBADMSG ? tell_damage(&row->place) : r;
}

static void count_in(struct blob_place *sum, const struct blob_place *frame)
{
	bool first = !sum->sequence;

	sum->first_ms = first ? frame->first_ms : MIN(sum->first_ms, frame->first_ms);
	sum->last_ms = first ? frame->last_ms : MAX(sum->last_ms, frame->last_ms);
	sum->sequence++;
}

int store_read_frames(struct store *s, uint64_t segment, struct batch *b, struct blob_place *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, ROWS " FROM frame WHERE id >= ? AND id < ? ORDER BY id", &stmt);
	int rc = SQLITE_DONE;

	*ret = (struct blob_place){.segment = segment};
	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, STORE_FRAME(segment, 0));
	sqlite3_bind_int64(stmt, 2, STORE_FRAME(segment + 1, 0));
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_row row;

		take_row(stmt, &row);
		row.place.segment = segment;
		row.place.sequence = ret->sequence;
		if (sqlite3_column_int64(stmt, 0) != STORE_FRAME(segment, ret->sequence)) {
			(void)err_set(-EBADMSG, "a frame before it is missing");
			return tell_damage(&row.place);
		}
		r = add_row(b, &row);
		if (!r)
			count_in(ret, &row.place);
	}
	ret->samples = (uint32_t)b->samples.n;
	return r ? r : store_error(s, rc, "read");
}

/* Reads the figures of the newest row of @table. Damaged ones stay zeros. */
static int newest_of(struct store *s, const char *table, int64_t figures[BATCH_FIGURES])
{
	_cleanup_str_ struct str columns = {};
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	char sql[96];
	int r;

	snprintf(sql, sizeof(sql), "SELECT body FROM %s ORDER BY id DESC LIMIT 1", table);
	r = store_prepare(s, sql, &stmt);
	if (r || sqlite3_step(stmt) != SQLITE_ROW)
		return r;
	r = blob_unpack(NULL, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0),
			&columns);
	r = r ? r : batch_read_figures(columns.s, columns.n, figures);
	return r == -EBADMSG ? 0 : r ? r : 1;
}

int store_newest_figures(struct store *s, int64_t figures[BATCH_FIGURES])
{
	int r = newest_of(s, "frame", figures);

	if (!r && store_has_blocks(s))
		r = newest_of(s, "block", figures);
	r = r ? r : newest_of(s, "segment", figures);
	return MIN(r, 0);
}

int store_earlier_figures(struct store *s, int64_t figures[BATCH_FIGURES])
{
	static const enum batch_figure pairs[][2] = {
		{BATCH_SAMPLER_CPU, BATCH_EARLIER_SAMPLER_CPU},
		{BATCH_WRITER_CPU, BATCH_EARLIER_WRITER_CPU},
		{BATCH_SAMPLES, BATCH_EARLIER_SAMPLES},
		{BATCH_LOST, BATCH_EARLIER_LOST},
		{BATCH_DROPPED, BATCH_EARLIER_DROPPED},
		{BATCH_LOWERED, BATCH_EARLIER_LOWERED},
	};
	int64_t newest[BATCH_FIGURES] = {};
	int r = store_newest_figures(s, newest);

	for (size_t i = 0; !r && i < ARRAY_SIZE(pairs); i++)
		if (__builtin_add_overflow(newest[pairs[i][0]], newest[pairs[i][1]],
					   &figures[pairs[i][1]]))
			figures[pairs[i][1]] = 0;
	return r;
}

/* A question while it is answered. */
struct answer {
	struct store *s;
	const struct store_query *q;
	struct profile *p;
	uint64_t epoch; /* whose names .names has, and the last block; 0: none */
	struct batch names;
	struct restoring *restoring;
};

static void answer_fini(struct answer *a)
{
	restore_end(a->restoring);
	batch_fini(&a->names);
	a->restoring = NULL;
	a->names = (struct batch){};
}

/* What is damaged doesn't hide the rest: the profile says that it is missing. */
static int leave_out(struct answer *a)
{
	log_warn("%s", err_msg());
	profile_add_comment(a->p, COMMENTS_WARNING, err_msg());
	return 0;
}

static int add_batch(struct answer *a, const struct batch *b, const struct blob_place *place)
{
	int r = b->meta.n_values ? restore(b, a->q, a->p) : 0;

	if (r != -EBADMSG)
		return r;
	tell_damage(place);
	return leave_out(a);
}

static int add_segment(struct answer *a, sqlite3_stmt *stmt)
{
	__attribute__((cleanup(batch_fini))) struct batch b = {};
	struct store_row row;
	int r;

	take_row(stmt, &row);
	row.place.segment = (uint64_t)sqlite3_column_int64(stmt, 0);
	row.place.sequence = (uint32_t)sqlite3_column_int64(stmt, 5);
	r = add_row(&b, &row);
	return r > 0 ? leave_out(a) : r < 0 ? r : add_batch(a, &b, &row.place);
}

static int add_segments(struct answer *a)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(a->s,
			      ROWS ", frames FROM segment WHERE last_ms >= ? AND first_ms < ? "
				   "ORDER BY id",
			      &stmt);
	int rc = SQLITE_DONE;

	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, a->q->since_ms);
	sqlite3_bind_int64(stmt, 2, a->q->until_ms);
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		r = add_segment(a, stmt);
	return r ? r : store_error(a->s, rc, "read");
}

/* Adds the names of the epoch's rows to .names, up to the first that is missing or damaged. */
static int read_names(struct answer *a)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(a->s, ROWS " FROM names WHERE id >= ? AND id < ? ORDER BY id", &stmt);
	int rc = SQLITE_DONE;
	uint32_t sequence = 0;

	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, STORE_FRAME(a->epoch, 0));
	sqlite3_bind_int64(stmt, 2, STORE_FRAME(a->epoch + 1, 0));
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_row row;

		take_row(stmt, &row);
		row.place.segment = a->epoch;
		row.place.sequence = sequence++;
		r = add_row(&a->names, &row);
	}
	if (r > 0)
		log_warn("%s", err_msg());
	return r < 0 ? r : store_error(a->s, rc, "read");
}

static int begin_epoch(struct answer *a, uint64_t epoch)
{
	int r;

	if (a->epoch == epoch)
		return 0;
	answer_fini(a);
	a->epoch = epoch;
	r = read_names(a);
	r = r ? r : restore_begin(&a->names, a->q, a->p, &a->restoring);
	if (r != -EBADMSG)
		return r;
	/* then no block finds its names */
	restore_end(a->restoring);
	batch_fini(&a->names);
	a->names = (struct batch){};
	log_warn("%s", err_msg());
	return restore_begin(&a->names, a->q, a->p, &a->restoring);
}

static int add_block(struct answer *a, sqlite3_stmt *stmt)
{
	_cleanup_str_ struct str columns = {};
	struct store_row row;
	const char *service;
	int r;

	take_row(stmt, &row);
	service = (const char *)sqlite3_column_text(stmt, 5);
	row.place.segment = (uint64_t)sqlite3_column_int64(stmt, 0);
	row.place.sequence = store_service_hash(service ? service : "");
	r = begin_epoch(a, (uint64_t)sqlite3_column_int64(stmt, 6));
	if (r)
		return r;
	r = blob_unpack(&row.place, row.blob, row.n, &columns);
	r = r ? r : batch_decode_block(&a->names, columns.s, columns.n);
	r = r ? r : restore_block(a->restoring);
	if (r != -EBADMSG)
		return r;
	tell_damage(&row.place);
	return leave_out(a);
}

#define BLOCKS ROWS ", service, epoch FROM block WHERE tier = 0 AND last_ms >= ? AND first_ms < ?"

/*
 * Adds a condition for the services that are asked for: their blocks, and those of samples whose
 * service has no block of its own.
 */
static void add_services(const struct store_query *q, struct str *sql)
{
	bool any = false;

	for (size_t i = 0; i < q->n_labels; i++) {
		const struct profile_label_text *l = &q->labels[i];

		if (l->key_len != strlen(STORE_SERVICE_KEY) ||
		    memcmp(l->key, STORE_SERVICE_KEY, l->key_len))
			continue;
		str_add(sql, any ? ",?" : " AND service IN ('',?");
		any = true;
	}
	str_add(sql, any ? ") ORDER BY epoch, id" : " ORDER BY epoch, id");
}

static void bind_services(const struct store_query *q, sqlite3_stmt *stmt)
{
	int at = 3;

	for (size_t i = 0; i < q->n_labels && at <= sqlite3_bind_parameter_count(stmt); i++)
		if (q->labels[i].key_len == strlen(STORE_SERVICE_KEY) &&
		    !memcmp(q->labels[i].key, STORE_SERVICE_KEY, q->labels[i].key_len))
			sqlite3_bind_text(stmt, at++, q->labels[i].value, -1, SQLITE_STATIC);
}

static int add_blocks(struct answer *a)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	_cleanup_str_ struct str sql = {};
	int r, rc = SQLITE_DONE;

	if (!store_has_blocks(a->s))
		return 0;
	str_add(&sql, BLOCKS);
	add_services(a->q, &sql);
	r = sql.failed ? err_nomem() : store_prepare(a->s, sql.s, &stmt);
	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, a->q->since_ms);
	sqlite3_bind_int64(stmt, 2, a->q->until_ms);
	bind_services(a->q, stmt);
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		r = add_block(a, stmt);
	return r ? r : store_error(a->s, rc, "read");
}

static int add_frames(struct answer *a, uint64_t segment)
{
	__attribute__((cleanup(batch_fini))) struct batch b = {};
	struct blob_place place;
	int r = store_read_frames(a->s, segment, &b, &place);

	if (r > 0)
		r = leave_out(a);
	return r ? r : add_batch(a, &b, &place);
}

/* Segments that aren't sealed: the one that is being written, and what a crash left. */
static int add_unsealed(struct answer *a)
{
	uint64_t next = 0;
	int r = 0;

	while (!r) {
		char sql[96];
		int64_t id;

		snprintf(sql, sizeof(sql), "SELECT min(id) FROM frame WHERE id >= %lld",
			 (long long)STORE_FRAME(next, 0));
		r = store_number(a->s, sql, &id);
		if (r || id <= 0)
			break;
		r = add_frames(a, (uint64_t)id >> STORE_SEQUENCE_BITS);
		next = ((uint64_t)id >> STORE_SEQUENCE_BITS) + 1;
	}
	return r;
}

static int answer(struct answer *a)
{
	int r = add_segments(a);

	r = r ? r : add_blocks(a);
	r = r ? r : add_unsealed(a);
	answer_fini(a);
	return r;
}

/* The span of what a table has of the window: *first and *last become less and greater. */
static int span_of(struct store *s, const char *table, const struct store_query *q, int64_t *first,
		   int64_t *last)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	char sql[128];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT min(first_ms), max(last_ms) FROM %s WHERE last_ms >= ? AND first_ms < ?",
		 table);
	r = store_prepare(s, sql, &stmt);
	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, q->since_ms);
	sqlite3_bind_int64(stmt, 2, q->until_ms);
	r = store_error(s, sqlite3_step(stmt), "read");
	if (r || sqlite3_column_type(stmt, 0) == SQLITE_NULL)
		return r;
	*first = MIN(*first, sqlite3_column_int64(stmt, 0));
	*last = MAX(*last, sqlite3_column_int64(stmt, 1));
	return 0;
}

/* Narrows the window to what was recorded, so that the profile says how long it is of. */
static int narrow(struct store *s, struct store_query *q)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	int r = span_of(s, "segment", q, &first, &last);

	if (!r && store_has_blocks(s))
		r = span_of(s, "block", q, &first, &last);
	r = r ? r : span_of(s, "frame", q, &first, &last);
	if (r || first == INT64_MAX)
		return r;
	q->since_ms = MAX(q->since_ms, first);
	q->until_ms = MIN(q->until_ms - 1, MAX(last, q->since_ms)) + 1;
	return 0;
}

int store_read(struct store *s, const struct store_query *q, struct profile **ret)
{
	struct store_query window = *q;
	struct answer a = {.s = s, .q = &window, .p = profile_new()};
	struct profile_meta *m = a.p ? profile_meta(a.p) : NULL;
	int r;

	if (!a.p)
		return err_nomem();
	if (q->since_ms < 0 || q->until_ms <= q->since_ms || q->until_ms > MOST_MS) {
		profile_free(a.p);
		return err_set(-EINVAL, "the window of time ends before it begins");
	}
	/* in one transaction: a segment that is sealed meanwhile is met once, and counts once */
	r = store_exec(s, "BEGIN", "read");
	r = r ? r : narrow(s, &window);
	m->time_ns = window.since_ms * (int64_t)NSEC_PER_MSEC;
	m->duration_ns = (window.until_ms - window.since_ms) * (int64_t)NSEC_PER_MSEC;
	r = r ? r : answer(&a);
	store_end_reading(s);
	if (!r && !m->n_values)
		r = err_set(-ENODATA, "%s has nothing of that time", s->dir);
	if (r) {
		profile_free(a.p);
		return r;
	}
	*ret = a.p;
	return 0;
}
