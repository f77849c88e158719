/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the blocks of coarser tiers: for each service one tree of functions for every ten minutes,
 * one for every hour, one for every six hours, and one for every day (UTC). Code that has little of
 * the service's time counts as "[rare code]" in its caller. A tree is made from blocks that exist
 * already, for one service and one window of time after another. Also makes the parts of the newest
 * segments (parts.c).
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "store/internal.h"
#include "store/numbering.h"

/*
 * For how many windows of time one call makes blocks at most, so that the writer isn't busy for
 * long.
 */
#define MOST_WINDOWS 12

/*
 * How long after a window's end samples of it may still be written: a wait is recorded when it
 * ends, or piece by piece (agent/pieces.h), but with the time at which it began.
 */
#define LATE_MS STORE_TEN_MINUTES_MS

static const struct {
	/*
	 * .part: a node with less than 1/.part of its service's total is rare; 0: all nodes are
	 * kept
	 */
	int64_t part;
	enum store_tier from;
	enum store_outline outline;
} tiers[] = {
	[STORE_TEN_MINUTES] = {2000, STORE_EXACT, OUTLINE_CGROUPS},
	[STORE_HOUR] = {1000, STORE_TEN_MINUTES, OUTLINE_SERVICES},
	/* the sums of these two are those of what they are made of */
	[STORE_PARTS] = {0, STORE_EXACT, OUTLINE_CGROUPS},
	[STORE_SIX_HOURS] = {0, STORE_HOUR, OUTLINE_SERVICES},
	[STORE_DAY] = {2000, STORE_HOUR, OUTLINE_SERVICES},
};

/* A block of sums that is made for one service. */
struct rolling {
	struct store *s;
	enum store_tier tier;
	int64_t since, until; /* the window of time whose samples are summed up, in ms */
	/* the id and the times of the block's row */
	sqlite3_int64 id;
	int64_t first_ms, last_ms;
	struct store_choice from; /* what the samples are read from */
	struct numbering n;
	struct profile *p;
};

static int add_numbers(struct rolling *x, const struct sums *sums)
{
	int r = 0;

	sums_foreach(e, sums)
	{
		struct profile_sample s;

		sums_sample(sums, e, &s);
		r = r ? r : numbering_add(&x->n, x->p, &s, MAX(x->since, x->first_ms));
	}
	return r ? r : numbering_end(&x->n, x->p);
}

static struct names *names_of(struct store *s, enum store_tier tier)
{
	return tier == STORE_PARTS ? &s->parts : &s->outline;
}

/*
 * Tells whether the names' epoch (the time for which they keep their numbers) must end. That of
 * parts ends early, because its names can only be removed with the last part that uses them.
 */
static bool must_end(const struct rolling *x, const struct names *names)
{
	int64_t now = x->s->newest_ms;

	return names_full(names, now) ||
	       (x->tier == STORE_PARTS && now - names->first_ms >= STORE_HOUR_MS);
}

/* Writes the sums into the store as one block. */
static int insert(struct rolling *x, const struct sums *sums)
{
	struct blob_place place = {.first_ms = x->first_ms, .last_ms = x->last_ms};
	struct names *names = names_of(x->s, x->tier);
	int64_t now = x->s->newest_ms;
	int r = add_numbers(x, sums);

	if (!r && must_end(x, names))
		r = store_begin_names(x->s, names, now);
	r = r ? r : names_take(names, &x->n.batch);
	r = r ? r : batch_order(&x->n.batch);
	r = r ? r : store_insert_names(x->s, names, now);
	r = r ? r
	      : store_insert_block(x->s, x->tier, x->id, &place, &x->n.batch, x->from.service,
				   names->epoch);
	if (!r)
		names_written(names);
	return r;
}

/* Reads what a block is made of. Blocks of ten minutes are made of parts where there are any. */
static int read_samples(const struct rolling *x, const struct store_query *q)
{
	return x->tier == STORE_TEN_MINUTES ? store_read_recent(x->s, x->from.service, q, x->p)
					    : store_read_blocks(x->s, &x->from, q, x->p);
}

static int roll(struct rolling *x)
{
	_cleanup_(sums_fini) struct sums sums = {}, kept = {};
	struct store_query q = {.since_ms = x->since,
				.until_ms = x->until,
				.outline = tiers[x->tier].outline,
				.into = &sums};
	int64_t part = tiers[x->tier].part;
	int r;

	x->p = profile_new();
	r = x->p ? read_samples(x, &q) : err_nomem();
	if (!r && sums.n && part) {
		sums_init(&kept, sums.n_values);
		r = store_prune(x->p, &sums, part, &kept);
	}
	if (!r && sums.n)
		r = insert(x, part ? &kept : &sums);
	numbering_fini(&x->n);
	profile_free(x->p);
	return r;
}

struct services {
	VEC(char *) list;
};

static void services_fini(struct services *s)
{
	vec_foreach(service, &s->list)
		free(*service);
	vec_fini(&s->list);
}

#define SERVICES                                                                                   \
	"SELECT DISTINCT service FROM block WHERE tier = ? AND last_ms >= ? AND first_ms < ? AND " \
	"%s ORDER BY service"

/* Lists the services of the tier's blocks in a window of which @where (SQL) is true. */
static int list_services(struct store *s, enum store_tier from, const char *where, int64_t since,
			 int64_t until, struct services *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r, rc = SQLITE_DONE;
	char sql[256];

	snprintf(sql, sizeof(sql), SERVICES, where);
	r = store_prepare(s, sql, &stmt);
	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, since);
	sqlite3_bind_int64(stmt, 3, until);
	while (!r && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);
		char *copy = strdup(text ? text : "");

		if (!copy || vec_push(&ret->list, copy)) {
			free(copy);
			r = err_nomem();
		}
	}
	return r ? r : store_error(s, rc, "read");
}

/* Ends the transaction in which blocks of sums and their names were inserted. */
static int end_rolling(struct store *s, enum store_tier tier, int r)
{
	r = r ? r : store_exec(s, "COMMIT", "write");
	if (r) {
		names_fini(names_of(s, tier));
		/* it may have read names that aren't in the store now */
		store_forget_names(s);
	}
	return store_undo(s, r);
}

/*
 * Makes the blocks of all services for one window of time, in one transaction, with the names that
 * they need.
 */
static int roll_window(struct store *s, enum store_tier tier, int64_t ms)
{
	_cleanup_(services_fini) struct services services = {};
	int64_t until = ms + store_step_ms(tier);
	int r = store_exec(s, "BEGIN IMMEDIATE", "write");

	r = r ? r : list_services(s, tiers[tier].from, "1", ms, until, &services);
	for (uint32_t i = 0; !r && i < services.list.n; i++) {
		struct rolling x = {
			.s = s,
			.tier = tier,
			.since = ms,
			.until = until,
			.id = STORE_OUTLINE(tier, ms, i),
			.first_ms = ms,
			.last_ms = until - 1,
			.from = {.tier = tiers[tier].from, .service = services.list.v[i]},
		};

		r = roll(&x);
	}
	return end_rolling(s, tier, r);
}

struct segment {
	uint64_t number;
	int64_t first_ms, last_ms; /* of all its samples and waits */
};

/* Makes the parts of one service of a segment: one for each window of ten minutes. */
static int roll_service_parts(struct store *s, const struct segment *segment, const char *where,
			      const char *service, uint32_t number)
{
	int64_t step = STORE_TEN_MINUTES_MS, first = segment->first_ms - segment->first_ms % step;
	int r = 0;

	for (uint32_t i = 0; !r && first + i * step <= segment->last_ms; i++) {
		struct rolling x = {
			.s = s,
			.tier = STORE_PARTS,
			.since = first + i * step,
			.until = first + (i + 1) * step,
			.id = STORE_PART(segment->number, i, number),
			.first_ms = segment->first_ms,
			.last_ms = segment->last_ms,
			.from = {STORE_EXACT, service, where},
		};

		r = roll(&x);
	}
	return r;
}

/* Makes the parts of a segment (sealed/parts.c), in one transaction. */
static int roll_segment(struct store *s, const struct segment *segment)
{
	_cleanup_(services_fini) struct services services = {};
	int r = store_exec(s, "BEGIN IMMEDIATE", "write");
	char where[64];

	snprintf(where, sizeof(where), "id >> 20 = %llu", (unsigned long long)segment->number);
	r = r ? r
	      : list_services(s, STORE_EXACT, where, segment->first_ms, segment->last_ms + 1,
			      &services);
	for (uint32_t i = 0; !r && i < services.list.n; i++)
		r = roll_service_parts(s, segment, where, services.list.v[i], i);
	return end_rolling(s, STORE_PARTS, r);
}

/*
 * Sets *ret to the time before which tier @from (exact samples, ten minutes or hours) won't get any
 * more samples.
 */
static int complete_until(struct store *s, enum store_tier from, int64_t *ret)
{
	int r;

	if (from != STORE_EXACT)
		return store_tier_end(s, from, ret);
	r = store_number(s,
			 "SELECT max(last_ms) FROM block WHERE tier = 0 AND id >> 20 = "
			 "(SELECT max(id) >> 20 FROM block WHERE tier = 0)",
			 ret);
	/* a damaged row may have any times */
	*ret = MAX(*ret, 0);
	*ret = MIN(*ret, MOST_MS) - LATE_MS;
	return r;
}

/*
 * The parts of a segment cover so many windows at most; a segment that needs more gets none. A
 * segment of ten minutes touches two, and one or two more with long waits.
 */
#define MOST_PARTS 4

static bool has_few_windows(const struct segment *segment)
{
	int64_t step = STORE_TEN_MINUTES_MS;

	/* a damaged row may have any times */
	return segment->number < 1ull << 40 && segment->first_ms >= 0 &&
	       segment->first_ms <= segment->last_ms && segment->last_ms < MOST_MS &&
	       segment->last_ms / step - segment->first_ms / step < MOST_PARTS;
}

static int read_segment(struct store *s, uint64_t number, struct segment *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(
		s, "SELECT min(first_ms), max(last_ms) FROM block WHERE id >= ? AND id < ?", &stmt);

	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, STORE_FRAME(number, 0));
	sqlite3_bind_int64(stmt, 2, STORE_FRAME(number + 1, 0));
	r = store_error(s, sqlite3_step(stmt), "read");
	*ret = (struct segment){number, sqlite3_column_int64(stmt, 0),
				sqlite3_column_int64(stmt, 1)};
	return r;
}

/*
 * Finds the first segment after number @ret->number that has samples of which no block of ten
 * minutes can be made yet, and that has no parts. If clocks were set back, there may be later
 * blocks of ten minutes already; parts before their end would be removed at once. Returns 1, 0 if
 * there is none, or -errno + message.
 */
static int next_segment(struct store *s, struct segment *ret)
{
	int64_t until, done, number;
	char sql[256];
	int r = complete_until(s, STORE_EXACT, &until);

	r = r ? r : store_tier_end(s, STORE_TEN_MINUTES, &done);
	until = r ? 0 : MAX(until, done);
	snprintf(sql, sizeof(sql),
		 "SELECT min(id) >> 20 FROM block WHERE tier = 0 AND last_ms >= %lld AND "
		 "id >= %lld AND NOT " STORE_HAS_PARTS,
		 (long long)until, (long long)STORE_FRAME(ret->number + 1, 0));
	r = r ? r : store_number(s, sql, &number);
	if (r || number <= 0)
		return r;
	return read_segment(s, (uint64_t)number, ret) ?: 1;
}

/*
 * Tells whether the same error would come again: it lies in the samples. After another one, such as
 * a full disk, the segment's parts are tried again.
 */
static bool is_of_samples(int error)
{
	return error == -EBADMSG || error == -E2BIG;
}

/* Makes the parts of the segments that were sealed since the last call. */
static int roll_parts(struct store *s)
{
	struct segment segment = {.number = s->parted};
	int r = 0;

	for (int i = 0; !r && i < MOST_WINDOWS; i++) {
		r = next_segment(s, &segment);
		if (r <= 0)
			break;
		r = has_few_windows(&segment) ? roll_segment(s, &segment) : 0;
		if (!r || is_of_samples(r))
			s->parted = segment.number;
	}
	return r;
}

/*
 * Sets *ret to the beginning of the first window of time for which tier @tier (such as hours) has
 * no blocks yet, but the finer tier has; INT64_MAX: there is no such window.
 */
static int next_window(struct store *s, enum store_tier tier, int64_t *ret)
{
	int64_t step = store_step_ms(tier), done, next;
	char sql[160];
	int r;

	r = store_tier_end(s, tier, &done);
	done = r ? 0 : MAX(done, s->rolled_ms[tier]);
	snprintf(sql, sizeof(sql),
		 "SELECT min(max(first_ms, %lld)) FROM block WHERE tier = %d AND last_ms >= %lld",
		 (long long)done, tiers[tier].from, (long long)done);
	r = r ? r : store_number(s, sql, &next);
	*ret = r || next <= 0 || next > MOST_MS ? INT64_MAX : next - next % step;
	return r;
}

static int roll_tier(struct store *s, enum store_tier tier)
{
	int64_t ms, until;
	int r = complete_until(s, tiers[tier].from, &until);

	for (int i = 0; !r && i < MOST_WINDOWS; i++) {
		r = next_window(s, tier, &ms);
		if (r || ms == INT64_MAX || ms + store_step_ms(tier) > until)
			break;
		r = roll_window(s, tier, ms);
		if (!r)
			s->rolled_ms[tier] = ms + store_step_ms(tier);
	}
	return r;
}

/* Removes the parts whose samples are in blocks of ten minutes, or were removed. */
#define REMOVE_PARTS                                                                               \
	"DELETE FROM block WHERE tier = 5 AND "                                                    \
	"(last_ms <= (SELECT max(last_ms) FROM block WHERE tier = 1) OR " STORE_PART_SEGMENT       \
	" NOT IN (SELECT id >> 20 FROM block WHERE tier = 0))"

/*
 * Removes old blocks. Blocks of ten minutes are kept for a week, those of longer windows for 90
 * days, so that room is left for exact samples.
 */
#define REMOVE_OLD                                                                                 \
	"DELETE FROM block WHERE tier = 1 AND last_ms < "                                          \
	"(SELECT max(last_ms) FROM block WHERE tier = 1) - 604800000; "                            \
	"DELETE FROM block WHERE tier IN (2, 3, 4) AND last_ms < "                                 \
	"(SELECT max(last_ms) FROM block WHERE tier = 2) - 7776000000"

static int roll_tiers(struct store *s)
{
	int r = roll_tier(s, STORE_TEN_MINUTES);

	r = r ? r : roll_tier(s, STORE_HOUR);
	r = r ? r : roll_tier(s, STORE_SIX_HOURS);
	return r ? r : roll_tier(s, STORE_DAY);
}

int store_roll_up(struct store *s)
{
	bool removed;
	int r = complete_until(s, STORE_EXACT, &s->newest_ms);

	s->newest_ms += LATE_MS;
	r = r ? r : store_exec(s, REMOVE_PARTS, "make room");
	removed = !r && sqlite3_changes(s->db) > 0;
	/* all the rest can be made without parts */
	if (!r && roll_parts(s))
		log_warn("can't sum up the newest samples, which are read one by one instead: %s",
			 err_msg());
	r = r ? r : roll_tiers(s);
	r = r ? r : store_exec(s, REMOVE_OLD, "make room");
	if (!r && removed)
		r = store_remove_names(s);
	store_forget_names(s);
	return r;
}
