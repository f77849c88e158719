/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of which threads ended which threads' waits for locks, and where: as text and as JSON.
 * It is made from the value lock_blame, its label `waiter`, and the threads and lines of its
 * samples.
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
#include "view/waits/fold.h"
#include "view/waits/locks.h"
#include "view/waits/waker.h"

/*
 * The sum of all waits with the same waiting thread, the same thread that ended them, and the same
 * line.
 */
struct ended {
	/* texts of the waiting thread, the thread that ended the wait, and the line */
	char *text[3];
	int64_t ns;
};

struct wakers {
	const struct report_facts *f;
	VEC(struct ended) rows;
	struct map pid_of; /* thread id -> process id, as strings of the labels `tid` and `pid` */
	struct fold_names wakers, waiters;
	bool several; /* the threads belong to several processes */
	unsigned blame;
	int off_cpu;
	int columns[2]; /* how many columns the names of the two kinds of threads take */
	/*
	 * .waited: sum of all waits for locks; .known: the part for which it is known which thread
	 * ended the wait
	 */
	int64_t waited, known;
};

static void free_row(struct ended *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(row->text); i++)
		free(row->text[i]);
}

/* Notes to which process each thread belongs. */
static int note_processes(struct wakers *k)
{
	uint32_t first = 0;
	int r = 0;

	for (size_t i = 0; i < k->f->n_sums && !r; i++) {
		uint32_t labels = k->f->sums[i].labels;
		uint32_t pid = profile_label_value(k->f->p, labels, "pid");

		first = first ?: pid;
		k->several |= pid != first;
		r = map_put(&k->pid_of, profile_label_value(k->f->p, labels, "tid"), pid);
	}
	return r;
}

static void add_pid(const struct wakers *k, uint32_t pid, struct str *b)
{
	if (k->several && pid)
		str_addf(b, " (pid %s)", profile_get_string(k->f->p, pid));
}

/*
 * Appends the name of a thread, and its process if there are several. note_names() must have noted
 * the name.
 */
static void add_thread(struct wakers *k, struct fold_names *f, uint32_t labels, const char *name,
		       const char *tid, struct str *b)
{
	const uint64_t *pid = map_get(&k->pid_of, profile_label_value(k->f->p, labels, tid));
	_cleanup_str_ struct str text = {};

	lock_waits_thread(k->f->p, labels, name, tid, &text);
	fold_names_add(f, str_cstr(&text), b);
	add_pid(k, pid ? (uint32_t)*pid : 0, b);
}

/*
 * Notes the names of all threads that waited or ended a wait. After that it is known which names
 * differ only in numbers.
 */
static int note_names(struct wakers *k)
{
	int r = 0;

	for (size_t i = 0; i < k->f->n_sums && !r; i++) {
		uint32_t labels = k->f->sums[i].labels;
		_cleanup_str_ struct str waiter = {}, waker = {};

		if (k->f->sums[i].values[k->blame] <= 0)
			continue;
		lock_waits_thread(k->f->p, labels, "waiter", "waiter_tid", &waiter);
		lock_waits_thread(k->f->p, labels, "thread", "tid", &waker);
		r = fold_names_note(&k->waiters, str_cstr(&waiter))
			    ?: fold_names_note(&k->wakers, str_cstr(&waker));
	}
	return r;
}

static int add_row(struct wakers *k, const struct profile_sum *s)
{
	struct waits_frames at = waits_frames_of(&k->f->costs, s->stack);
	_cleanup_str_ struct str waiter = {}, waker = {}, line = {};
	struct ended row = {.ns = s->values[k->blame]};

	add_thread(k, &k->waiters, s->labels, "waiter", "waiter_tid", &waiter);
	add_thread(k, &k->wakers, s->labels, "thread", "tid", &waker);
	costs_add_line(&k->f->costs, at.callee ?: at.own, at.own, &line);
	row.text[0] = str_take(&waiter);
	row.text[1] = str_take(&waker);
	row.text[2] = str_take(&line);
	if (!row.text[0] || !row.text[1] || !row.text[2] || vec_push(&k->rows, row)) {
		free_row(&row);
		return -ENOMEM;
	}
	return 0;
}

/*
 * Returns how long the threads of the sum waited for locks. Waits of threads without work don't
 * count.
 */
static int64_t waited_for_locks(const struct profile *p, const struct profile_sum *s, int off_cpu)
{
	const struct waits_word *state = waits_word(profile_label_text(p, s->labels, "state"));

	if (off_cpu < 0 || waits_is_idle(p, s->labels) || !state || !state->lock)
		return 0;
	return MAX(s->values[off_cpu], (int64_t)0);
}

static int take_sums(struct wakers *k)
{
	int r = 0;

	for (size_t i = 0; i < k->f->n_sums && !r; i++) {
		const struct profile_sum *s = &k->f->sums[i];

		costs_sum(&k->waited, waited_for_locks(k->f->p, s, k->off_cpu));
		if (s->values[k->blame] <= 0)
			continue;
		costs_sum(&k->known, s->values[k->blame]);
		r = add_row(k, s);
	}
	return r;
}

static int compare_texts(const void *va, const void *vb)
{
	const struct ended *a = va, *b = vb;
	int d = 0;

	for (size_t i = 0; i < ARRAY_SIZE(a->text) && !d; i++)
		d = strcmp(a->text[i], b->text[i]);
	return d;
}

static int compare_times(const void *va, const void *vb)
{
	const struct ended *a = va, *b = vb;

	return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : compare_texts(va, vb);
}

/* Joins rows with the same texts into one, and sorts the rows: the longest time comes first. */
static void merge_rows(struct wakers *k)
{
	size_t n = 0;

	qsort(k->rows.v, k->rows.n, sizeof(*k->rows.v), compare_texts);
	for (size_t i = 0; i < k->rows.n; i++) {
		struct ended *row = &k->rows.v[i];

		if (n && !compare_texts(&k->rows.v[n - 1], row)) {
			costs_sum(&k->rows.v[n - 1].ns, row->ns);
			free_row(row);
		} else {
			k->rows.v[n++] = *row;
		}
	}
	k->rows.n = n;
	qsort(k->rows.v, k->rows.n, sizeof(*k->rows.v), compare_times);
}

/* a name takes at least and at most this many columns */
#define NAME_LEAST 10
#define NAME_MOST  28

/* Returns how many columns text @i needs in the first @shown rows. */
static int columns_of(const struct wakers *k, size_t i, size_t shown)
{
	int width = NAME_LEAST;

	for (size_t row = 0; row < shown; row++) {
		const char *text = k->rows.v[row].text[i];

		width = MAX(width, cells_width(text, strlen(text)));
	}
	return MIN(width, NAME_MOST);
}

static void add_cell(struct report_printer *p, const char *text, int columns, bool keep_end)
{
	_cleanup_str_ struct str shown = {};

	if (!p->md) {
		str_add(&p->row, "  ");
		cells_add(&p->row, text, columns, keep_end, !keep_end);
		return;
	}
	cells_add(&shown, text, MD_COLUMNS, keep_end, false);
	str_add(&p->row, " | ");
	markup_add_md_code(&p->row, str_cstr(&shown), shown.n);
}

/*
 * Prints one row. The row's percentage says how much of the time of all waits for locks @ns is.
 * @text: as in struct ended.
 */
static void print_row(struct report_printer *p, const struct wakers *k, int64_t ns,
		      const char *const *text)
{
	int rest = p->style->width - 22 - k->columns[0] - k->columns[1];
	int64_t whole = MAX(k->waited, k->known);
	_cleanup_str_ struct str time = {};

	markup_add_value(&time, ns, "nanoseconds");
	str_addf(&p->row, p->md ? "| %s | %.1f %%" : "%9s %6.1f %%", str_cstr(&time),
		 whole > 0 ? 100.0 * (double)ns / (double)whole : 0.0);
	add_cell(p, text[0], k->columns[0], false);
	add_cell(p, text[1], k->columns[1], false);
	add_cell(p, text[2], MAX(rest, 20), true);
	str_add(&p->row, p->md ? " |" : "");
	report_end_row(p);
}

static void print_table(struct report_printer *p, struct wakers *k)
{
	int64_t rest = 0, unknown = MAX(k->waited - k->known, (int64_t)0);
	size_t shown = MIN(k->rows.n, (size_t)p->style->limit);
	char more[32];

	k->columns[0] = columns_of(k, 0, shown);
	k->columns[1] = columns_of(k, 1, shown);
	if (p->md)
		fputs("\n| waited | share | who waited | ended by | in |\n"
		      "|---:|---:|---|---|---|\n",
		      p->out);
	else
		fprintf(p->out, "\n   waited    share  %-*s  %-*s  in\n", k->columns[0],
			"who waited", k->columns[1], "ended by");
	for (size_t i = 0; i < k->rows.n; i++)
		if (i < shown)
			print_row(p, k, k->rows.v[i].ns, (const char *const *)k->rows.v[i].text);
		else
			costs_sum(&rest, k->rows.v[i].ns);
	snprintf(more, sizeof(more), "%zu more", k->rows.n - shown);
	if (rest)
		print_row(p, k, rest, (const char *const[]){more, "", ""});
	if (unknown)
		print_row(p, k, unknown, (const char *const[]){"", "not known", ""});
}

int report_print_wakers(struct report_printer *p)
{
	struct wakers k = {.f = p->f, .off_cpu = profile_time_value(p->f->p, "off_cpu")};
	int blame = profile_time_value(p->f->p, "lock_blame"), r;

	if (blame < 0 || p->f->costs.less || !streq(p->style->by, "waiter"))
		return 0;
	k.blame = (unsigned)blame;
	map_init(&k.pid_of);
	fold_names_init(&k.waiters);
	fold_names_init(&k.wakers);
	r = note_processes(&k);
	r = r ? r : note_names(&k);
	r = r ? r : take_sums(&k);
	if (!r && k.rows.n) {
		merge_rows(&k);
		print_table(p, &k);
	}
	vec_foreach(row, &k.rows)
		free_row(row);
	vec_fini(&k.rows);
	map_fini(&k.pid_of);
	fold_names_fini(&k.waiters);
	fold_names_fini(&k.wakers);
	return r ? err_set(r, "out of memory") : 0;
}

static int take_for_json(const struct report_facts *f, struct lock_waits *w)
{
	int off_cpu = f->filtered ? -1 : profile_time_value(f->p, "off_cpu"), r = 0;

	for (size_t i = 0; i < f->n_sums && !r; i++) {
		const struct profile_sum *s = &f->sums[i];
		int64_t waited = waited_for_locks(f->p, s, off_cpu);
		struct waits_frames at;

		if (waited)
			r = lock_waits_add_rest(w, s->labels, waited);
		if (r || s->values[w->blame] <= 0)
			continue;
		at = waits_frames_of(&f->costs, s->stack);
		r = lock_waits_add(w, s->labels, at.own ?: at.callee, s->values[w->blame]);
	}
	return r ? r : lock_waits_sort(w);
}

int report_put_lock_waits(const struct report_facts *f, FILE *out)
{
	_cleanup_(lock_waits_fini) struct lock_waits w = {};
	_cleanup_str_ struct str text = {};

	if (!lock_waits_init(&w, f->p) || f->costs.less)
		return 0;
	if (take_for_json(f, &w))
		return err_set(-ENOMEM, "out of memory");
	lock_waits_json(&w, &text);
	if (text.n)
		fprintf(out, "  \"lock_waits\": [%s],\n", str_cstr(&text));
	return text.failed ? err_set(-ENOMEM, "out of memory") : 0;
}
