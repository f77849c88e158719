/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a profile of trace events. Slices are sorted by thread and time. In that order, the slices
 * that are open between two moments become a sample.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "format/trace/trace_reader.h"

static int by_time(const void *va, const void *vb)
{
	const struct slice *a = va, *b = vb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static bool is_made_up(const struct reader *r, uint32_t string)
{
	return r->of_krait &&
	       strtoull(profile_get_string(r->p, string), NULL, 10) >= PROFILE_MADE_UP_ID;
}

/*
 * Returns the label set of a thread. @profile: the id of a V8 profile, which becomes a label; 0: no
 * V8 profile.
 */
static uint32_t labels_of(struct reader *r, uint32_t thread, uint32_t profile)
{
	const struct thread *t = &r->threads.v[thread];
	const uint64_t *process = map_get(&r->process_name, t->pid);
	const struct {
		const char *key;
		uint32_t value;
	} all[] = {{"pid", is_made_up(r, t->pid) ? 0 : t->pid},
		   {"process", process ? (uint32_t)*process : 0},
		   {"tid", is_made_up(r, t->tid) ? 0 : t->tid},
		   {"thread", t->name},
		   {"profile", profile}};
	struct profile_label labels[ARRAY_SIZE(all)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].value)
			labels[n++] = (struct profile_label){profile_string(r->p, all[i].key),
							     all[i].value};
	return profile_labels(r->p, labels, n);
}

static int too_much(const struct slice *s, const char *what)
{
	return err_set(-EINVAL,
		       FORMAT ": traceEvents: byte %llu: %s than they should be in a "
			      "file of this size",
		       (unsigned long long)s->at, what);
}

/*
 * Subtracts the number of open slices, which form a stack, from r->steps, the work that may still
 * be done, once for each thread and stack. Refuses the file if no work is left.
 */
static int count_frames(struct reader *r, uint32_t stack, const struct slice *inner)
{
	while (r->counted.n <= stack)
		if (vec_push(&r->counted, 0))
			return NO_MEMORY;
	if (r->counted.v[stack] == inner->thread + 1)
		return 0;
	if (r->open.n > r->steps)
		return too_much(inner, DEEPER);
	r->steps -= r->open.n;
	r->counted.v[stack] = inner->thread + 1;
	return 0;
}

/* Adds a sample of the slices that were open from @from to @to. */
static int add_sample(struct reader *r, uint32_t labels, int64_t base, int64_t from, int64_t to)
{
	struct profile_sample s = {.labels = labels, .time_ns = from - base};
	const struct slice *inner;
	int err;

	if (to <= from || !r->open.n)
		return 0;
	s.values[r->slice_value] = to - from;
	inner = &r->slices.v[r->open.v[r->open.n - 1]];
	if (r->open.n > VIEWER_MAX_DEPTH)
		return too_much(inner, DEEPER);
	s.stack = profile_stack_at(r->p, inner->outer, r->open.n);
	err = s.stack ? count_frames(r, s.stack, inner) : NO_MEMORY;
	if (err)
		return err;
	if (profile_bytes(r->p) > r->budget)
		return too_much(inner, "stacks are far larger");
	return profile_add(r->p, &s);
}

/*
 * Closes the slices that end at or before @until, the innermost first, and adds a sample before
 * each end. *at: the time up to which samples were added.
 */
static int close_until(struct reader *r, uint32_t labels, int64_t base, int64_t until, int64_t *at)
{
	int err = 0;

	while (!err && r->open.n) {
		int64_t end = r->slices.v[r->open.v[r->open.n - 1]].end;

		if (end > until)
			break;
		err = add_sample(r, labels, base, *at, end);
		*at = MAX(*at, end);
		r->open.n--;
	}
	return err;
}

/* Opens a slice. If it lasts longer than its caller, it ends with the caller. */
static int open_slice(struct reader *r, uint32_t i)
{
	struct slice *s = &r->slices.v[i];
	uint32_t caller = 0;

	if (r->open.n) {
		const struct slice *outer = &r->slices.v[r->open.v[r->open.n - 1]];
		int64_t end = outer->end;

		caller = outer->outer;
		r->cut += s->end - end > CLIP_NS;
		s->end = MIN(s->end, end);
	}
	s->outer = profile_node(r->p, caller, s->location);
	return !s->outer || vec_push(&r->open, i) ? NO_MEMORY : 0;
}

/*
 * Returns the time that becomes time 0 of the profile: 0 for krait's own traces, else the earliest
 * time of a slice, sample or V8 profile.
 */
static int64_t find_base(const struct reader *r)
{
	int64_t base = INT64_MAX;

	if (r->of_krait)
		return 0;
	vec_foreach(s, &r->slices)
		base = MIN(base, s->start);
	vec_foreach(s, &r->samples.all)
		base = s->has_ts ? MIN(base, s->ts_ns) : base;
	base = trace_profiles_start(&r->profiles, base);
	return base == INT64_MAX ? 0 : base;
}

static int walk(struct reader *r, int64_t base)
{
	uint32_t labels = 0;
	int64_t at = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < r->slices.n; i++) {
		const struct slice *s = &r->slices.v[i];

		if (!r->open.n || r->slices.v[r->open.v[0]].thread != s->thread) {
			err = close_until(r, labels, base, INT64_MAX, &at);
			labels = labels_of(r, s->thread, 0);
			at = s->start;
		}
		err = err ? err : close_until(r, labels, base, s->start, &at);
		err = err ? err : add_sample(r, labels, base, at, s->start);
		at = s->start;
		err = err ? err : open_slice(r, i);
	}
	return err ? err : close_until(r, labels, base, INT64_MAX, &at);
}

static int add_comments(struct reader *r)
{
	static const struct {
		const char *thing, *what;
	} words[LEFT_OUTS] = {
		[NO_PARTNER] = {"slice", "without a beginning or an end"},
		[NO_TIME] = {"event", "without a time, or with one that doesn't fit"},
		[NO_LENGTH] = {"slice", "whose length is below 0 or doesn't fit"},
		[NO_EVENT] = {"member", "of traceEvents that is no event"},
		[NO_PHASE] = {"event", "that doesn't say what it is (ph)"},
		[NO_CHUNK] = {"piece", "of V8's profiles contradicting other pieces"},
	};
	int err = 0;

	for (int i = 0; !err && i < LEFT_OUTS; i++)
		err = viewer_in_note(r->p, COMMENTS_LEFT_OUT, r->left_out[i], words[i].thing,
				     words[i].what);
	err = err ? err
		  : viewer_in_note(r->p, COMMENTS_LEFT_OUT, r->profiles.n_unknown, "sample",
				   "of V8's profiles whose stack isn't in the file");
	err = err ? err
		  : viewer_in_note(r->p, COMMENTS_LEFT_OUT, r->samples.n_unknown, "sample",
				   "in the list beside the events, whose stack isn't in the file "
				   "(stackFrames)");
	err = err ? err
		  : viewer_in_note(r->p, COMMENTS_MENDED, r->samples.nodes.n_orphans, "frame",
				   "of stackFrames without its callers: they aren't in the file");
	err = err ? err
		  : viewer_in_note(r->p, COMMENTS_MENDED, r->profiles.n_orphans, "frame",
				   "of V8's profiles without its callers: they aren't in the file");
	return err ? err
		   : viewer_in_note(r->p, COMMENTS_MENDED, r->cut, "slice",
				    "cut at the end of its caller");
}

/*
 * Adds the samples of all V8 profiles. If a thread has several V8 profiles of the same time, a
 * label tells their samples apart.
 */
static int add_profiles(struct reader *r, int64_t base)
{
	int err = 0;

	vec_foreach(profile, &r->profiles.list)
		r->threads.v[(*profile)->thread].n_profiles += (*profile)->ticks.n > 0;
	vec_foreach(profile, &r->profiles.list) {
		struct trace_profile *v8 = *profile;
		bool several = r->threads.v[v8->thread].n_profiles > 1;

		if (err)
			break;
		err = trace_profile_add(&r->profiles, v8,
					labels_of(r, v8->thread, several ? v8->id : 0), base);
	}
	return err;
}

static int add_samples(struct reader *r, int64_t base)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->samples.all.n; i++) {
		const struct trace_sample *s = &r->samples.all.v[i];
		const struct thread *t = trace_thread_by(r, s->pid, s->tid);

		err = t ? trace_samples_add(&r->samples, s,
					    labels_of(r, (uint32_t)(t - r->threads.v), 0), base)
			: NO_MEMORY;
	}
	return err;
}

/* Tells whether any slice has a length. Hermes writes a slice without length for each thread. */
static bool has_slices(const struct reader *r)
{
	bool any = false;

	vec_foreach(s, &r->slices)
		any |= s->end > s->start;
	return any;
}

/*
 * Sets the value types. If a file has both slices and samples of profilers, the two have different
 * value types, because they must not be added up.
 */
static void set_values(struct reader *r)
{
	const struct profile_value_type time = {"time", "nanoseconds"};
	struct profile_meta *m = profile_meta(r->p);
	bool profiles = trace_profiles_any(&r->profiles), slices = has_slices(r);

	if (profiles || r->samples.all.n)
		m->values[m->n_values++] = (struct profile_value_type){"samples", "count"};
	m->period_type = m->values[0];
	m->period = 1;
	if (profiles) {
		m->default_value = m->n_values;
		m->values[m->n_values++] = time;
	}
	r->slice_value = m->n_values;
	if (slices && !profiles)
		m->default_value = m->n_values;
	if (slices || !m->n_values)
		m->values[m->n_values++] =
			(struct profile_value_type){profiles ? "slices" : "time", "nanoseconds"};
	if (profiles || !r->samples.all.n)
		m->period_type = time;
}

int trace_make(struct reader *r, int err)
{
	int64_t base = find_base(r);

	set_values(r);
	if (!err && r->slices.n)
		qsort(r->slices.v, r->slices.n, sizeof(*r->slices.v), by_time);
	err = err ? err : walk(r, base);
	err = err ? err : add_profiles(r, base);
	err = err ? err : add_samples(r, base);
	return err ? err : add_comments(r);
}
