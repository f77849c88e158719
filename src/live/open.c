/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts waits that aren't over; see open.h. */
#include "live/open.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "live/live.h"
#include "profile/intervals/part.h"
#include "view/waits/waits.h"

/*
 * For how many intervals (ticks) a wait's entry is kept after the wait was last seen open. The
 * wait's sample may come some ticks after the wait has ended, because names are read first.
 */
#define KEPT_TICKS 60

void live_open_fini(struct live_open *o)
{
	vec_fini(&o->waits);
	map_fini(&o->by_wait);
	map_fini(&o->by_thread);
	map_fini(&o->debts);
}

/*
 * Returns the thread of a label set. 0: the thread isn't known, which happens after the profile was
 * condensed (made smaller).
 */
static uint64_t thread_of(const struct live *l, uint32_t labels)
{
	const char *pid = profile_label_text(l->p, labels, "pid");
	const char *tid = profile_label_text(l->p, labels, "tid");

	return (uint64_t)strtoul(pid, NULL, 10) << 32 | (uint32_t)strtoul(tid, NULL, 10);
}

static uint64_t wait_key(uint64_t thread, int64_t time_ns)
{
	return thread * 0x9e3779b97f4a7c15ull ^ (uint64_t)time_ns;
}

static void values_of(const struct live *l, const struct profile_sample *s, int64_t *ret)
{
	ret[OPEN_WAITED] = s->values[l->waits];
	ret[OPEN_GIL] = l->gil_wait < 0 ? 0 : s->values[l->gil_wait];
	ret[OPEN_BLAME] = l->gil_blame < 0 ? 0 : s->values[l->gil_blame];
}

static void set_values(const struct live *l, const int64_t *values, struct profile_sample *ret)
{
	ret->values[l->waits] = values[OPEN_WAITED];
	if (l->gil_wait >= 0)
		ret->values[l->gil_wait] = values[OPEN_GIL];
	if (l->gil_blame >= 0)
		ret->values[l->gil_blame] = values[OPEN_BLAME];
}

void live_open_begin(struct live *l)
{
	map_clear(&l->open.by_thread);
}

/* Finds the entry of a wait. Adds an entry if there is none. */
static int find_wait(struct live *l, const struct profile_sample *s, struct live_wait **ret)
{
	struct live_open *o = &l->open;
	struct live_wait new = {.thread = thread_of(l, s->labels), .time_ns = s->time_ns};
	uint64_t key = wait_key(new.thread, s->time_ns), *at = map_get(&o->by_wait, key);
	size_t i = at ? *at : o->waits.n;
	int r = at ? 0 : vec_push(&o->waits, new);

	if (!r && !at)
		r = map_put(&o->by_wait, key, i);
	if (!r)
		r = map_put(&o->by_thread, new.thread, i);
	if (r)
		return err_set(r, "out of memory");
	*ret = &o->waits.v[i];
	return 0;
}

int live_open_add(struct live *l, const struct profile_sample *s, bool left)
{
	struct profile_sample more = *s;
	int64_t values[OPEN_VALUES];
	struct live_wait *w = NULL;
	int r;

	if (l->waits < 0 || !wait_length(l->p, s, l->waits))
		return 0;
	r = find_wait(l, s, &w);
	if (r)
		return r;
	values_of(l, s, values);
	more.time_ns += w->told[OPEN_WAITED];
	/*
	 * this part of the wait doesn't count as a sample: the wait's own sample will count as one
	 */
	more.values[0] = 0;
	for (int i = 0; i < OPEN_VALUES; i++) {
		int64_t now = MAX(values[i], w->told[i]);

		values[i] = now - w->told[i];
		w->told[i] = now;
	}
	w->labels = s->labels;
	w->stack = s->stack;
	w->left = left;
	w->tick = l->tick;
	set_values(l, values, &more);
	return live_count(l, &more);
}

/*
 * The wait gets no sample of its own: later samples of its thread contain its time. Notes how much
 * of that time was counted already.
 */
static int owe(struct live_open *o, const struct live_wait *w)
{
	const uint64_t *before = map_get(&o->debts, w->thread);

	return map_put(&o->debts, w->thread,
		       (before ? *before : 0) + (uint64_t)w->told[OPEN_WAITED]);
}

/* Tells whether the entry of a wait is still needed. */
static bool is_kept(const struct live *l, const struct live_wait *w)
{
	return w->tick == l->tick || (!w->over && !w->left && l->tick - w->tick < KEPT_TICKS);
}

int live_open_end(struct live *l)
{
	struct live_open *o = &l->open;
	size_t kept = 0;
	int r = 0;

	map_clear(&o->by_wait);
	for (size_t i = 0; !r && i < o->waits.n; i++) {
		struct live_wait w = o->waits.v[i];
		uint64_t *now = map_get(&o->by_thread, w.thread);

		if (!is_kept(l, &w)) {
			r = w.left && !w.over ? owe(o, &w) : 0;
			continue;
		}
		if (now && *now == i)
			*now = kept;
		r = map_put(&o->by_wait, wait_key(w.thread, w.time_ns), kept);
		o->waits.v[kept++] = w;
	}
	o->waits.n = kept;
	return r ? err_set(r, "out of memory") : 0;
}

/* Subtracts from sample @s what was already counted of its wait. */
static void take_told(struct live *l, struct live_wait *w, struct profile_sample *s)
{
	int64_t values[OPEN_VALUES];

	values_of(l, s, values);
	for (int i = 0; i < OPEN_VALUES; i++)
		values[i] = MAX(values[i] - w->told[i], (int64_t)0);
	set_values(l, values, s);
	w->over = true;
}

static void take_debt(struct live *l, uint64_t thread, struct profile_sample *s)
{
	uint64_t *debt = map_get(&l->open.debts, thread);
	int64_t part = debt ? MIN((int64_t)*debt, s->values[l->waits]) : 0;

	if (!debt)
		return;
	s->values[l->waits] -= part;
	*debt -= (uint64_t)part;
	if (!*debt)
		map_del(&l->open.debts, thread);
}

void live_open_settle(struct live *l, struct profile_sample *s)
{
	struct live_open *o = &l->open;
	uint64_t thread, *at;

	if ((!o->waits.n && !o->debts.n) || l->waits < 0 || !wait_length(l->p, s, l->waits))
		return;
	thread = thread_of(l, s->labels);
	at = map_get(&o->by_wait, wait_key(thread, s->time_ns));
	if (at && !o->waits.v[*at].over)
		take_told(l, &o->waits.v[*at], s);
	else
		take_debt(l, thread, s);
}

void live_open_condensed(struct live_open *o)
{
	map_clear(&o->by_thread);
	vec_foreach(w, &o->waits)
		w->labels = w->stack = 0;
}

const struct live_wait *live_wait_now(const struct live *l, const struct live_row *row)
{
	const uint64_t *at = map_get(&l->open.by_thread, thread_of(l, row->labels));
	const struct live_wait *w = at ? &l->open.waits.v[*at] : NULL;

	return w && !w->over ? w : NULL;
}
