/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which intervals a sample is in; see intervals.h. All intervals with the same process,
 * thread and key form a track. A track is divided into segments that don't overlap. So a sample is
 * in at most one segment of a track, which is found by bisection.
 */
#include "profile/intervals/intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"

struct segment {
	/* beginning and end of the segment; the end isn't part of the segment */
	uint64_t begin_ns, end_ns;
	/*
	 * when the segment's interval ends; the segment may end earlier, because another interval
	 * hides the rest
	 */
	uint64_t interval_end_ns;
	uint32_t value;
};

struct track {
	uint32_t pid, tid, key;
	size_t first, n; /* the track's segments */
};

/*
 * Some tracks (a track is the intervals with one process, thread and key): those of one thread, or
 * those that hold for all threads of a process.
 */
struct tracks {
	size_t first, n;
};

/*
 * A label that a process inherited from the process that started it. Times are those of the
 * machine's CLOCK_MONOTONIC, even if the process sees a shifted clock.
 */
struct inherited {
	uint64_t begin_ns, end_ns;
	/*
	 * the label's key; 0: this process was started without labels, and the entry hides the
	 * labels of an earlier process with the same pid
	 */
	uint32_t key;
	uint32_t value;
	/* 1 + index, in .inherited, of the previous entry with the same pid; 0: there is none */
	uint32_t before;
};

struct owner {
	bool known;
	uint32_t pid;	  /* id of the process; 0: not known */
	bool inherits;	  /* the process may have inherited labels from its parent */
	int64_t shift_ns; /* by how many ns the process's clock is ahead of the machine's */
	struct tracks thread, process;
};

struct labeller {
	const struct intervals *v;
	struct profile *p;
	const struct intervals_clock *clock;
	uint64_t labelled;
	VEC(struct segment) segments;
	VEC(struct track) tracks;
	VEC(struct inherited) inherited;
	struct map children; /* pid -> 1 + index of its last entry in .inherited */
	/*
	 * the intervals that have begun and may not have ended yet, the latest last; used only
	 * while the segments of a track are made
	 */
	VEC(const struct interval *) open;
	struct owner *owners; /* by label set id: the process and thread that have it */
	/* by id of a value in v->values: id of the same string in .p; 0: not made yet */
	uint32_t *strings;
	/* by index of a key in v->keys, plus 1: id of the same string in .p; 0: not made yet */
	uint32_t keys[INTERVALS_MAX_KEYS + 1];
	VEC(struct profile_label) set;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/*
 * Orders intervals by track, and within a track by their beginning. So of two intervals that
 * overlap, the one whose label counts comes last.
 */
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

/*
 * Adds segments for the time from @now to @until, the beginning of the next interval. At each
 * moment the last interval in .open counts. A segment ends where its interval ends, or at @until.
 */
static int lay_out_until(struct labeller *l, uint64_t now, uint64_t until)
{
	while (l->open.n && now < until) {
		const struct interval *i = l->open.v[l->open.n - 1];
		uint64_t end = MIN(i->end_ns, until);

		if (end > now) {
			if (vec_push(&l->segments, (struct segment){now, end, i->end_ns, i->value}))
				return err_nomem();
			now = end;
		}
		if (i->end_ns <= until)
			l->open.n--;
	}
	return 0;
}

/*
 * Turns @list[0..n), the intervals with one process, thread and key (a track), into segments that
 * don't overlap.
 */
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
	o->pid = pid = number(l->p, labels, "pid");
	tid = number(l->p, labels, "tid");
	o->inherits = map_get(&l->children, pid);
	if (!pid || !knows_clock(l, pid, &o->shift_ns))
		return o;
	o->process = tracks_of(l, pid, 0);
	if (tid)
		o->thread = tracks_of(l, pid, tid);
	return o;
}

/*
 * Returns the segment of a track (the intervals with one process, thread and key) at time @at_ns;
 * NULL: the track has no value at that time.
 */
static const struct segment *segment_at(const struct labeller *l, const struct track *t,
					uint64_t at_ns)
{
	const struct segment *s = l->segments.v + t->first;
	size_t i = count_upto(s, t->n, begin_ns, at_ns);

	return i && at_ns < s[i - 1].end_ns ? &s[i - 1] : NULL;
}

/*
 * Returns the label with @key that process @pid inherited and still has at @at_ns; NULL: the
 * process has no such label.
 */
static const struct inherited *inherited_at(const struct labeller *l, uint32_t pid, uint32_t key,
					    uint64_t at_ns)
{
	const uint64_t *last = map_get(&l->children, pid);
	const struct inherited *h;
	uint64_t begin_ns = UINT64_MAX;

	for (uint64_t i = last ? *last : 0; i; i = h->before) {
		h = &l->inherited.v[i - 1];
		if (h->begin_ns > at_ns)
			continue;
		if (begin_ns != UINT64_MAX && h->begin_ns != begin_ns)
			break; /* this entry is for an earlier process that had the same pid */
		begin_ns = h->begin_ns;
		if (h->key == key && at_ns < h->end_ns)
			return h;
	}
	return NULL;
}

static const struct segment *segment_of_key(const struct labeller *l, const struct tracks *t,
					    uint32_t key, uint64_t at_ns)
{
	for (size_t i = t->first; i < t->first + t->n; i++)
		if (l->tracks.v[i].key == key)
			return segment_at(l, &l->tracks.v[i], at_ns);
	return NULL;
}

/*
 * Finds the label with @key that a sample of the forking thread would have got at the moment of the
 * fork. Returns false if it would have got none.
 */
static bool label_at_fork(const struct labeller *l, const struct interval_fork *f, uint32_t key,
			  struct inherited *ret)
{
	const struct inherited *h = inherited_at(l, f->parent, key, f->time_ns);
	const struct tracks thread = tracks_of(l, f->parent, f->parent_tid);
	const struct tracks process = tracks_of(l, f->parent, 0);
	const struct segment *s = NULL;
	int64_t shift_ns = 0;

	if (thread.n + process.n && knows_clock(l, f->parent, &shift_ns)) {
		s = segment_of_key(l, &thread, key, f->time_ns + (uint64_t)shift_ns);
		s = s ?: segment_of_key(l, &process, key, f->time_ns + (uint64_t)shift_ns);
	}
	*ret = (struct inherited){.begin_ns = f->time_ns, .key = key};
	if (s) {
		ret->value = s->value;
		ret->end_ns = s->interval_end_ns - (uint64_t)shift_ns;
	} else if (h) {
		ret->value = h->value;
		ret->end_ns = h->end_ns;
	}
	return s || h;
}

static int hand_down(struct labeller *l, uint32_t pid, struct inherited *h)
{
	const uint64_t *last = map_get(&l->children, pid);

	h->before = last ? (uint32_t)*last : 0;
	if (vec_push(&l->inherited, *h) || map_put(&l->children, pid, l->inherited.n))
		return err_nomem();
	return 0;
}

static int inherit(struct labeller *l, const struct interval_fork *f)
{
	struct inherited h;
	bool any = false;
	int r = 0;

	for (uint32_t key = 1; key <= l->v->n_keys && !r; key++)
		if (label_at_fork(l, f, key, &h)) {
			any = true;
			r = hand_down(l, f->pid, &h);
		}
	if (r || any || !map_get(&l->children, f->pid))
		return r;
	h = (struct inherited){.begin_ns = f->time_ns};
	return hand_down(l, f->pid, &h);
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

static int add_label(struct labeller *l, uint32_t key, uint32_t value)
{
	struct profile_label label = {key_string(l, key), value_string(l, value)};

	return vec_push(&l->set, label) ? err_nomem() : 0;
}

/*
 * Adds the labels of the intervals that cover time @at_ns. Of labels with the same key the last one
 * counts, so the thread's labels are added after the process's labels.
 */
static int add_labels(struct labeller *l, const struct tracks *t, uint64_t at_ns)
{
	int r = 0;

	for (size_t i = t->first; i < t->first + t->n && !r; i++) {
		const struct segment *s = segment_at(l, &l->tracks.v[i], at_ns);

		r = s ? add_label(l, l->tracks.v[i].key, s->value) : 0;
	}
	return r;
}

static int add_inherited(struct labeller *l, uint32_t pid, uint64_t at_ns)
{
	int r = 0;

	for (uint32_t key = 1; key <= l->v->n_keys && !r; key++) {
		const struct inherited *h = inherited_at(l, pid, key, at_ns);

		r = h ? add_label(l, key, h->value) : 0;
	}
	return r;
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
	uint64_t at_ns = l->clock->start_ns + (uint64_t)s->time_ns;
	size_t before;
	int r;

	if (s->time_ns < 0 || !(o->thread.n + o->process.n + o->inherits))
		return 0;
	r = copy_labels(l, s->labels);
	before = l->set.n;
	r = r ? r : o->inherits ? add_inherited(l, o->pid, at_ns) : 0;
	r = r ? r : add_labels(l, &o->process, at_ns + (uint64_t)o->shift_ns);
	r = r ? r : add_labels(l, &o->thread, at_ns + (uint64_t)o->shift_ns);
	if (r || l->set.n == before)
		return r;
	l->labelled++;
	s->labels = profile_labels(l->p, l->set.v, l->set.n);
	return profile_failed(l->p) ? err_nomem() : 0;
}

static int apply(struct labeller *l, struct intervals *v, const interval_fork_vec *forks)
{
	int r = lay_out_all(l, v->list.v, v->list.n);

	for (size_t i = 0; forks && i < forks->n && !r; i++)
		r = inherit(l, &forks->v[i]);
	if (r)
		return r;
	l->owners = calloc(profile_n_labels(l->p) + 1, sizeof(*l->owners));
	l->strings = calloc(v->values.n + 1, sizeof(*l->strings));
	if (!l->owners || !l->strings)
		return err_nomem();
	return profile_change_each(l->p, label_sample, l);
}

int intervals_apply(struct intervals *v, struct profile *p, const struct intervals_clock *clock,
		    const interval_fork_vec *forks, uint64_t *ret)
{
	struct labeller l = {.v = v, .p = p, .clock = clock};
	int r;

	map_init(&l.children);
	r = v->list.n ? apply(&l, v, forks) : 0;
	*ret = r ? 0 : l.labelled;
	vec_fini(&l.inherited);
	map_fini(&l.children);
	vec_fini(&l.segments);
	vec_fini(&l.tracks);
	vec_fini(&l.open);
	vec_fini(&l.set);
	free(l.owners);
	free(l.strings);
	return r;
}
