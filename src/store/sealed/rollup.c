/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the blocks of coarser tiers: for each service one tree of functions for every ten minutes,
 * one for every hour, and one for every day (UTC). Code that has little of the service's time
 * counts as "[rare code]" in its caller. A tree is made from blocks that exist already, for one
 * service and one window of time after another.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "profile/mark.h"
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
	/* .part: a node with less than 1/.part of its service's total is rare */
	int64_t part;
	enum store_tier from;
	enum store_outline outline;
} tiers[] = {
	[STORE_TEN_MINUTES] = {2000, STORE_EXACT, OUTLINE_CGROUPS},
	[STORE_HOUR] = {1000, STORE_TEN_MINUTES, OUTLINE_SERVICES},
	[STORE_DAY] = {2000, STORE_HOUR, OUTLINE_SERVICES},
};

struct pruning {
	struct profile *p;
	const struct sums *sums; /* the samples, summed up by stack and labels */
	/* indexed by node and value: the sum over the samples at the node and below it */
	int64_t *totals;
	int64_t least[PROFILE_MAX_VALUES];
	unsigned n_values;
	uint32_t rare; /* the location of "[rare code]" */
};

static int64_t *totals_of(struct pruning *x, uint32_t node)
{
	return x->totals + (size_t)node * x->n_values;
}

static int64_t size_of(int64_t v)
{
	return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

static void add_to(int64_t *sum, int64_t v)
{
	*sum = add_up_to_max(*sum, size_of(v));
}

/*
 * Sums up the samples of each node, and adds each node's sums to its parent's. Parents have lower
 * numbers than their children; node 0 is the root.
 */
static void sum_up(struct pruning *x)
{
	uint32_t parent, location;

	sums_foreach(e, x->sums)
	{
		int64_t *totals = totals_of(x, profile_stack_node(x->p, e->key.stack));

		for (unsigned i = 0; i < x->n_values; i++)
			add_to(&totals[i], e->values[i]);
	}
	for (uint32_t node = (uint32_t)profile_n_nodes(x->p); node; node--) {
		profile_get_node(x->p, node, &parent, &location);
		for (unsigned i = 0; i < x->n_values; i++)
			add_to(&totals_of(x, parent)[i], totals_of(x, node)[i]);
	}
}

static bool is_rare(struct pruning *x, uint32_t node)
{
	bool rare = node != 0;

	for (unsigned i = 0; rare && i < x->n_values; i++)
		rare = !totals_of(x, node)[i] || totals_of(x, node)[i] < x->least[i];
	return rare;
}

static uint32_t rare_location(struct profile *p)
{
	struct profile_mapping m = {.name = profile_string(p, MARK_MAPPING), .kind = KIND_MARK};
	struct profile_function f = {.name = profile_string(p, mark_text(MARK_RARE))};

	return profile_location(p, &(struct profile_location){.mapping = profile_mapping(p, &m),
							      .function = profile_function(p, &f)});
}

/* Returns @stack without the rare nodes at its end: they become one frame "[rare code]". */
static uint32_t prune_stack(struct pruning *x, uint32_t stack)
{
	uint32_t node = profile_stack_node(x->p, stack), kept = node, parent, location;
	size_t deep = 0;

	while (is_rare(x, kept))
		profile_get_node(x->p, kept, &kept, &location);
	if (kept == node)
		return stack;
	for (uint32_t at = kept; at; at = parent, deep++)
		profile_get_node(x->p, at, &parent, &location);
	if (kept)
		profile_get_node(x->p, kept, &parent, &location);
	if (!kept || location != x->rare) {
		kept = profile_node(x->p, kept, x->rare);
		deep++;
	}
	return profile_stack_at(x->p, kept, deep);
}

/* Sums up the samples again, with the shortened stacks as keys. */
static int prune_sums(struct pruning *x, struct sums *ret)
{
	int r = 0;

	sums_foreach(e, x->sums)
	{
		struct sums_key key = e->key;

		key.stack = prune_stack(x, key.stack);
		r = r			   ? r
		    : profile_failed(x->p) ? err_nomem()
					   : sums_add_near(ret, &key, e->values);
	}
	return r;
}

/*
 * Shortens the stacks that end in rare nodes. Nodes that this adds to the profile lie below nodes
 * that were kept, so their sums aren't needed.
 */
static int prune(struct profile *p, const struct sums *sums, int64_t part, struct sums *ret)
{
	struct pruning x = {.p = p, .sums = sums, .n_values = profile_meta(p)->n_values};
	int r;

	x.rare = rare_location(p);
	x.totals = calloc((profile_n_nodes(p) + 1) * (size_t)x.n_values, sizeof(*x.totals));
	if (!x.totals || !x.rare)
		return err_nomem();
	sum_up(&x);
	for (unsigned i = 0; i < x.n_values; i++)
		x.least[i] = x.totals[i] / part;
	r = prune_sums(&x, ret);
	free(x.totals);
	return r;
}

struct rolling {
	struct store *s;
	enum store_tier tier;
	int64_t first_ms; /* of the window */
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
		r = r ? r : numbering_add(&x->n, x->p, &s, x->first_ms);
	}
	return r ? r : numbering_end(&x->n, x->p);
}

/* Writes the sums into the store as one block. */
static int insert(struct rolling *x, const struct sums *sums, const char *service, uint32_t number)
{
	struct blob_place place = {.first_ms = x->first_ms,
				   .last_ms = x->first_ms + store_step_ms(x->tier) - 1};
	struct names *names = &x->s->outline;
	int r = add_numbers(x, sums);

	if (!r && names_full(names, x->first_ms))
		r = store_begin_names(x->s, names, x->first_ms);
	r = r ? r : names_take(names, &x->n.batch);
	r = r ? r : batch_order(&x->n.batch);
	r = r ? r : store_insert_names(x->s, names, x->first_ms);
	r = r ? r
	      : store_insert_block(x->s, x->tier, STORE_OUTLINE(x->tier, x->first_ms, number),
				   &place, &x->n.batch, service, names->epoch);
	if (!r)
		names_written(names);
	return r;
}

static int roll_service(struct store *s, enum store_tier tier, int64_t ms, const char *service,
			uint32_t number)
{
	_cleanup_(sums_fini) struct sums sums = {}, kept = {};
	struct store_query q = {.since_ms = ms,
				.until_ms = ms + store_step_ms(tier),
				.outline = tiers[tier].outline,
				.into = &sums};
	struct rolling x = {.s = s, .tier = tier, .first_ms = ms, .p = profile_new()};
	int r = x.p ? store_read_blocks(s, tiers[tier].from, service, &q, x.p) : err_nomem();

	if (!r && sums.n) {
		sums_init(&kept, sums.n_values);
		r = prune(x.p, &sums, tiers[tier].part, &kept);
		r = r ? r : insert(&x, &kept, service, number);
	}
	numbering_fini(&x.n);
	profile_free(x.p);
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
	"SELECT DISTINCT service FROM block WHERE tier = ? AND last_ms >= ? AND first_ms < ? "     \
	"ORDER BY service"

static int list_services(struct store *s, enum store_tier from, int64_t ms, int64_t step,
			 struct services *ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, SERVICES, &stmt), rc = SQLITE_DONE;

	if (r)
		return r;
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, ms);
	sqlite3_bind_int64(stmt, 3, ms + step);
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

/*
 * Makes the blocks of all services for one window of time, in one transaction, with the names that
 * they need.
 */
static int roll_window(struct store *s, enum store_tier tier, int64_t ms)
{
	_cleanup_(services_fini) struct services services = {};
	int r = store_exec(s, "BEGIN IMMEDIATE", "write");

	r = r ? r : list_services(s, tiers[tier].from, ms, store_step_ms(tier), &services);
	for (uint32_t i = 0; !r && i < services.list.n; i++)
		r = roll_service(s, tier, ms, services.list.v[i], i);
	r = r ? r : store_exec(s, "COMMIT", "write");
	if (r)
		names_fini(&s->outline);
	return store_undo(s, r);
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
	*ret = r || next <= 0 ? INT64_MAX : next - next % step;
	return r;
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
	*ret -= LATE_MS;
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

/*
 * Removes old blocks. Blocks of ten minutes are kept for a week, those of an hour and of a day for
 * 90 days, so that room is left for exact samples.
 */
#define REMOVE_OLD                                                                                 \
	"DELETE FROM block WHERE tier = 1 AND last_ms < "                                          \
	"(SELECT max(last_ms) FROM block WHERE tier = 1) - 604800000; "                            \
	"DELETE FROM block WHERE tier IN (2, 3) AND last_ms < "                                    \
	"(SELECT max(last_ms) FROM block WHERE tier = 2) - 7776000000"

int store_roll_up(struct store *s)
{
	int r = roll_tier(s, STORE_TEN_MINUTES);

	r = r ? r : roll_tier(s, STORE_HOUR);
	r = r ? r : roll_tier(s, STORE_DAY);
	r = r ? r : store_exec(s, REMOVE_OLD, "make room");
	store_forget_names(s);
	return r;
}
