/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the newest samples, those of which no block of ten minutes has been made yet, from parts if
 * there are any. A part has the sums of one segment, service and window of ten minutes. The parts
 * of a segment are made (rollup.c) and removed together, so a segment has all of them or none.
 */
#include "base/error.h"
#include "store/internal.h"

/*
 * SQL on a row of tier 5, for snprintf(): when the window of a part begins, and when it ends
 */
#define BEGINS "(first_ms - first_ms %% 600000 + (id >> 10 & 1023) * 600000)"
#define ENDS   "(" BEGINS " + 600000)"
_Static_assert(STORE_TEN_MINUTES_MS == 600000 && STORE_PART_BITS == 10 && STORE_PARTS == 5,
	       "the SQL of this file has these numbers in it");

/* What is to be read: one service's samples, or those of all services (NULL). */
struct recent {
	struct store *s;
	const char *service;
	const struct store_query *q;
	struct profile *p;
};

/* Adds the samples from @since to @until of those blocks of a tier for which @where is true. */
static int add(const struct recent *x, enum store_tier tier, const char *where, int64_t since,
	       int64_t until)
{
	struct store_choice choice = {.tier = tier, .service = x->service, .where = where};
	struct store_query q = *x->q;

	q.since_ms = since;
	q.until_ms = until;
	return store_read_blocks(x->s, &choice, &q, x->p);
}

/* Adds the parts that lie in the query's window: wholly, or with all that their segment has. */
static int add_parts(const struct recent *x)
{
	long long since = x->q->since_ms, until = x->q->until_ms;
	char where[320];

	snprintf(where, sizeof(where),
		 "(first_ms >= %lld OR " BEGINS " >= %lld) AND (last_ms < %lld OR " ENDS
		 " <= %lld)",
		 since, since, until, until);
	return add(x, STORE_PARTS, where, since, until);
}

/*
 * Adds samples from @since to @until of the segments that have parts, and of which @also is true.
 * They lie in a window of which the query doesn't want all, so its parts aren't used.
 */
static int add_edge(const struct recent *x, const char *also, int64_t ms, int64_t since,
		    int64_t until)
{
	char where[192];

	snprintf(where, sizeof(where),
		 "id >> 20 IN (SELECT " STORE_PART_SEGMENT
		 " FROM block WHERE tier = 5 AND %s %lld)",
		 also, (long long)ms);
	return since < until ? add(x, STORE_EXACT, where, since, until) : 0;
}

int store_read_recent(struct store *s, const char *service, const struct store_query *q,
		      struct profile *p)
{
	const int64_t step = STORE_TEN_MINUTES_MS;
	int64_t first = q->since_ms + (step - q->since_ms % step) % step;
	int64_t last = q->until_ms - q->until_ms % step;
	const struct recent x = {s, service, q, p};
	int r;

	if (!q->outline || first > last)
		return add(&x, STORE_EXACT, NULL, q->since_ms, q->until_ms);
	r = add(&x, STORE_EXACT, "NOT " STORE_HAS_PARTS, q->since_ms, q->until_ms);
	r = r ? r : add_edge(&x, "first_ms <", q->since_ms, q->since_ms, first);
	r = r ? r : add_edge(&x, "last_ms >=", q->until_ms, last, q->until_ms);
	return r ? r : add_parts(&x);
}
