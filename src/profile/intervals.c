/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which intervals a sample is in; see intervals.h. Those of one process, thread and key are one track: laid out
 * as segments that don't overlap, so that a sample is in one at most and is found by bisection.
 */
#include "profile/intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"

struct segment {
	uint64_t begin_ns, end_ns; /* behind its last ns */
	uint32_t value;
};

struct track {
	uint32_t pid, tid, key;
	size_t first, n; /* segments */
};

/* Tracks that lie together: of one thread, or of all of a process. */
struct tracks {
	size_t first, n;
};

struct owner {
	bool known;
	int64_t shift_ns; /* of its clock */
	struct tracks thread, process;
};

struct labeller {
	const struct intervals *v;
	struct profile *p;
	const struct intervals_clock *clock;
	uint64_t labelled;
	VEC(struct segment) segments;
	VEC(struct track) tracks;
	VEC(const struct interval *)
	open;		      /* while a track is laid out: those that may go on, the latest last */
	struct owner *owners; /* by label set */
	uint32_t *strings;    /* by id in v->values: in .p, 0 = not yet */
	uint32_t keys[INTERVALS_MAX_KEYS + 1]; /* likewise */
	VEC(struct profile_label) set;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By track; the one that counts before another is behind it. */
static int compare(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	int r = compare_numbers(x->pid, y->pid);

	r = r ? r : compare_numbers(x->tid, y->tid);
	r = r ? r : compare_numbers(x->key, y->key);
	r = r ? r : compare_numbers(x->begin_ns, y->begin_ns);
	return r ? r : compare_numbers(x->order, y->order);
}

static bool same_track(const struct interval *a, const struct interval *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->key == b->key;
}

/* What the open intervals show from @now until @until, when the next one begins. Each segment ends an interval or is the last. */
static int lay_out_until(struct labeller *l, uint64_t now, uint64_t until)
{
	while (l->open.n && now < until) {
		const struct interval *i = l->open.v[l->open.n - 1];
		uint64_t end = MIN(i->end_ns, until);

		if (end > now) {
			if (vec_push(&l->segments, (struct segment){now, end, i->value}))
				return err_nomem();
			now = end;
		}
		if (i->end_ns <= until)
			l->open.n--;
	}
	return 0;
}

/* @list[0..n): those of one track. */
static int lay_out(struct labeller *l, const struct interval *list, size_t n)
{
	size_t first = l->segments.n;
	int r = 0;

	l->open.n = 0;
	for (size_t i = 0; i < n && !r; i++) {
		uint64_t until = i + 1 < n ? list[i + 1].begin_ns : UINT64_MAX;

		r = vec_push(&l->open, &list[i]) ? err_nomem() : 0;
		r = r ? r : lay_out_until(l, list[i].begin_ns, until);
	}
	if (r)
		return r;
	r = vec_push(&l->tracks,
		     (struct track){list->pid, list->tid, list->key, first, l->segments.n - first});
	return r ? err_nomem() : 0;
}

static int lay_out_all(struct labeller *l, struct interval *list, size_t n)
{
	size_t end;
	int r = 0;

	qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0; i < n && !r; i = end) {
		for (end = i + 1; end < n && same_track(&list[i], &list[end]); end++)
			;
		r = lay_out(l, list + i, end - i);
	}
	return r;
}

static int compare_owner(const struct track *t, uint32_t pid, uint32_t tid)
{
	int r = compare_numbers(t->pid, pid);

	return r ? r : compare_numbers(t->tid, tid);
}

static struct tracks tracks_of(const struct labeller *l, uint32_t pid, uint32_t tid)
{
	struct tracks ret = {};
	size_t high = l->tracks.n;

	while (ret.first < high) {
		size_t mid = ret.first + (high - ret.first) / 2;

		if (compare_owner(&l->tracks.v[mid], pid, tid) < 0)
			ret.first = mid + 1;
		else
			high = mid;
	}
	while (ret.first + ret.n < l->tracks.n &&
	       !compare_owner(&l->tracks.v[ret.first + ret.n], pid, tid))
		ret.n++;
	return ret;
}

static uint32_t number(const struct profile *p, uint32_t labels, const char *key)
{
	return (uint32_t)strtoul(profile_label_text(p, labels, key), NULL, 10);
}

static bool knows_clock(const struct labeller *l, uint32_t pid, int64_t *shift_ns)
{
	return !l->clock->shift || l->clock->shift(l->clock->arg, pid, shift_ns);
}

static const struct owner *owner_of(struct labeller *l, uint32_t labels)
{
	struct owner *o = &l->owners[labels];
	uint32_t pid, tid;

	if (o->known)
		return o;
	o->known = true;
	pid = number(l->p, labels, "pid");
	tid = number(l->p, labels, "tid");
	if (!pid || !knows_clock(l, pid, &o->shift_ns))
		return o;
	o->process = tracks_of(l, pid, 0);
	if (tid)
		o->thread = tracks_of(l, pid, tid);
	return o;
}

/* 0: none. */
static uint32_t value_at(const struct labeller *l, const struct track *t, uint64_t at_ns)
{
	const struct segment *s = l->segments.v + t->first;
	size_t i = count_upto(s, t->n, begin_ns, at_ns);

	return i && at_ns < s[i - 1].end_ns ? s[i - 1].value : 0;
}

static uint32_t string(struct labeller *l, uint32_t id)
{
	const char *text;
	size_t n;

	if (!l->strings[id]) {
		text = intern_get(&l->v->values, id, &n);
		l->strings[id] = profile_string_n(l->p, text, n);
	}
	return l->strings[id];
}

static uint32_t key_string(struct labeller *l, uint32_t key)
{
	if (!l->keys[key])
		l->keys[key] = profile_string(l->p, str_cstr(&l->v->keys[key - 1]));
	return l->keys[key];
}

static uint32_t value_string(struct labeller *l, uint32_t id)
{
	return id > INTERVALS_MAX_VALUES ? profile_string(l->p, INTERVALS_OTHER) : string(l, id);
}

/* Of labels with one key the last counts: the thread's are added behind the process's. */
static int add_labels(struct labeller *l, const struct tracks *t, uint64_t at_ns)
{
	for (size_t i = t->first; i < t->first + t->n; i++) {
		const struct track *track = &l->tracks.v[i];
		uint32_t value = value_at(l, track, at_ns);

		if (value && vec_push(&l->set, (struct profile_label){key_string(l, track->key),
								      value_string(l, value)}))
			return err_nomem();
	}
	return 0;
}

static int copy_labels(struct labeller *l, uint32_t labels)
{
	size_t n;
	const struct profile_label *set = profile_get_labels(l->p, labels, &n);

	l->set.n = 0;
	for (size_t i = 0; i < n; i++)
		if (vec_push(&l->set, set[i]))
			return err_nomem();
	return 0;
}

static int label_sample(void *arg, struct profile_sample *s)
{
	struct labeller *l = arg;
	const struct owner *o = owner_of(l, s->labels);
	uint64_t at_ns = l->clock->start_ns + (uint64_t)s->time_ns + (uint64_t)o->shift_ns;
	size_t before;
	int r;

	if (s->time_ns < 0 || !(o->thread.n + o->process.n))
		return 0;
	r = copy_labels(l, s->labels);
	before = l->set.n;
	r = r ? r : add_labels(l, &o->process, at_ns);
	r = r ? r : add_labels(l, &o->thread, at_ns);
	if (r || l->set.n == before)
		return r;
	l->labelled++;
	s->labels = profile_labels(l->p, l->set.v, l->set.n);
	return profile_failed(l->p) ? err_nomem() : 0;
}

static int apply(struct labeller *l, struct intervals *v)
{
	int r = lay_out_all(l, v->list.v, v->list.n);

	if (r)
		return r;
	l->owners = calloc(profile_n_labels(l->p) + 1, sizeof(*l->owners));
	l->strings = calloc(v->values.n + 1, sizeof(*l->strings));
	if (!l->owners || !l->strings)
		return err_nomem();
	return profile_change_each(l->p, label_sample, l);
}

int intervals_apply(struct intervals *v, struct profile *p, const struct intervals_clock *clock,
		    uint64_t *ret)
{
	struct labeller l = {.v = v, .p = p, .clock = clock};
	int r = v->list.n ? apply(&l, v) : 0;

	*ret = r ? 0 : l.labelled;
	vec_fini(&l.segments);
	vec_fini(&l.tracks);
	vec_fini(&l.open);
	vec_fini(&l.set);
	free(l.owners);
	free(l.strings);
	return r;
}
