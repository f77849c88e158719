/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads trace events; see trace_in.h. trace_event.c reads one event, trace_profiles.c the V8
 * profiles that events contain, trace_samples.c the list of samples that a file may have beside its
 * events. Events may come in any order: an X event comes after the events of the functions that its
 * function called. So all slices are collected first, and then trace_walk.c makes a profile of
 * them. An event that has something wrong in it is left out and counted.
 */
#include "format/trace/trace_in.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/folded_frame.h"
#include "format/trace/trace_event.h"
#include "format/trace/trace_reader.h"

static int bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(FORMAT, in, field, what);
}

static int in_field(int r, const char *field)
{
	return viewer_in_wrap(FORMAT, r, field);
}

static uint32_t intern(struct reader *r, const struct str *s)
{
	return s->n ? profile_string_n(r->p, s->s, s->n) : 0;
}

/* Returns the thread with these ids. Adds the thread if it is new. NULL: out of memory. */
struct thread *trace_thread_by(struct reader *r, uint32_t pid, uint32_t tid)
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
	return trace_thread_by(r, intern(r, &e->pid), intern(r, &e->tid));
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

/*
 * Makes the location of a slice that krait wrote. Such a slice says what kind of code its function
 * is, and where the function begins.
 */
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
 * Ends the innermost open slice. If @end has a name, ends the innermost open slice with that name,
 * and the slices inside it. @n_open: by name, how many open slices have that name. If none has it,
 * the open slices aren't searched.
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

/* Makes slices of the marks: joins each event that begins a slice with the event that ends it. */
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
 * Reads an event of V8's profiler. The thread that is profiled writes an event "Profile"; another
 * thread may write the events "ProfileChunk" that follow.
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
	/* times within this limit can be added and subtracted without an overflow */
	if (!e->has_ts || e->ts < INT64_MIN / 4 || e->ts > INT64_MAX / 4)
		return leave_out(r, NO_TIME);
	if (profile)
		return take_profile(r, in, e);
	return phase == 'X' ? add_slice(r, in, e) : add_mark(r, in, e, phase == 'B');
}

/* Reads one item of the list of events. An item that isn't an object is left out. */
static int take_item(struct reader *r, struct json_in *in, struct event *e)
{
	struct json_in before = *in;
	int err = json_in_enter(in, '{');

	*in = before;
	if (err) {
		r->left_out[NO_EVENT]++;
		return in_field(json_in_skip(in), "traceEvents");
	}
	err = trace_event_read(r, in, e);
	return err ? err : take_event(r, in, e);
}

/*
 * Tells whether the text ends at this point, without a closing bracket. A file that is a list of
 * events may lack the bracket.
 */
static bool ends_open(struct json_in in)
{
	while (in.at < in.end && strchr(" \t\r\n,", *in.at) && *in.at)
		in.at++;
	return in.at == in.end;
}

static int read_events(struct reader *r, struct json_in *in, bool bare)
{
	_cleanup_(trace_event_fini) struct event e = {};
	int more, err = in_field(json_in_enter(in, '['), "traceEvents");

	while (!err && !(bare && ends_open(*in)) && (more = json_in_item(in))) {
		err = more < 0 ? in_field(more, "traceEvents") : take_item(r, in, &e);
	}
	if (!err && bare && ends_open(*in))
		in->at = in->end;
	return err;
}

/* Finds out whether krait wrote the file, from "otherData", which krait's files have first. */
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

/*
 * Stores where the lists of samples and of their frames are in the file. They are read later,
 * because the frames may come after the samples.
 */
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
	return err || there ? err : bad(in, "traceEvents", "the file lacks this member");
}

static int make(struct reader *r, struct json_in in)
{
	int err = read_file(r, &in);

	err = err ? err : pair_marks(r);
	return trace_make(r, err);
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
