/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes, as lines of text, which threads' waits for locks ended in the last interval, and which
 * threads ended them.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "live/table.h"
#include "live/text.h"

#define LINES 3 /* how many of the places in the code at which waits were ended get a line */
#define NAMED 3
/*
 * a place in the code gets a line if the waits that were ended there took at least this part of the
 * interval
 */
#define LEAST_PART 0.01

static bool is_own(const struct live *l, const struct render_names *names, uint32_t location)
{
	const struct profile_location *at = profile_get_location(l->p, location);

	return at->function && profile_get_mapping(l->p, at->mapping)->kind == KIND_PYTHON &&
	       render_names_origin(names, at->function) == ORIGIN_OWN;
}

/*
 * Returns where a thread ended the wait of another thread: the innermost frame of the user's own
 * code or, if the stack has no such frame, the innermost frame.
 */
static uint32_t place_of(struct live *l, uint32_t stack)
{
	const struct render_names *names = live_names(l);
	size_t n;
	const uint32_t *loc = live_stack(l, stack, &n);

	for (size_t i = 0; names && i < n; i++)
		if (is_own(l, names, loc[i]))
			return loc[i];
	return n ? loc[0] : 0;
}

int live_lock_waits(struct live *l, bool folded, struct lock_waits *ret)
{
	int r = 0;

	if (!lock_waits_init(ret, l->p))
		return 0;
	sums_foreach(s, &l->last)
	{
		int64_t ns = s->values[ret->blame];

		if (!r && ns > 0)
			r = lock_waits_add(ret, s->key.labels, place_of(l, s->key.stack), ns);
	}
	if (!r && folded)
		r = lock_waits_fold(ret);
	r = r ? r : lock_waits_sort(ret);
	return r ? err_set(-ENOMEM, "out of memory") : 0;
}

/* Appends which threads waited: "main 0.32 s, worker-1 0.15 s, others 0.40 s". */
static void add_waiters(const struct lock_waits *w, const struct lock_place *place, struct str *ret)
{
	const struct lock_wait *list = &w->waits.v[place->first];
	const char *apart = "";
	int64_t others = place->ns;

	for (size_t i = 0; i < MIN(place->n, (size_t)NAMED); i++) {
		if (!list[i].waiter)
			continue;
		str_add(ret, apart);
		str_add(ret, lock_waits_name(w, list[i].waiter));
		str_add_c(ret, ' ');
		text_seconds(ret, list[i].ns);
		others -= list[i].ns;
		apart = ", ";
	}
	if (others <= 0)
		return;
	str_addf(ret, "%sothers ", apart);
	text_seconds(ret, others);
}

/*
 * Appends the line of one place in the code at which threads ended the waits of other threads: how
 * long those had waited, which thread ended their waits, the place, and which threads had waited.
 */
static void add_place(struct table *v, const struct lock_waits *w, const struct lock_place *place,
		      struct str *ret)
{
	const struct lock_wait *first = &w->waits.v[place->first];
	_cleanup_str_ struct str line = {};

	str_add(&line, "  ");
	text_seconds(&line, place->ns);
	str_add(&line, "  ended by ");
	str_add(&line, lock_waits_name(w, first->waker));
	if (first->at) {
		str_add(&line, " in ");
		table_location_name(v, LIVE_LINES, first->at, &line);
	}
	str_add(&line, ": ");
	add_waiters(w, place, &line);
	text_line(ret, &line);
}

void table_lock_lines(struct table *v, struct str *ret)
{
	_cleanup_(lock_waits_fini) struct lock_waits w = {};
	double least = LEAST_PART * v->live->interval_seconds * NSEC_PER_SEC;

	if (live_lock_waits(v->live, true, &w)) {
		ret->failed = true;
		return;
	}
	if (!w.ns || (double)w.ns < least)
		return;
	str_addf(ret, "Waits for locks that ended in the last %.1f s took ",
		 v->live->interval_seconds);
	text_seconds(ret, w.ns);
	str_add_c(ret, '\n');
	for (size_t i = 0; i < MIN(w.places.n, (size_t)LINES); i++)
		if (!i || (double)w.places.v[i].ns >= least)
			add_place(v, &w, &w.places.v[i], ret);
}
