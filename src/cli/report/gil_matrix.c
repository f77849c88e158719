/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of who waited for whom. A sample's gil_blame is how long others waited while its thread
 * held the GIL. It is divided between the threads of the process that waited at that time, by
 * gil_wait of their samples (a wait begins at the time of its sample). "At that time" means within
 * the same 10 ms, because files have no finer times by default, or while the holder itself waited.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "cli/cells.h"
#include "cli/report/print.h"
#include "picture/markup.h"

#define BUCKET_NS ((int64_t)10000000)
#define SHOWN	  6 /* the most threads that have a row or a column of their own */
/* A time in which a thread waited for the GIL, or held it. */
struct span {
	int64_t from, to;
	int64_t ns;	  /* of a holder: what others waited for it */
	uint32_t process; /* string id of label `pid` */
	uint32_t thread;  /* index in matrix.threads */
	/* how long the threads of each row had waited in the process until .from; of a holder */
	double before[SHOWN + 2];
};

typedef VEC(struct span) spans;

/* How long some threads of a process have waited until a moment, in sum. */
struct waited {
	double ns;
	int64_t at_ns; /* the moment */
	int64_t open;  /* how many of their waits have begun by then, and haven't ended */
};

/* What happens at a moment: a wait or a time of a holder begins or ends. */
struct event {
	int64_t at_ns;
	uint32_t span; /* index in matrix.waits or .holds */
	bool holds, ends;
};

struct thread {
	uint32_t name; /* string id of the label `thread`; 0: others, or not known */
	int64_t waited, blamed;
	/* row and column of the thread, from 1; 0: not known; SHOWN + 1: "others" */
	uint32_t row, column;
};

struct matrix {
	const struct report_facts *f;
	unsigned wait, blame, off_cpu;
	VEC(struct thread) threads; /* the first stands for what isn't known */
	struct map by_name;
	spans waits, holds;
	/* of a process the sums of all rows side by side; of each thread that waited its own */
	VEC(struct waited) sums;
	struct map by_process, by_thread; /* indices in .sums */
	VEC(struct event) events;
	bool timeless;				 /* some samples have no time */
	uint32_t waiters[SHOWN], holders[SHOWN]; /* threads that are shown, the largest first */
	size_t n_waiters, n_holders;
	int64_t cells[SHOWN + 2][SHOWN + 2]; /* [thread.row][thread.column] */
};

static int thread_of(struct matrix *m, uint32_t labels, uint32_t *ret)
{
	uint32_t name = profile_label_value(m->f->p, labels, "thread")
				?: profile_label_value(m->f->p, labels, "tid");
	const uint64_t *at = map_get(&m->by_name, name);

	*ret = at ? (uint32_t)*at : (uint32_t)m->threads.n;
	if (at)
		return 0;
	return vec_push(&m->threads, (struct thread){.name = name})
		       ?: map_put(&m->by_name, name, *ret);
}

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct matrix *m = arg;
	int64_t waited = s->values[m->wait], blamed = s->values[m->blame];
	struct span span = {.from = s->time_ns,
			    .ns = blamed,
			    .process = profile_label_value(m->f->p, s->labels, "pid")};
	int r;

	if (waited <= 0 && blamed <= 0)
		return 0;
	m->timeless |= s->time_ns < 0;
	r = thread_of(m, s->labels, &span.thread);
	if (!r && waited > 0 && !__builtin_add_overflow(span.from, waited, &span.to)) {
		costs_sum(&m->threads.v[span.thread].waited, waited);
		r = vec_push(&m->waits, span);
	}
	span.from -= span.from % BUCKET_NS;
	if (__builtin_add_overflow(
		    span.from, MAX(m->off_cpu ? s->values[m->off_cpu] : 0, BUCKET_NS), &span.to))
		span.to = INT64_MAX;
	if (!r && blamed > 0) {
		costs_sum(&m->threads.v[span.thread].blamed, blamed);
		r = vec_push(&m->holds, span);
	}
	return r ? err_set(-ENOMEM, "out of memory") : 0;
}

static int in_order(const void *va, const void *vb)
{
	const struct event *a = va, *b = vb;

	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

/* Returns the sum of @w until @at_ns, which isn't before the moment that was asked for last. */
static double until(struct waited *w, int64_t at_ns)
{
	w->ns += (double)w->open * (double)(at_ns - w->at_ns);
	w->at_ns = at_ns;
	return w->ns;
}

/* The sums of the rows in process @process; NULL: nobody waited there. */
static struct waited *rows_of(const struct matrix *m, uint32_t process)
{
	const uint64_t *at = map_get(&m->by_process, process);

	return at ? &m->sums.v[*at] : NULL;
}

/* The sum of the span's thread; NULL: it never waited. */
static struct waited *own_sum(const struct matrix *m, const struct span *s)
{
	const uint64_t *at = map_get(&m->by_thread, (uint64_t)s->process << 32 | s->thread);

	return at ? &m->sums.v[*at] : NULL;
}

static int make_sums(struct matrix *m, struct map *by, uint64_t key, size_t n)
{
	int r = map_put(by, key, m->sums.n);

	for (size_t i = 0; !r && i < n; i++)
		r = vec_push(&m->sums, (struct waited){});
	return r;
}

static int make_all_sums(struct matrix *m)
{
	int r = 0;

	vec_foreach(wait, &m->waits) {
		if (!r && !rows_of(m, wait->process))
			r = make_sums(m, &m->by_process, wait->process, SHOWN + 2);
		if (!r && !own_sum(m, wait))
			r = make_sums(m, &m->by_thread,
				      (uint64_t)wait->process << 32 | wait->thread, 1);
	}
	return r;
}

static int add_events(struct matrix *m, const spans *of, bool holds)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < of->n; i++) {
		r = vec_push(&m->events, (struct event){of->v[i].from, i, holds, false});
		r = r ?: vec_push(&m->events, (struct event){of->v[i].to, i, holds, true});
	}
	return r;
}

/*
 * Gets how long the threads of each row have waited until @at_ns, without the thread that holds the
 * GIL.
 */
static void waited_until(const struct matrix *m, const struct span *hold, int64_t at_ns,
			 double ret[static SHOWN + 2])
{
	struct waited *rows = rows_of(m, hold->process), *own = own_sum(m, hold);

	for (size_t i = 0; i < SHOWN + 2; i++)
		ret[i] = rows ? until(&rows[i], at_ns) : 0;
	if (own)
		ret[m->threads.v[hold->thread].row] -= until(own, at_ns);
}

static int64_t *cell(struct matrix *m, size_t row, const struct span *hold)
{
	return &m->cells[row][m->threads.v[hold->thread].column];
}

/* @hold ends: divides what others waited for it between those who waited meanwhile. */
static void divide(struct matrix *m, const struct span *hold)
{
	double ns[SHOWN + 2], whole = 0;

	waited_until(m, hold, hold->to, ns);
	for (size_t i = 0; i < SHOWN + 2; i++) {
		ns[i] = MAX(ns[i] - hold->before[i], 0.0);
		whole += ns[i];
	}
	if (whole <= 0) {
		costs_sum(cell(m, 0, hold), hold->ns);
		return;
	}
	for (size_t i = 0; i < SHOWN + 2; i++) {
		double part = ns[i] / whole;

		costs_sum(cell(m, i, hold),
			  part < 1 ? (int64_t)((double)hold->ns * part) : hold->ns);
	}
}

static void happen(struct matrix *m, const struct event *e)
{
	struct span *s = e->holds ? &m->holds.v[e->span] : &m->waits.v[e->span];
	struct waited *row, *own;

	if (e->holds && e->ends) {
		divide(m, s);
	} else if (e->holds) {
		waited_until(m, s, e->at_ns, s->before);
	} else {
		row = rows_of(m, s->process) + m->threads.v[s->thread].row;
		own = own_sum(m, s);
		(void)until(row, e->at_ns);
		(void)until(own, e->at_ns);
		row->open += e->ends ? -1 : 1;
		own->open += e->ends ? -1 : 1;
	}
}

/* Goes through all that happened in the order of time, so no wait is compared with a holder. */
static int fill(struct matrix *m)
{
	int r = make_all_sums(m);

	r = r ?: add_events(m, &m->waits, false);
	r = r ?: add_events(m, &m->holds, true);
	if (r)
		return r;
	qsort(m->events.v, m->events.n, sizeof(*m->events.v), in_order);
	vec_foreach(e, &m->events)
		happen(m, e);
	return 0;
}

/*
 * Gets the threads that waited (@waiters), or were waited for, longest: ret[0..SHOWN), the largest
 * first. Returns their number.
 */
static size_t largest(const struct matrix *m, bool waiters, uint32_t *ret)
{
	size_t n = 0;

	for (uint32_t i = 1; i < m->threads.n; i++) {
		const struct thread *t = &m->threads.v[i];
		int64_t ns = waiters ? t->waited : t->blamed;
		size_t at = n;

		while (at && ns > (waiters ? m->threads.v[ret[at - 1]].waited
					   : m->threads.v[ret[at - 1]].blamed))
			at--;
		if (ns <= 0 || at == SHOWN)
			continue;
		n = MIN(n + 1, (size_t)SHOWN);
		memmove(&ret[at + 1], &ret[at], (n - at - 1) * sizeof(*ret));
		ret[at] = i;
	}
	return n;
}

/* Chooses which threads have rows and columns. */
static void choose(struct matrix *m)
{
	m->n_waiters = largest(m, true, m->waiters);
	m->n_holders = largest(m, false, m->holders);
	for (size_t i = 1; i < m->threads.n; i++)
		m->threads.v[i].row = m->threads.v[i].column = SHOWN + 1;
	for (size_t i = 0; i < m->n_waiters; i++)
		m->threads.v[m->waiters[i]].row = (uint32_t)i + 1;
	for (size_t i = 0; i < m->n_holders; i++)
		m->threads.v[m->holders[i]].column = (uint32_t)i + 1;
}

#define NAME_COLUMNS 16
#define CELL_COLUMNS 11

static void add_cell(struct str *out, const char *text, bool md)
{
	int n = cells_width(text, strlen(text));

	if (md) {
		str_add(out, " | ");
		cells_add(out, text, NAME_COLUMNS, true, false);
		return;
	}
	str_addf(out, "%*s", MAX(CELL_COLUMNS - n, 1), "");
	cells_add(out, text, CELL_COLUMNS - 1, true, false);
}

static void add_ns(struct str *out, int64_t ns, bool md)
{
	_cleanup_str_ struct str text = {};

	if (ns)
		markup_add_value(&text, ns, "nanoseconds");
	add_cell(out, ns ? str_cstr(&text) : "-", md);
}

static const char *name_of(const struct matrix *m, uint32_t thread)
{
	uint32_t name = m->threads.v[thread].name;

	return name ? profile_get_string(m->f->p, name) : "not known";
}

/* Adds a row of the table. @waited: how long the row's threads waited in all. */
static void add_row(const struct matrix *m, const char *name, size_t row, int64_t waited, bool md,
		    struct str *out)
{
	int64_t all = 0;

	str_add(out, md ? "| " : "  ");
	cells_add(out, name, NAME_COLUMNS, false, !md);
	for (size_t i = 0; i < SHOWN + 2; i++) {
		costs_sum(&all, m->cells[row][i]);
		if (i && i <= m->n_holders)
			add_ns(out, m->cells[row][i], md);
	}
	add_ns(out, m->cells[row][SHOWN + 1], md);
	add_ns(out, MAX(waited - all, (int64_t)0), md);
	str_add(out, md ? " |\n" : "\n");
}

static void add_head(const struct matrix *m, bool md, struct str *out)
{
	str_add(out, md ? "\n| waited for the GIL"
			: "\n  waited for the GIL while it was held by, in columns\n");
	if (!md)
		cells_add(out, "", NAME_COLUMNS + 2, false, true);
	for (size_t i = 0; i < m->n_holders; i++)
		add_cell(out, name_of(m, m->holders[i]), md);
	add_cell(out, "others", md);
	add_cell(out, "nobody", md);
	str_add(out, md ? " |\n|---" : "\n");
	for (size_t i = 0; md && i < m->n_holders + 2; i++)
		str_add(out, "|---:");
	str_add(out, md ? "|\n" : "");
}

static void add_rows(const struct matrix *m, bool md, struct str *out)
{
	int64_t others = 0, unknown = 0;

	add_head(m, md, out);
	for (size_t i = 0; i < m->n_waiters; i++)
		add_row(m, name_of(m, m->waiters[i]), i + 1, m->threads.v[m->waiters[i]].waited, md,
			out);
	vec_foreach(t, &m->threads)
		if (t->row == SHOWN + 1)
			costs_sum(&others, t->waited);
	for (size_t i = 0; i < SHOWN + 2; i++)
		costs_sum(&unknown, m->cells[0][i]);
	if (others)
		add_row(m, "others", SHOWN + 1, others, md, out);
	if (unknown)
		add_row(m, "not known", 0, unknown, md, out);
}

static int make(struct matrix *m, bool md, struct str *out)
{
	int r = vec_push(&m->threads, (struct thread){});

	r = r ? err_set(r, "out of memory") : profile_each(m->f->p, take_sample, m);
	if (r || !m->waits.n)
		return r;
	if (m->timeless) {
		str_add(out, "\nWho waited for whom isn't known: samples have no times.\n");
		return 0;
	}
	choose(m);
	r = fill(m);
	if (r)
		return err_set(r, "out of memory");
	add_rows(m, md, out);
	return 0;
}

int report_print_gil_matrix(struct report_printer *p)
{
	const struct report_facts *f = p->f;
	_cleanup_str_ struct str out = {};
	int wait = report_value_index(f, "gil_wait"), blame = report_value_index(f, "gil_blame");
	int off_cpu = report_value_index(f, "off_cpu"), r;
	struct matrix m = {.f = f};

	if (wait < 0 || blame < 0 || f->costs.less || !streq(p->style->by, "gil"))
		return 0;
	m.wait = (unsigned)wait;
	m.blame = (unsigned)blame;
	m.off_cpu = off_cpu > 0 ? (unsigned)off_cpu : 0;
	map_init(&m.by_name);
	map_init(&m.by_process);
	map_init(&m.by_thread);
	r = make(&m, p->md, &out);
	fputs(str_cstr(&out), p->out);
	vec_fini(&m.threads);
	vec_fini(&m.waits);
	vec_fini(&m.holds);
	vec_fini(&m.sums);
	vec_fini(&m.events);
	map_fini(&m.by_name);
	map_fini(&m.by_process);
	map_fini(&m.by_thread);
	return r;
}
