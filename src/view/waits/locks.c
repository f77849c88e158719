/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up which threads waited for whose locks; see locks.h. */
#include "view/waits/locks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "view/costs/costs.h"
#include "view/waits/fold.h"
#include "view/waits/waits.h"

bool lock_waits_init(struct lock_waits *w, struct profile *p)
{
	*w = (struct lock_waits){.p = p, .blame = profile_time_value(p, "lock_blame")};
	map_init(&w->line_at);
	map_init(&w->rest_of);
	intern_init(&w->shown, 0);
	return w->blame >= 0;
}

void lock_waits_fini(struct lock_waits *w)
{
	vec_fini(&w->waits);
	vec_fini(&w->places);
	vec_fini(&w->rests);
	map_fini(&w->line_at);
	map_fini(&w->rest_of);
	intern_fini(&w->shown);
}

/*
 * Replaces the location *@at by the one that stands for its line: the columns of a line are one
 * place. 0 or -ENOMEM.
 */
static int to_line(struct lock_waits *w, uint32_t *at)
{
	const struct profile_location *l = *at ? profile_get_location(w->p, *at) : NULL;
	uint64_t key = l ? (uint64_t)l->function << 32 | (uint32_t)l->line : 0;
	const uint64_t *known = map_get(&w->line_at, key);

	if (!l || !l->function || !l->line)
		return 0;
	if (!known)
		return map_put(&w->line_at, key, *at);
	*at = (uint32_t)*known;
	return 0;
}

int lock_waits_add(struct lock_waits *w, uint32_t labels, uint32_t at, int64_t ns)
{
	int r = to_line(w, &at);
	struct lock_wait one = {
		.labels = labels,
		.at = at,
		.waker = profile_label_value(w->p, labels, "tid"),
		.waiter = profile_label_value(w->p, labels, "waiter_tid"),
		.ns = ns,
	};

	return r ?: vec_push(&w->waits, one);
}

int lock_waits_add_rest(struct lock_waits *w, uint32_t labels, int64_t ns)
{
	uint32_t tid = profile_label_value(w->p, labels, "tid");
	const uint64_t *at = map_get(&w->rest_of, tid);
	size_t i = at ? *at : w->rests.n;
	int r = 0;

	if (!at)
		r = vec_push(&w->rests, (struct lock_rest){.labels = labels})
			    ?: map_put(&w->rest_of, tid, i);
	if (!r)
		costs_sum(&w->rests.v[i].ns, ns);
	return r;
}

void lock_waits_thread(const struct profile *p, uint32_t labels, const char *name, const char *tid,
		       struct str *b)
{
	const char *text = profile_label_text(p, labels, name);
	const char *number = profile_label_text(p, labels, tid);

	if (*text)
		str_add(b, text);
	else if (*number)
		str_addf(b, "tid %s", number);
	else
		str_add(b, "others");
}

/*
 * If @note is set, only passes the thread's name to fold_names_note() (fold.h). Otherwise sets *id
 * to the name under which the thread is shown. @name, @tid: keys of the labels with the thread's
 * name and number.
 */
static int fold(struct lock_waits *w, struct fold_names *f, bool note, uint32_t labels,
		const char *name, const char *tid, uint32_t *id)
{
	_cleanup_str_ struct str b = {}, shown = {};

	lock_waits_thread(w->p, labels, name, tid, &b);
	if (b.failed)
		return -ENOMEM;
	if (note)
		return fold_names_note(f, str_cstr(&b));
	fold_names_add(f, str_cstr(&b), &shown);
	*id = shown.failed ? 0 : intern_put(&w->shown, str_cstr(&shown), shown.n);
	return *id ? 0 : -ENOMEM;
}

static int fold_all(struct lock_waits *w, struct fold_names *wakers, struct fold_names *waiters,
		    bool note)
{
	int r = 0;

	vec_foreach(one, &w->waits) {
		r = r ? r : fold(w, wakers, note, one->labels, "thread", "tid", &one->waker);
		if (!r && one->waiter)
			r = fold(w, waiters, note, one->labels, "waiter", "waiter_tid",
				 &one->waiter);
	}
	return r;
}

int lock_waits_fold(struct lock_waits *w)
{
	struct fold_names wakers, waiters;
	int r;

	fold_names_init(&wakers);
	fold_names_init(&waiters);
	r = fold_all(w, &wakers, &waiters, true) ?: fold_all(w, &wakers, &waiters, false);
	fold_names_fini(&wakers);
	fold_names_fini(&waiters);
	return r;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_place(const void *va, const void *vb)
{
	const struct lock_wait *a = va, *b = vb;
	int r = compare(a->waker, b->waker) ?: compare(a->at, b->at);

	return r ?: compare(a->waiter, b->waiter);
}

static int longest_wait(const void *va, const void *vb)
{
	const struct lock_wait *a = va, *b = vb;

	return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : compare(a->waiter, b->waiter);
}

static int longest_place(const void *va, const void *vb)
{
	const struct lock_place *a = va, *b = vb;

	return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : compare(a->first, b->first);
}

/*
 * Merges all waits with the same thread, waker and place into one. The waits must be sorted by
 * these three.
 */
static void merge(struct lock_waits *w)
{
	size_t n = 0;

	vec_foreach(one, &w->waits) {
		if (n && !by_place(&w->waits.v[n - 1], one))
			costs_sum(&w->waits.v[n - 1].ns, one->ns);
		else
			w->waits.v[n++] = *one;
	}
	w->waits.n = n;
}

static int find_places(struct lock_waits *w)
{
	struct lock_place *last = NULL;

	for (size_t i = 0; i < w->waits.n; i++) {
		const struct lock_wait *one = &w->waits.v[i], *before = one - 1;

		if (!i || before->waker != one->waker || before->at != one->at) {
			if (vec_push(&w->places, (struct lock_place){.first = i}))
				return -ENOMEM;
			last = &w->places.v[w->places.n - 1];
		}
		last->n++;
		costs_sum(&last->ns, one->ns);
		costs_sum(&w->ns, one->ns);
	}
	return 0;
}

/*
 * Subtracts the waits whose waker is known from the time for which each thread waited. If some
 * waits are of unknown threads, the rest isn't known for any thread.
 */
static void find_rests(struct lock_waits *w)
{
	vec_foreach(one, &w->waits) {
		const uint64_t *at = map_get(&w->rest_of, one->waiter);

		if (!one->waiter) {
			w->rests.n = 0;
			return;
		}
		if (at)
			costs_sum(&w->rests.v[*at].ns, -one->ns);
	}
}

int lock_waits_sort(struct lock_waits *w)
{
	if (!w->waits.n)
		return 0;
	qsort(w->waits.v, w->waits.n, sizeof(*w->waits.v), by_place);
	merge(w);
	if (find_places(w))
		return -ENOMEM;
	vec_foreach(place, &w->places)
		qsort(&w->waits.v[place->first], place->n, sizeof(*w->waits.v), longest_wait);
	qsort(w->places.v, w->places.n, sizeof(*w->places.v), longest_place);
	find_rests(w);
	return 0;
}
