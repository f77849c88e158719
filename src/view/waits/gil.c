/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Divides the time that threads waited for the GIL between its holders; see gil.h. The waits of a
 * row are kept as two sorted lists: of their beginnings and of their ends. Four searches in these
 * lists tell how long the row waited in a span of time, however many waits it has.
 */
#include "view/waits/gil.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "view/costs/costs.h"
#include "view/waits/waits.h"

#define BUCKET_NS (10 * (int64_t)NSEC_PER_MSEC)

/*
 * Times in ascending order. .sums[i]: the sum of the times before .v[i]; the last entry is the sum
 * of all times.
 */
struct times {
	VEC(uint64_t) v;
	uint64_t *sums;
};

/* The waits of one thread, or of all threads of a row in one process. */
struct series {
	struct times from, to;
	uint32_t process, row;
};

struct maker {
	struct gil_pairs *g;
	VEC(struct series) rows;
	struct map row_at;  /* from a process and a row to 1 + index in .rows */
	struct series *own; /* by thread */
	/* by row: how long the row's threads waited in the span of time that is being divided */
	double *part;
	size_t n_rows, n_columns;
};

bool gil_pairs_init(struct gil_pairs *g, struct profile *p)
{
	*g = (struct gil_pairs){.p = p,
				.wait = profile_time_value(p, "gil_wait"),
				.blame = profile_time_value(p, "gil_blame"),
				.off = profile_time_value(p, "off_cpu")};
	map_init(&g->by_id);
	return g->wait >= 0 && g->blame >= 0;
}

void gil_pairs_fini(struct gil_pairs *g)
{
	vec_fini(&g->threads);
	map_fini(&g->by_id);
	vec_fini(&g->waits);
	vec_fini(&g->holds);
	vec_fini(&g->rows);
	vec_fini(&g->columns);
	free(g->cells);
	free(g->nobody);
	g->cells = g->nobody = NULL;
}

/* Finds the thread that a label set is of. A thread without a number is known by its name. */
static int thread_of(struct gil_pairs *g, uint32_t labels, uint32_t *ret)
{
	struct gil_thread t = {.labels = labels,
			       .process = profile_label_value(g->p, labels, "pid")};
	uint32_t id = profile_label_value(g->p, labels, "tid")
			      ?: profile_label_value(g->p, labels, "thread");
	uint64_t key = (uint64_t)t.process << 32 | id, *at = map_get(&g->by_id, key);
	int r = g->threads.n ? 0 : vec_push(&g->threads, (struct gil_thread){});

	*ret = at ? (uint32_t)*at : (uint32_t)g->threads.n;
	if (at || r)
		return r;
	return vec_push(&g->threads, t) ?: map_put(&g->by_id, key, *ret);
}

static int64_t end_of(int64_t from, int64_t ns)
{
	int64_t to;

	return __builtin_add_overflow(from, ns, &to) ? INT64_MAX : to;
}

int gil_pairs_add(struct gil_pairs *g, const struct profile_sample *s)
{
	int64_t waited = s->values[g->wait], blamed = s->values[g->blame];
	int64_t off = g->off < 0 ? 0 : s->values[g->off], from = s->time_ns;
	struct gil_span span = {.from = from};
	int r;

	if (waited <= 0 && blamed <= 0)
		return 0;
	g->timeless |= from < 0;
	r = thread_of(g, s->labels, &span.thread);
	if (!r && waited > 0) {
		costs_sum(&g->threads.v[span.thread].waited, waited);
		span.ns = waited;
		span.to = end_of(from, waited);
		r = vec_push(&g->waits, span);
	}
	if (!r && blamed > 0) {
		costs_sum(&g->threads.v[span.thread].blamed, blamed);
		span.from -= span.from % BUCKET_NS;
		span.to = end_of(span.from, MAX(off, BUCKET_NS));
		span.ns = blamed;
		r = vec_push(&g->holds, span);
	}
	return r;
}

/*
 * With @waiters, returns the thread that waited longest of those that have no row yet; otherwise
 * the thread for which other threads waited longest of those that have no column yet.
 */
static uint32_t longest(const struct gil_pairs *g, bool waiters)
{
	uint32_t best = 0;
	int64_t most = 0;

	for (uint32_t i = 1; i < g->threads.n; i++) {
		const struct gil_thread *t = &g->threads.v[i];
		int64_t ns = waiters ? t->waited : t->blamed;

		if ((waiters ? t->row : t->column) || ns <= most)
			continue;
		best = i;
		most = ns;
	}
	return best;
}

/*
 * Chooses which threads have rows and columns of their own. All other threads share the last row
 * and the last column.
 */
static int choose(struct gil_pairs *g, size_t rows, size_t columns)
{
	uint32_t at;

	while (g->rows.n < rows && (at = longest(g, true))) {
		if (vec_push(&g->rows, at))
			return -ENOMEM;
		g->threads.v[at].row = (uint32_t)g->rows.n;
	}
	while (g->columns.n < columns && (at = longest(g, false))) {
		if (vec_push(&g->columns, at))
			return -ENOMEM;
		g->threads.v[at].column = (uint32_t)g->columns.n;
	}
	for (size_t i = 1; i < g->threads.n; i++) {
		struct gil_thread *t = &g->threads.v[i];

		t->row = t->row ?: (uint32_t)g->rows.n + 1;
		t->column = t->column ?: (uint32_t)g->columns.n + 1;
	}
	return 0;
}

static int ascending(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

	return a < b ? -1 : a > b;
}

static int sort_times(struct times *t)
{
	t->sums = calloc(t->v.n + 1, sizeof(*t->sums));
	if (!t->sums)
		return -ENOMEM;
	if (t->v.n)
		qsort(t->v.v, t->v.n, sizeof(*t->v.v), ascending);
	for (size_t i = 0; i < t->v.n; i++)
		t->sums[i + 1] = t->sums[i] + t->v.v[i];
	return 0;
}

static int add_wait(struct series *s, const struct gil_span *wait)
{
	return vec_push(&s->from.v, (uint64_t)wait->from) ?: vec_push(&s->to.v, (uint64_t)wait->to);
}

static struct series *row_of(struct maker *m, const struct gil_thread *t)
{
	uint64_t key = (uint64_t)t->process << 32 | t->row, *at = map_get(&m->row_at, key);

	if (at)
		return &m->rows.v[*at - 1];
	if (vec_push(&m->rows, (struct series){.process = t->process, .row = t->row}) ||
	    map_put(&m->row_at, key, m->rows.n))
		return NULL;
	return &m->rows.v[m->rows.n - 1];
}

static int sort_series(struct series *s)
{
	return sort_times(&s->from) ?: sort_times(&s->to);
}

static void series_fini(struct series *s)
{
	vec_fini(&s->from.v);
	vec_fini(&s->to.v);
	free(s->from.sums);
	free(s->to.sums);
}

static int sort_waits(struct maker *m)
{
	int r = 0;

	vec_foreach(wait, &m->g->waits) {
		struct series *row = row_of(m, &m->g->threads.v[wait->thread]);

		r = row ? add_wait(row, wait) : -ENOMEM;
		r = r ? r : add_wait(&m->own[wait->thread], wait);
		if (r)
			return r;
	}
	vec_foreach(row, &m->rows)
		r = r ? r : sort_series(row);
	for (size_t i = 0; i < m->g->threads.n; i++)
		r = r ? r : sort_series(&m->own[i]);
	return r;
}

/* Returns how many of the times @t are before @at. */
static size_t before(const struct times *t, uint64_t at)
{
	size_t low = 0, high = t->v.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->v.v[mid] < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the sum of @at minus time, over all times of @t before @at. */
static uint64_t after_each(const struct times *t, uint64_t at)
{
	size_t n = before(t, at);

	return n * at - t->sums[n];
}

/*
 * Returns how long the waits were within the span of time. The sums may wrap around, but their
 * differences are right all the same, because these fit into 64 bits, except in a forged file.
 */
static double waited_in(const struct series *s, const struct gil_span *span)
{
	uint64_t from = (uint64_t)span->from, to = (uint64_t)span->to;

	return (double)(after_each(&s->from, to) - after_each(&s->from, from) -
			after_each(&s->to, to) + after_each(&s->to, from));
}

static int64_t *cell(const struct gil_pairs *g, size_t row, size_t column)
{
	return &g->cells[row * (g->columns.n + 2) + column];
}

/*
 * Computes .part: how long the threads of each row waited in the span of time, in process @process.
 */
static void find_parts(struct maker *m, uint32_t process, const struct gil_span *span)
{
	for (size_t row = 0; row < m->n_rows; row++) {
		uint64_t *at = map_get(&m->row_at, (uint64_t)process << 32 | row);

		m->part[row] = at ? waited_in(&m->rows.v[*at - 1], span) : 0;
	}
}

/*
 * Divides the time that other threads waited for the holder @hold between the rows, in proportion
 * to .part. Leaves out the time that the holder itself waited in the same 10 ms.
 */
static void divide(struct maker *m, const struct gil_span *hold)
{
	const struct gil_thread *t = &m->g->threads.v[hold->thread];
	double own = waited_in(&m->own[hold->thread], hold), whole = -own;

	for (size_t row = 0; row < m->n_rows; row++)
		whole += m->part[row];
	if (whole < 1) {
		costs_sum(cell(m->g, 0, t->column), hold->ns);
		return;
	}
	for (size_t row = 0; row < m->n_rows; row++) {
		double part = MAX(m->part[row] - (row == t->row ? own : 0), 0.0) / whole;

		costs_sum(cell(m->g, row, t->column),
			  part < 1 ? (int64_t)((double)hold->ns * part) : hold->ns);
	}
}

static int by_time(const void *va, const void *vb, void *arg)
{
	const struct gil_pairs *g = arg;
	const struct gil_span *a = va, *b = vb;
	uint32_t pa = g->threads.v[a->thread].process, pb = g->threads.v[b->thread].process;

	if (pa != pb)
		return pa < pb ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/*
 * Divides, for each holder, the time that other threads waited for it. Most holders held the GIL in
 * the same 10 ms as the holder before them, so .part needn't be computed for each.
 */
static void divide_all(struct maker *m)
{
	struct gil_pairs *g = m->g;
	const struct gil_span *last = NULL;

	if (g->holds.n)
		qsort_r(g->holds.v, g->holds.n, sizeof(*g->holds.v), by_time, g);
	vec_foreach(hold, &g->holds) {
		if (!last || by_time(last, hold, g))
			find_parts(m, g->threads.v[hold->thread].process, hold);
		divide(m, hold);
		last = hold;
	}
}

static void find_nobody(struct gil_pairs *g)
{
	for (size_t i = 1; i < g->threads.n; i++)
		costs_sum(&g->nobody[g->threads.v[i].row], g->threads.v[i].waited);
	for (size_t row = 0; row < g->rows.n + 2; row++)
		for (size_t column = 0; column < g->columns.n + 2; column++)
			costs_sum(&g->nobody[row], -*cell(g, row, column));
}

static int make(struct maker *m)
{
	struct gil_pairs *g = m->g;
	int r;

	m->n_rows = g->rows.n + 2;
	g->cells = calloc(m->n_rows * (g->columns.n + 2), sizeof(*g->cells));
	g->nobody = calloc(m->n_rows, sizeof(*g->nobody));
	m->part = calloc(m->n_rows, sizeof(*m->part));
	m->own = calloc(g->threads.n + 1, sizeof(*m->own));
	r = g->cells && g->nobody && m->part && m->own ? sort_waits(m) : -ENOMEM;
	if (r)
		return r;
	divide_all(m);
	find_nobody(g);
	return 0;
}

int gil_pairs_make(struct gil_pairs *g, size_t rows, size_t columns)
{
	struct maker m = {.g = g};
	int r = choose(g, rows, columns);

	map_init(&m.row_at);
	r = r ? r : make(&m);
	vec_foreach(row, &m.rows)
		series_fini(row);
	for (size_t i = 0; m.own && i < g->threads.n; i++)
		series_fini(&m.own[i]);
	vec_fini(&m.rows);
	map_fini(&m.row_at);
	free(m.own);
	free(m.part);
	return r;
}

int64_t gil_pairs_cell(const struct gil_pairs *g, size_t row, size_t column)
{
	return *cell(g, row, column);
}

int64_t gil_pairs_nobody(const struct gil_pairs *g, size_t row)
{
	return row ? MAX(g->nobody[row], (int64_t)0) : 0;
}

/* Tells whether another thread of the table has the same name. */
static bool has_namesake(const struct gil_pairs *g, const struct gil_thread *t)
{
	uint32_t name = profile_label_value(g->p, t->labels, "thread");

	for (size_t i = 0; i < g->rows.n + g->columns.n; i++) {
		uint32_t at = i < g->rows.n ? g->rows.v[i] : g->columns.v[i - g->rows.n];
		const struct gil_thread *other = &g->threads.v[at];

		if (other != t && profile_label_value(g->p, other->labels, "thread") == name)
			return true;
	}
	return false;
}

bool gil_pairs_name(const struct gil_pairs *g, const struct gil_thread *t, struct str *b)
{
	const char *name = profile_label_text(g->p, t->labels, "thread");
	const char *tid = profile_label_text(g->p, t->labels, "tid");
	bool numbered = *name && *tid && has_namesake(g, t);

	if (numbered)
		str_addf(b, "%s (tid %s)", name, tid);
	else if (*name)
		str_add(b, name);
	else if (*tid)
		str_addf(b, "tid %s", tid);
	else
		profile_add_no_label(b, "thread");
	return numbered;
}
