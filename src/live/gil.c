/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out who waited for whom for the GIL in the last interval, and writes it as lines of text.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "live/table.h"
#include "live/text.h"

/* how many waits for the GIL, and samples of threads that held it, are kept of an interval */
#define MOST_KEPT 200000
#define LINES	  3 /* how many holders of the GIL get a line */
#define NAMED	  3
/* a holder gets no line if others waited for it less than this part of the interval */
#define LEAST_PART 0.01

int live_gil_count(struct live *l, const struct profile_sample *s)
{
	struct gil_pairs *g = &l->gil_now;

	if (g->wait < 0 || g->blame < 0 || g->waits.n + g->holds.n >= MOST_KEPT)
		return 0;
	return gil_pairs_add(g, s) ? err_set(-ENOMEM, "out of memory") : 0;
}

int live_gil_tick(struct live *l)
{
	if (gil_pairs_make(&l->gil_now, LIVE_GIL_THREADS, LIVE_GIL_THREADS))
		return err_set(-ENOMEM, "out of memory");
	gil_pairs_fini(&l->gil);
	l->gil = l->gil_now;
	(void)gil_pairs_init(&l->gil_now, l->p);
	return 0;
}

void live_gil_clear(struct live *l)
{
	gil_pairs_fini(&l->gil);
	gil_pairs_fini(&l->gil_now);
	(void)gil_pairs_init(&l->gil, l->p);
	(void)gil_pairs_init(&l->gil_now, l->p);
}

static bool is_thread(struct live *l, uint32_t labels, const struct gil_thread *t)
{
	const struct live_who *own = live_who(l, labels);
	uint32_t pid = own->pid, tid = own->tid;
	const struct live_who *who = live_who(l, t->labels);

	return who->pid == pid && who->tid == tid;
}

/*
 * Finds the line of code in which the GIL's holder was during most of the time that others waited
 * for it. *@ret: a location in that line; 0: none is known. 0 or -ENOMEM.
 */
static int find_line(struct live *l, const struct gil_thread *t, uint32_t *ret)
{
	struct map lines; /* from a line's key to its time */
	int64_t most = 0;
	int r = 0;

	map_init(&lines);
	sums_foreach(s, &l->last)
	{
		int64_t ns = s->values[l->gil.blame];
		const uint32_t *loc = NULL;
		uint64_t key, *known;
		size_t n = 0;

		if (!r && ns > 0 && is_thread(l, s->key.labels, t))
			loc = live_stack(l, s->key.stack, &n);
		if (!n)
			continue;
		key = live_key(l, LIVE_LINES, loc[0]);
		known = map_get(&lines, key);
		ns += known ? (int64_t)*known : 0;
		r = map_put(&lines, key, (uint64_t)ns);
		if (ns > most)
			*ret = loc[0];
		most = MAX(most, ns);
	}
	map_fini(&lines);
	return r;
}

/* Appends where the GIL's holder was, as find_line() finds it: " in f (app.py:3)". */
static void add_place(struct table *v, const struct gil_thread *t, struct str *ret)
{
	uint32_t at = 0;

	ret->failed |= find_line(v->live, t, &at) != 0;
	if (!at)
		return;
	str_add(ret, " in ");
	table_location_name(v, LIVE_LINES, at, ret);
}

/* How long the thread of row .row of gil_pairs waited for one holder of the GIL. */
struct part {
	size_t row;
	int64_t ns;
};

static int longest_first(const void *va, const void *vb)
{
	const struct part *a = va, *b = vb;

	return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : a->row < b->row ? -1 : 1;
}

/*
 * Appends which threads waited for the GIL's holder in @column: "main 0.32 s, worker-1 0.15 s,
 * others 0.40 s".
 */
static void add_waiters(const struct gil_pairs *g, size_t column, struct str *ret)
{
	struct part parts[LIVE_GIL_THREADS];
	int64_t others = gil_pairs_cell(g, g->rows.n + 1, column);
	const char *apart = "";

	for (size_t i = 0; i < g->rows.n; i++)
		parts[i] = (struct part){i + 1, gil_pairs_cell(g, i + 1, column)};
	if (g->rows.n)
		qsort(parts, g->rows.n, sizeof(*parts), longest_first);
	for (size_t i = 0; i < g->rows.n; i++) {
		if (i >= NAMED || parts[i].ns <= 0) {
			others += parts[i].ns;
			continue;
		}
		str_add(ret, apart);
		gil_pairs_name(g, gil_pairs_waiter(g, parts[i].row), ret);
		str_add_c(ret, ' ');
		text_seconds(ret, parts[i].ns);
		apart = ", ";
	}
	if (others <= 0)
		return;
	str_addf(ret, "%sothers ", apart);
	text_seconds(ret, others);
}

static int64_t column_sum(const struct gil_pairs *g, size_t column)
{
	int64_t sum = 0;

	for (size_t row = 1; row < g->rows.n + 2; row++)
		sum += gil_pairs_cell(g, row, column);
	return sum;
}

/*
 * Appends the line of one holder of the GIL: how long other threads waited for it, where it was
 * meanwhile, and which threads waited.
 */
static void add_holder(struct table *v, size_t column, int64_t ns, struct str *ret)
{
	const struct gil_pairs *g = &v->live->gil;
	const struct gil_thread *holder = gil_pairs_holder(g, column);
	_cleanup_str_ struct str line = {};

	str_add(&line, "  ");
	text_seconds(&line, ns);
	str_add(&line, "  while ");
	gil_pairs_name(g, holder, &line);
	str_add(&line, " held it");
	add_place(v, holder, &line);
	str_add(&line, ": ");
	add_waiters(g, column, &line);
	text_line(ret, &line);
}

void table_gil_lines(struct table *v, struct str *ret)
{
	const struct gil_pairs *g = &v->live->gil;
	double interval = v->live->interval_seconds * NSEC_PER_SEC;
	int64_t waited = 0;

	vec_foreach(t, &g->threads)
		waited += t->waited;
	if (!g->cells || (double)waited < LEAST_PART * interval)
		return;
	str_add(ret, "Threads waited ");
	text_seconds(ret, waited);
	str_addf(ret, " for the GIL in the last %.1f s\n", v->live->interval_seconds);
	/* the first column is that of the holder for whom others waited longest */
	for (size_t column = 1; column <= MIN(g->columns.n, (size_t)LINES); column++) {
		int64_t ns = column_sum(g, column);

		if ((double)ns < LEAST_PART * interval)
			break;
		add_holder(v, column, ns, ret);
	}
}
