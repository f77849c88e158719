/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads trace events; see trace_in.h. V8's profiles in them: trace_profiles.h; samples beside them:
 * trace_samples.h. Events may come in any order; a caller's X event comes after those of its
 * callees. So all slices are collected, sorted by thread and time, and then walked. An event with
 * something wrong in it is left out and counted.
 */
#include "format/trace/trace_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "format/common/folded_frame.h"
#include "format/trace/trace_profiles.h"
#include "format/trace/trace_samples.h"

#define FORMAT	  "trace"
#define NO_MEMORY VIEWER_NO_MEMORY
#define US	  3    /* power of ten by which microseconds, as in the file, become nanoseconds */
#define CLIP_NS	  1000 /* slices may overlap by so much, because writers of traces round */
#define DEEPER	  "slices are nested far deeper"

struct slice {
	int64_t start, end;
	uint64_t at; /* offset in the file where the event ends that ends the slice */
	uint32_t thread, location;
	uint32_t outer; /* node of the stack whose innermost frame the slice is */
};

/* The beginning or the end of a slice, as an event of its own. */
struct mark {
	int64_t ts;
	uint64_t at;
	uint32_t thread, name;
	uint32_t location; /* id of the location; 0: the event is the end of a slice */
};

struct thread {
	/* process, thread and name, as strings of the profile; 0: not known */
	uint32_t pid, tid, name;
	uint32_t n_profiles; /* in how many V8 profiles the thread has samples */
};

/* Reasons why something of the file isn't in the profile. */
enum left_out { NO_PARTNER, NO_TIME, NO_LENGTH, NO_EVENT, NO_PHASE, NO_CHUNK, LEFT_OUTS };

struct reader {
	struct profile *p;
	size_t budget;
	uint64_t steps;
	bool of_krait;
	VEC(struct thread) threads;
	struct map thread_at;	 /* pid << 32 | tid -> index of the thread */
	struct map process_name; /* pid -> string with the process's name */
	VEC(struct slice) slices;
	VEC(struct mark) marks;
	VEC(uint32_t) open; /* indexes of the slices or marks that are open, outermost first */
	/* by stack id: 1 + the last thread for which the stack's frames were counted */
	VEC(uint32_t) counted;
	uint64_t left_out[LEFT_OUTS];
	uint64_t cut; /* how many slices last longer than their caller */
	struct trace_profiles profiles;
	struct trace_samples samples;
	unsigned slice_value; /* index of the value for the length of slices */
	struct str key;
};

struct event {
	/* texts of an event; .given: the "name" in its "args" */
	struct str phase, name, category, pid, tid, id, file, given;
	/* where the event's "args" are in the file; .at is NULL if there are none */
	struct json_in args;
	int64_t ts, dur;
	int32_t line;
	bool has_ts, has_dur;
};

static int bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(FORMAT, in, field, what);
}

static int in_field(int r, const char *field)
{
	return viewer_in_wrap(FORMAT, r, field);
}

static void event_clear(struct event *e)
{
	struct str *all[] = {&e->phase, &e->name, &e->category, &e->pid,
			     &e->tid,	&e->id,	  &e->file,	&e->given};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		str_clear(all[i]);
	e->args = (struct json_in){};
	e->ts = e->dur = 0;
	e->line = 0;
	e->has_ts = e->has_dur = false;
}

static void event_fini(struct event *e)
{
	struct str *all[] = {&e->phase, &e->name, &e->category, &e->pid,
			     &e->tid,	&e->id,	  &e->file,	&e->given};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		str_fini(all[i]);
}

/*
 * Reads "args" of any type. If it is an object, takes from it where the function is, and a thread's
 * name.
 */
static int read_args(struct reader *r, struct json_in *in, struct event *e)
{
	struct json_in before = *in;
	int more, err = 0;

	if (json_in_enter(in, '{')) {
		*in = before;
		return in_field(json_in_skip(in), "args");
	}
	e->args = before;
	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			err = in_field(more, "args");
		else if (streq(key, "file") || streq(key, "filename"))
			err = viewer_in_text(FORMAT, in, "file", &e->file);
		else if (streq(key, "line"))
			err = viewer_in_line(FORMAT, in, "line", &e->line);
		else if (streq(key, "name"))
			err = viewer_in_text(FORMAT, in, "name", &e->given);
		else
			err = in_field(json_in_skip(in), "args");
	}
	return err;
}

static int read_event(struct reader *r, struct json_in *in, struct event *e)
{
	int more, err = in_field(json_in_enter(in, '{'), "traceEvents");

	event_clear(e);
	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "traceEvents");
		if (streq(key, "ph"))
			err = viewer_in_text(FORMAT, in, "ph", &e->phase);
		else if (streq(key, "name"))
			err = viewer_in_text(FORMAT, in, "name", &e->name);
		else if (streq(key, "cat"))
			err = viewer_in_text(FORMAT, in, "cat", &e->category);
		else if (streq(key, "pid") || streq(key, "tid"))
			err = viewer_in_id(FORMAT, in, key, *key == 'p' ? &e->pid : &e->tid);
		else if (streq(key, "id"))
			err = viewer_in_id(FORMAT, in, key, &e->id);
		else if (streq(key, "args"))
			err = read_args(r, in, e);
		else if (streq(key, "ts"))
			err = viewer_in_scaled(FORMAT, in, "ts", US, &e->ts, &e->has_ts);
		else if (streq(key, "dur"))
			err = viewer_in_scaled(FORMAT, in, "dur", US, &e->dur, &e->has_dur);
		else
			err = in_field(json_in_skip(in), "traceEvents");
	}
	return err;
}

static uint32_t intern(struct reader *r, const struct str *s)
{
	return s->n ? profile_string_n(r->p, s->s, s->n) : 0;
}

/* Returns a thread, made if it is new. NULL: out of memory. */
static struct thread *thread_by(struct reader *r, uint32_t pid, uint32_t tid)
{
	struct thread t = {.pid = pid, .tid = tid};
	uint64_t key = (uint64_t)t.pid << 32 | t.tid;
	const uint64_t *found = map_get(&r->thread_at, key);

	if (!found && (map_put(&r->thread_at, key, r->threads.n) || vec_push(&r->threads, t)))
		return NULL;
	return &r->threads.v[found ? *found : r->threads.n - 1];
}

static struct thread *thread_of(struct reader *r, const struct event *e)
{
	return thread_by(r, intern(r, &e->pid), intern(r, &e->tid));
}

/* Reads an event that names a thread or a process. */
static int take_metadata(struct reader *r, const struct event *e)
{
	struct thread *t;

	if (streq(str_cstr(&e->name), "process_name"))
		return map_put(&r->process_name, intern(r, &e->pid), intern(r, &e->given))
			       ? NO_MEMORY
			       : 0;
	if (!streq(str_cstr(&e->name), "thread_name"))
		return 0;
	t = thread_of(r, e);
	if (t)
		t->name = intern(r, &e->given);
	return t ? 0 : NO_MEMORY;
}

/* krait's own slices say what kind of code they are, and where the function begins. */
static struct profile_location location_of_krait(struct reader *r, const struct event *e,
						 struct folded_text name, struct folded_text file)
{
	struct folded_frame f;
	struct profile_location l;
	const char *kind = str_cstr(&e->category);

	folded_frame_make(name, file, 0, &f);
	if (f.unnamed && f.kind != KIND_KERNEL && file.n)
		f.mapping = file;
	if (!f.unnamed && (streq(kind, "Python") || streq(kind, "mark")))
		f = (struct folded_frame){
			.kind = *kind == 'P' ? KIND_PYTHON : KIND_MARK, .name = name, .file = file};
	l = folded_frame_location(r->p, &f);
	viewer_in_set_start(r->p, &l, e->line);
	return l;
}

static uint32_t location_of(struct reader *r, const struct event *e)
{
	struct folded_text name = {str_cstr(&e->name), e->name.n},
			   file = {str_cstr(&e->file), e->file.n};
	struct profile_location l;
	struct folded_frame f;

	if (r->of_krait) {
		l = location_of_krait(r, e, name, file);
		return profile_location(r->p, &l);
	}
	/* PyTorch and viztracer write file and line into the name. */
	if (!file.n && folded_frame_parse_torch(name.s, name.n, &f)) {
		l = folded_frame_location(r->p, &f);
		viewer_in_set_start(r->p, &l, f.line);
		return profile_location(r->p, &l);
	}
	if (file.n || !name.n)
		folded_frame_make(name, file, e->line, &f);
	else
		folded_frame_parse(name.s, name.n, &f);
	l = folded_frame_location(r->p, &f);
	return profile_location(r->p, &l);
}

static int leave_out(struct reader *r, enum left_out what)
{
	r->left_out[what]++;
	return 0;
}

static int check_memory(struct reader *r, const struct json_in *in)
{
	if (r->slices.n + r->marks.n >= UINT32_MAX)
		return NO_MEMORY;
	return viewer_in_check_memory(
		FORMAT, in, "traceEvents", r->p,
		r->slices.n * sizeof(*r->slices.v) + r->marks.n * sizeof(*r->marks.v), r->budget);
}

static int add_slice(struct reader *r, const struct json_in *in, const struct event *e)
{
	struct slice s = {.start = e->ts, .at = (uint64_t)(in->at - in->start)};
	struct thread *t;

	if (!e->has_dur)
		return leave_out(r, NO_PARTNER);
	if (e->dur < 0 || __builtin_add_overflow(e->ts, e->dur, &s.end))
		return leave_out(r, NO_LENGTH);
	t = thread_of(r, e);
	if (!t)
		return NO_MEMORY;
	s.thread = (uint32_t)(t - r->threads.v);
	s.location = location_of(r, e);
	return vec_push(&r->slices, s) ? NO_MEMORY : check_memory(r, in);
}

static int add_mark(struct reader *r, const struct json_in *in, const struct event *e, bool begins)
{
	struct mark m = {
		.ts = e->ts, .at = (uint64_t)(in->at - in->start), .name = intern(r, &e->name)};
	struct thread *t = thread_of(r, e);

	if (!t)
		return NO_MEMORY;
	m.thread = (uint32_t)(t - r->threads.v);
	m.location = begins ? location_of(r, e) : 0;
	return vec_push(&r->marks, m) ? NO_MEMORY : check_memory(r, in);
}

static int by_moment(const void *va, const void *vb)
{
	const struct mark *a = va, *b = vb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

/*
 * Ends the innermost open slice, or the innermost one with the name of the end mark; slices inside
 * it end too. @n_open: the number of open slices by name, so that a name without any isn't searched
 * for.
 */
static int end_slice(struct reader *r, const struct mark *end, uint32_t *n_open)
{
	bool found = false;

	if (!r->open.n || (end->name && !n_open[end->name]))
		return leave_out(r, NO_PARTNER);
	while (!found) {
		const struct mark *m = &r->marks.v[r->open.v[--r->open.n]];
		struct slice s = {.start = m->ts,
				  .end = end->ts,
				  .at = m->at,
				  .thread = m->thread,
				  .location = m->location};

		n_open[m->name]--;
		found = !end->name || end->name == m->name;
		r->cut += !found;
		if (vec_push(&r->slices, s))
			return NO_MEMORY;
	}
	return 0;
}

/* Makes slices out of beginnings and ends. */
static int pair_marks(struct reader *r)
{
	_cleanup_free_ uint32_t *n_open = calloc(profile_n_strings(r->p) + 1, sizeof(*n_open));
	int err = n_open ? 0 : NO_MEMORY;

	if (r->marks.n)
		qsort(r->marks.v, r->marks.n, sizeof(*r->marks.v), by_moment);
	for (uint32_t i = 0; !err && i < r->marks.n; i++) {
		const struct mark *m = &r->marks.v[i];

		while (i && m[-1].thread != m->thread && r->open.n) {
			n_open[r->marks.v[r->open.v[--r->open.n]].name]--;
			r->left_out[NO_PARTNER]++;
		}
		if (!m->location) {
			err = end_slice(r, m, n_open);
			continue;
		}
		n_open[m->name]++;
		err = vec_push(&r->open, i) ? NO_MEMORY : 0;
	}
	r->left_out[NO_PARTNER] += r->open.n;
	r->open.n = 0;
	return err;
}

/*
 * Reads an event of V8's profiler. In all its events but the first, the thread profiled isn't the
 * event's own.
 */
static int take_profile(struct reader *r, const struct json_in *in, const struct event *e)
{
	int err;
	struct thread *t = thread_of(r, e);
	struct trace_profile_event part = {
		.begins = streq(str_cstr(&e->name), "Profile"),
		.pid = intern(r, &e->pid),
		.id = intern(r, &e->id),
		.ts_ns = e->ts,
		.args = e->args,
	};

	if (!t)
		return NO_MEMORY;
	part.thread = (uint32_t)(t - r->threads.v);
	err = trace_profiles_take(&r->profiles, &part);
	if (err != -EINVAL)
		return err;
	r->left_out[NO_CHUNK]++;
	return check_memory(r, in);
}

static int take_event(struct reader *r, const struct json_in *in, const struct event *e)
{
	char phase = e->phase.n == 1 ? e->phase.s[0] : '\0';
	bool profile =
		phase == 'P' && e->args.at &&
		(streq(str_cstr(&e->name), "Profile") || streq(str_cstr(&e->name), "ProfileChunk"));

	if (phase == 'M')
		return take_metadata(r, e);
	if (!e->phase.n && e->name.n)
		return leave_out(r, NO_PHASE);
	if (phase != 'B' && phase != 'E' && phase != 'X' && !profile)
		return 0;
	/* With this limit, ends and differences of times can't overflow. */
	if (!e->has_ts || e->ts < INT64_MIN / 4 || e->ts > INT64_MAX / 4)
		return leave_out(r, NO_TIME);
	if (profile)
		return take_profile(r, in, e);
	return phase == 'X' ? add_slice(r, in, e) : add_mark(r, in, e, phase == 'B');
}

/* Reads one event. An item that isn't an object is left out. */
static int take_item(struct reader *r, struct json_in *in, struct event *e)
{
	struct json_in before = *in;
	int err = json_in_enter(in, '{');

	*in = before;
	if (err) {
		r->left_out[NO_EVENT]++;
		return in_field(json_in_skip(in), "traceEvents");
	}
	err = read_event(r, in, e);
	return err ? err : take_event(r, in, e);
}

/* Tells whether the closing bracket is missing, as it may be in a file that is a list of events. */
static bool ends_open(struct json_in in)
{
	while (in.at < in.end && strchr(" \t\r\n,", *in.at) && *in.at)
		in.at++;
	return in.at == in.end;
}

static int read_events(struct reader *r, struct json_in *in, bool bare)
{
	_cleanup_(event_fini) struct event e = {};
	int more, err = in_field(json_in_enter(in, '['), "traceEvents");

	while (!err && !(bare && ends_open(*in)) && (more = json_in_item(in))) {
		err = more < 0 ? in_field(more, "traceEvents") : take_item(r, in, &e);
	}
	if (!err && bare && ends_open(*in))
		in->at = in->end;
	return err;
}

/* Reads who wrote the file; krait writes "otherData" first. */
static int read_producer(struct reader *r, struct json_in *in)
{
	_cleanup_str_ struct str text = {};
	int more, err = in_field(json_in_enter(in, '{'), "otherData");

	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			return in_field(more, "otherData");
		if (!streq(str_cstr(&r->key), "producer")) {
			err = in_field(json_in_skip(in), "otherData");
			continue;
		}
		err = viewer_in_text(FORMAT, in, "producer", &text);
		r->of_krait = streq(str_cstr(&text), "krait");
	}
	return err;
}

/* Remembers where the samples and their frames are; the frames may come later in the file. */
static void keep_place(struct reader *r, struct json_in in)
{
	bool samples = streq(str_cstr(&r->key), "samples");
	struct json_in at = in;

	if (samples && !json_in_enter(&at, '['))
		r->samples.list = in;
	else if (streq(str_cstr(&r->key), "stackFrames") && !json_in_enter(&at, '{'))
		r->samples.frames = in;
}

static int read_file(struct reader *r, struct json_in *in)
{
	struct json_in before = *in;
	bool there = false;
	int more, err;

	if (!json_in_enter(in, '[')) {
		*in = before;
		err = read_events(r, in, true);
		return err ? err : in_field(json_in_end(in), "the file");
	}
	*in = before;
	err = in_field(json_in_enter(in, '{'), "the file");
	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			return in_field(more, "the file");
		if (streq(str_cstr(&r->key), "traceEvents")) {
			there = true;
			err = read_events(r, in, false);
		} else if (streq(str_cstr(&r->key), "otherData") && !there) {
			before = *in;
			if (json_in_enter(&before, '{'))
				err = in_field(json_in_skip(in), "otherData");
			else
				err = read_producer(r, in);
		} else {
			keep_place(r, *in);
			err = in_field(json_in_skip(in), "the file");
		}
	}
	err = err ? err : in_field(json_in_end(in), "the file");
	err = err ? err : trace_samples_read(&r->samples);
	return err || there ? err : bad(in, "traceEvents", "the file has none");
}

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
 * Returns the label set of a thread. @profile: id of the V8 profile; 0: none, or it doesn't matter.
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

/* Counts the frames of the open slices as work, once for each thread and stack. */
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

/* Closes the slices that have ended by @until, and adds samples up to there. */
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

/* The time that all times are relative to: 0 for krait's own traces, else the first event. */
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
		[NO_CHUNK] = {"piece", "of V8's profiles that contradicts others"},
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
				   "beside the events whose stack isn't in the file (stackFrames)");
	err = err ? err
		  : viewer_in_note(r->p, COMMENTS_MENDED, r->samples.nodes.n_orphans, "frame",
				   "of stackFrames without its callers: they aren't in the file");
	err = err ? err
		  : viewer_in_note(r->p, COMMENTS_MENDED, r->profiles.n_orphans, "frame",
				   "of V8's profiles without its callers: they aren't in the file");
	return err ? err
		   : viewer_in_note(r->p, COMMENTS_MENDED, r->cut, "slice",
				    "that would outlast its caller ends with it");
}

/*
 * A thread with several profiles at the same time has all samples several times; a label tells the
 * profiles apart.
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
		const struct thread *t = thread_by(r, s->pid, s->tid);

		err = t ? trace_samples_add(&r->samples, s,
					    labels_of(r, (uint32_t)(t - r->threads.v), 0), base)
			: NO_MEMORY;
	}
	return err;
}

/* Tells whether any slice has a length; Hermes writes one without for each thread. */
static bool has_slices(const struct reader *r)
{
	bool any = false;

	vec_foreach(s, &r->slices)
		any |= s->end > s->start;
	return any;
}

/*
 * The samples of profilers and the length of slices must not be added up. If a file has both, they
 * are separate values.
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

static int make(struct reader *r, struct json_in in)
{
	int err = read_file(r, &in);
	int64_t base;

	err = err ? err : pair_marks(r);
	base = find_base(r);
	set_values(r);
	if (!err && r->slices.n)
		qsort(r->slices.v, r->slices.n, sizeof(*r->slices.v), by_time);
	err = err ? err : walk(r, base);
	err = err ? err : add_profiles(r, base);
	err = err ? err : add_samples(r, base);
	return err ? err : add_comments(r);
}

int trace_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {.p = profile_new(), .budget = VIEWER_BUDGET(n)};
	_cleanup_str_ struct str unpacked = {};
	struct json_in in;
	int err = r.p ? viewer_in_open(FORMAT, data, n, r.budget, &unpacked, &in) : NO_MEMORY;

	r.steps = err ? 0 : VIEWER_STEPS(n, in.end - in.start);
	map_init(&r.thread_at);
	map_init(&r.process_name);
	trace_profiles_init(&r.profiles, FORMAT, r.p, r.budget, &r.steps);
	trace_samples_init(&r.samples, FORMAT, r.p, r.budget, &r.steps);
	err = err ? err : make(&r, in);
	map_fini(&r.thread_at);
	map_fini(&r.process_name);
	trace_profiles_fini(&r.profiles);
	trace_samples_fini(&r.samples);
	vec_fini(&r.threads);
	vec_fini(&r.slices);
	vec_fini(&r.marks);
	vec_fini(&r.open);
	vec_fini(&r.counted);
	str_fini(&r.key);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

bool trace_probe(const uint8_t *head, size_t n)
{
	return (viewer_in_begins(head, n, '{') && viewer_in_has(head, n, "\"traceEvents\"")) ||
	       (viewer_in_begins(head, n, '[') && viewer_in_has(head, n, "\"ph\""));
}
