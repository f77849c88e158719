/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads frames (about a second's samples each) and segments. They are read into batches, which are
 * then sealed, or into a profile, to answer queries.
 */
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "store/internal.h"

int store_tell_damage(const struct blob_place *at)
{
	char from[64], to[64];

	clock_local(at->first_ms, "%F %T", from);
	clock_local(at->last_ms, "%T", to);
	err_wrap(0, "what was recorded from %s to %s is damaged and left out", from, to);
	return 1;
}

void store_take_row(sqlite3_stmt *stmt, struct store_row *ret)
{
	*ret = (struct store_row){
		.place = {.first_ms = sqlite3_column_int64(stmt, 1),
			  .last_ms = sqlite3_column_int64(stmt, 2),
			  .samples = (uint32_t)sqlite3_column_int64(stmt, 3)},
		.blob = sqlite3_column_blob(stmt, 4),
		.n = (size_t)sqlite3_column_bytes(stmt, 4),
	};
}

/* If the checksum is right but the columns contradict each other, @b is emptied. */
int store_add_row(struct batch *b, const struct store_row *row)
{
	_cleanup_str_ struct str columns = {};
	int r = blob_unpack(&row->place, row->blob, row->n, &columns);

	if (r)
		return r == -EBADMSG ? store_tell_damage(&row->place) : r;
	r = batch_decode(b, columns.s, columns.n);
	if (r) {
		batch_fini(b);
		*b = (struct batch){};
	}
	return r == -EBADMSG ? store_tell_damage(&row->place) : r;
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
	int r = store_prepare(s, STORE_ROW " FROM frame WHERE id >= ? AND id < ? ORDER BY id",
			      &stmt);
	int rc = SQLITE_DONE;

	*ret = (struct blob_place){.segment = segment};
	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, STORE_FRAME(segment, 0));
	sqlite3_bind_int64(stmt, 2, STORE_FRAME(segment + 1, 0));
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_row row;

		store_take_row(stmt, &row);
		row.place.segment = segment;
		row.place.sequence = ret->sequence;
		if (sqlite3_column_int64(stmt, 0) != STORE_FRAME(segment, ret->sequence)) {
			(void)err_set(-EBADMSG, "an earlier frame is missing");
			return store_tell_damage(&row.place);
		}
		r = store_add_row(b, &row);
		if (!r)
			count_in(ret, &row.place);
	}
	ret->samples = (uint32_t)b->samples.n;
	return r ? r : store_error(s, rc, "read");
}

/*
 * Reads the agent's counters from the newest row of @table. @newest is the part of the SQL
 * statement that says which rows count: a table's name and perhaps a condition. If the row is
 * damaged, @figures stays as it was. Returns 1 if the counters were read, 0 if not, or -errno +
 * message.
 */
static int newest_of(struct store *s, const char *table, const char *newest,
		     int64_t figures[BATCH_FIGURES])
{
	_cleanup_str_ struct str columns = {};
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	char sql[160];
	int r;

	snprintf(sql, sizeof(sql), "SELECT body FROM %s WHERE id = (SELECT max(id) FROM %s)", table,
		 newest);
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
	int r = newest_of(s, "frame", "frame", figures);

	if (!r && store_has_blocks(s))
		r = newest_of(s, "block", "block WHERE tier = 0", figures);
	r = r ? r : newest_of(s, "segment", "segment", figures);
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

/* The state of answering one query. */
struct answer {
	struct store *s;
	const struct store_query *q;
	struct profile *p;
};

/* A query goes on after a damaged row: a comment of the profile says what is missing. */
void store_leave_out(struct profile *p)
{
	log_warn("%s", err_msg());
	profile_add_comment(p, COMMENTS_WARNING, err_msg());
}

static int leave_out(struct answer *a)
{
	store_leave_out(a->p);
	return 0;
}

static int add_batch(struct answer *a, const struct batch *b, const struct blob_place *place)
{
	int r = b->meta.n_values ? restore(b, a->q, a->p) : 0;

	if (r != -EBADMSG)
		return r;
	store_tell_damage(place);
	return leave_out(a);
}

static int add_segment(struct answer *a, sqlite3_stmt *stmt)
{
	__attribute__((cleanup(batch_fini))) struct batch b = {};
	struct store_row row;
	int r;

	store_take_row(stmt, &row);
	row.place.segment = (uint64_t)sqlite3_column_int64(stmt, 0);
	row.place.sequence = (uint32_t)sqlite3_column_int64(stmt, 5);
	r = store_add_row(&b, &row);
	return r > 0 ? leave_out(a) : r < 0 ? r : add_batch(a, &b, &row.place);
}

static int add_segments(struct answer *a)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(a->s,
			      STORE_ROW ", frames FROM segment WHERE last_ms >= ? AND first_ms < ? "
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

static int add_frames(struct answer *a, uint64_t segment)
{
	__attribute__((cleanup(batch_fini))) struct batch b = {};
	struct blob_place place;
	int r = store_read_frames(a->s, segment, &b, &place);

	if (r > 0)
		r = leave_out(a);
	return r ? r : add_batch(a, &b, &place);
}

/*
 * Adds the samples of unsealed segments. The segment that is being written isn't sealed, nor are
 * segments that a crash left.
 */
static int add_unsealed(struct answer *a)
{
	uint64_t segment = 0;
	int r;

	while ((r = store_next_unsealed(a->s, &segment)) > 0) {
		r = add_frames(a, segment++);
		if (r)
			break;
	}
	return r;
}

static int64_t down(int64_t ms, int64_t step)
{
	return ms - ms % step;
}

static int64_t up(int64_t ms, int64_t step)
{
	return down(ms + step - 1, step);
}

static int add_tier(const struct answer *a, enum store_tier tier, int64_t since, int64_t until)
{
	const struct store_choice choice = {.tier = tier};
	struct store_query q = *a->q;

	q.since_ms = since;
	q.until_ms = until;
	return tier == STORE_EXACT ? store_read_recent(a->s, NULL, &q, a->p)
				   : store_read_blocks(a->s, &choice, &q, a->p);
}

/*
 * Adds what was recorded from @since to @until. Windows of @tier (such as whole hours) that lie
 * wholly in this time and have blocks are read from their blocks. The rest of the time, before and
 * after these windows, is read from finer tiers.
 */
static int add_outline(struct answer *a, enum store_tier tier, int64_t since, int64_t until)
{
	static const enum store_tier finer[STORE_TIERS] = {
		[STORE_DAY] = STORE_SIX_HOURS,
		[STORE_SIX_HOURS] = STORE_HOUR,
		[STORE_HOUR] = STORE_TEN_MINUTES,
		[STORE_TEN_MINUTES] = STORE_EXACT,
	};
	int64_t step = store_step_ms(tier), end = 0, first = up(since, step), last;
	int r;

	if (since >= until)
		return 0;
	if (tier == STORE_EXACT)
		return add_tier(a, tier, since, until);
	r = store_tier_end(a->s, tier, &end);
	last = MAX(MIN(down(until, step), end), first);
	if (r || first == last)
		return r ? r : add_outline(a, finer[tier], since, until);
	r = add_outline(a, finer[tier], since, first);
	r = r ? r : add_tier(a, tier, first, last);
	return r ? r : add_outline(a, finer[tier], last, until);
}

static int put_sums(struct profile *p, const struct sums *sums)
{
	int r = 0;

	sums_foreach(e, sums)
	{
		struct profile_sample s;

		sums_sample(sums, e, &s);
		r = r ? r : profile_add(p, &s);
	}
	return r;
}

static int answer(struct answer *a)
{
	int r = add_segments(a);

	if (!r && a->q->outline)
		r = add_outline(a, STORE_DAY, a->q->since_ms, a->q->until_ms);
	else if (!r)
		r = add_tier(a, STORE_EXACT, a->q->since_ms, a->q->until_ms);
	r = r ? r : add_unsealed(a);
	store_forget_names(a->s);
	return r || !a->q->into ? r : put_sums(a->p, a->q->into);
}

/*
 * Finds the first and last recorded time of @rows (an SQL table with a condition) within the
 * query's window. Lowers *first and raises *last to include them.
 */
static int span_of(struct store *s, const char *rows, const struct store_query *q, int64_t *first,
		   int64_t *last)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	char sql[128];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT min(first_ms), max(last_ms) FROM %s last_ms >= ? AND first_ms < ?", rows);
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

/*
 * Narrows the query's window to the time of which the store has samples, so that the profile has
 * the right duration.
 */
static int narrow(struct store *s, struct store_query *q)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	int r = span_of(s, "segment WHERE", q, &first, &last);

	if (!r && store_has_blocks(s))
		r = span_of(s, "block WHERE tier = 0 AND", q, &first, &last);
	if (!r && q->outline)
		r = span_of(s, "block WHERE tier = 1 AND", q, &first, &last);
	/*
	 * blocks of six hours and days aren't read: blocks of hours cover their time, and say more
	 * exactly when the recording began
	 */
	if (!r && q->outline)
		r = span_of(s, "block WHERE tier = 2 AND", q, &first, &last);
	r = r ? r : span_of(s, "frame WHERE", q, &first, &last);
	if (r || first == INT64_MAX)
		return r;
	q->since_ms = MAX(q->since_ms, first);
	q->until_ms = MIN(q->until_ms - 1, MAX(last, q->since_ms)) + 1;
	return 0;
}

/*
 * Sets *ret to the time from which on the sealed blocks have all samples, not only those of pinned
 * windows; 0: there are no sealed blocks.
 */
static int exact_since(struct store *s, int64_t *ret)
{
	return store_number(s,
			    store_has_pins(s) ? "SELECT min(first_ms) FROM block WHERE tier = 0 "
						"AND NOT " STORE_PINNED
					      : "SELECT min(first_ms) FROM block WHERE tier = 0",
			    ret);
}

/*
 * Widens the window of an outline (an answer from blocks of sums) to whole blocks: to blocks of ten
 * minutes, or to blocks of an hour where those of ten minutes were removed. The window's end is
 * widened only where the exact blocks were removed.
 */
static int widen(struct store *s, struct store_query *q)
{
	int64_t tens, exact = 0, step;
	int r;

	if (!q->outline)
		return 0;
	r = store_number(s, "SELECT min(first_ms) FROM block WHERE tier = 1", &tens);
	r = r ? r : exact_since(s, &exact);
	q->since_ms = down(q->since_ms, q->since_ms < tens ? STORE_HOUR_MS : STORE_TEN_MINUTES_MS);
	step = q->until_ms < tens ? STORE_HOUR_MS : q->until_ms < exact ? STORE_TEN_MINUTES_MS : 1;
	q->until_ms = MIN(down(q->until_ms + step - 1, step), MOST_MS);
	return r;
}

/*
 * Decides whether the coarser tiers (sums over ten minutes to a day) can answer a query. They can't
 * if it asks for a label that their blocks lack, such as uid. So a query for one user's samples
 * never gets sums over all users.
 */
static enum store_outline outline_for(const struct store *s, const struct store_query *q)
{
	bool told = store_has_blocks(s);

	for (size_t i = 0; i < q->n_labels; i++)
		told &= restore_tells(q->outline, q->labels[i].key, q->labels[i].key_len);
	return told ? q->outline : OUTLINE_NONE;
}

/*
 * Adds a comment to the profile of an outline (an answer from blocks of sums). The comment says
 * what the outline leaves out, and when it begins.
 */
static void say_outline(struct profile *p)
{
	char from[64], text[256];

	clock_local(profile_meta(p)->time_ns / (int64_t)NSEC_PER_MSEC, "%F %T %z", from);
	snprintf(text, sizeof(text),
		 "lines, times, and labels other than service and version: what was recorded from "
		 "%s on comes from the store's sums; code with less than 0.1 %% of its service's "
		 "cost is in [rare code]",
		 from);
	profile_add_comment(p, COMMENTS_LEFT_OUT, text);
}

/*
 * Adds a comment that says from which time on the store has all samples. The comment is needed only
 * if the query's window begins earlier and isn't pinned as a whole.
 */
static int say_gaps(struct store *s, const struct store_query *q, struct profile *p)
{
	int64_t since = 0, gaps = 0;
	char sql[320], from[64], text[128];
	int r = store_has_pins(s) && !q->outline ? exact_since(s, &since) : 0;

	if (r || q->since_ms >= since)
		return r;
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM block WHERE tier = 0 AND last_ms >= %lld AND last_ms < %lld "
		 "AND first_ms < %lld AND NOT EXISTS "
		 "(SELECT 1 FROM pin WHERE since_ms <= %lld AND until_ms >= %lld)",
		 (long long)q->since_ms, (long long)since, (long long)q->until_ms,
		 (long long)q->since_ms, (long long)q->until_ms);
	r = store_number(s, sql, &gaps);
	if (r || !gaps)
		return r;
	clock_local(since, "%F %T %z", from);
	snprintf(text, sizeof(text), "samples before %s, except those of pinned windows", from);
	profile_add_comment(p, COMMENTS_LEFT_OUT, text);
	return 0;
}

int store_read(struct store *s, const struct store_query *q, struct profile **ret)
{
	_cleanup_(sums_fini) struct sums sums = {};
	struct store_query window = *q;
	struct answer a = {.s = s, .q = &window, .p = profile_new()};
	struct profile_meta *m = a.p ? profile_meta(a.p) : NULL;
	int r;

	if (!a.p)
		return err_nomem();
	window.outline = outline_for(s, q);
	window.into = window.outline ? &sums : NULL;
	if (q->since_ms < 0 || q->until_ms <= q->since_ms || q->until_ms > MOST_MS) {
		profile_free(a.p);
		return err_set(-EINVAL, "the window of time ends before it begins");
	}
	/*
	 * Everything is read in one transaction. So a segment that is sealed meanwhile is seen
	 * either as frames or as blocks, and counts once.
	 */
	r = store_exec(s, "BEGIN", "read");
	r = r ? r : say_gaps(s, &window, a.p);
	r = r ? r : widen(s, &window);
	r = r ? r : narrow(s, &window);
	window.origin_ms = window.since_ms;
	m->time_ns = window.since_ms * (int64_t)NSEC_PER_MSEC;
	m->duration_ns = (window.until_ms - window.since_ms) * (int64_t)NSEC_PER_MSEC;
	r = r ? r : answer(&a);
	store_end_reading(s);
	if (!r && !m->n_values)
		r = err_set(-ENODATA, "the store in %s has no samples of that time", s->dir);
	if (r) {
		profile_free(a.p);
		return r;
	}
	if (window.outline)
		say_outline(a.p);
	*ret = a.p;
	return 0;
}
