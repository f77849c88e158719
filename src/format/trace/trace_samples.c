/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the list of samples that a trace may have beside its events; see trace_samples.h. */
#include "format/trace/trace_samples.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/folded_frame.h"

#define NO_MEMORY VIEWER_NO_MEMORY
#define US	  3 /* 10^US is what the file's microseconds are multiplied by, to get ns */

static int in_field(const struct trace_samples *t, int r, const char *field)
{
	return viewer_in_wrap(t->nodes.format, r, field);
}

void trace_samples_init(struct trace_samples *t, const char *format, struct profile *p,
			size_t budget, uint64_t *steps)
{
	*t = (struct trace_samples){};
	v8_nodes_init(&t->nodes, format, p, budget, steps);
}

void trace_samples_fini(struct trace_samples *t)
{
	v8_nodes_fini(&t->nodes);
	vec_fini(&t->callers);
	vec_fini(&t->all);
}

/* A frame of the file's "stackFrames". */
struct frame {
	struct str name, category, parent;
	int64_t line, start;
};

static void frame_fini(struct frame *f)
{
	str_fini(&f->name);
	str_fini(&f->category);
	str_fini(&f->parent);
}

/*
 * Takes a number such as ":12" off the end of a text. False: the text doesn't end in a colon and a
 * number.
 */
static bool take_number(struct folded_text *text, int32_t *ret)
{
	size_t n = text->n;
	int64_t value = 0;

	while (n && text->s[n - 1] >= '0' && text->s[n - 1] <= '9')
		n--;
	if (n < 2 || n == text->n || text->s[n - 1] != ':')
		return false;
	for (size_t i = n; i < text->n && value <= INT32_MAX; i++)
		value = 10 * value + (text->s[i] - '0');
	*ret = value <= INT32_MAX ? (int32_t)value : 0;
	text->n = n - 1;
	return true;
}

/* Parses "name(file:line:column)", as Hermes writes it. False: the text isn't of that form. */
static bool parse_hermes(const struct str *name, struct folded_frame *ret)
{
	struct folded_text text = {"(anonymous)", 11}, place = {};
	const char *open = strchr(str_cstr(name), '(');
	int32_t column, line;

	if (!open || name->s[name->n - 1] != ')')
		return false;
	if (open != name->s)
		text = (struct folded_text){name->s, (size_t)(open - name->s)};
	place = (struct folded_text){open + 1, (size_t)(name->s + name->n - 1 - (open + 1))};
	if (!take_number(&place, &column) || !take_number(&place, &line))
		return false;
	*ret = (struct folded_frame){
		.kind = KIND_NATIVE, .name = text, .file = place, .line = line};
	return true;
}

static uint32_t location_of(struct trace_samples *t, const struct frame *frame)
{
	struct folded_text name = {str_cstr(&frame->name), frame->name.n};
	struct folded_text library = {str_cstr(&frame->category), frame->category.n};
	struct profile_location l;
	struct folded_frame f;

	if (!parse_hermes(&frame->name, &f)) {
		folded_frame_parse(name.s, name.n, &f);
		if (!f.mapping.n && !f.file.n && strstr(library.s, ".so"))
			f.mapping = library;
	}
	if (!f.line && frame->line > 0 && frame->line <= INT32_MAX)
		f.line = (int32_t)frame->line;
	l = folded_frame_location(t->nodes.p, &f);
	if (frame->start <= INT32_MAX)
		viewer_in_set_start(t->nodes.p, &l, (int32_t)MAX(frame->start, (int64_t)0));
	return profile_location(t->nodes.p, &l);
}

static int read_frame(struct trace_samples *t, struct json_in *in, struct frame *f)
{
	const char *format = t->nodes.format;
	int more, err = in_field(t, json_in_enter(in, '{'), "stackFrames");
	bool known;

	str_clear(&f->name);
	str_clear(&f->category);
	str_clear(&f->parent);
	f->line = f->start = 0;
	while (!err && (more = json_in_key(in, &t->nodes.key))) {
		const char *key = str_cstr(&t->nodes.key);

		if (more < 0)
			err = in_field(t, more, "stackFrames");
		else if (streq(key, "name"))
			err = viewer_in_text(format, in, "name", &f->name);
		else if (streq(key, "category"))
			err = viewer_in_text(format, in, "category", &f->category);
		else if (streq(key, "parent"))
			err = viewer_in_id(format, in, "parent", &f->parent);
		else if (streq(key, "line"))
			err = viewer_in_scaled(format, in, "line", 0, &f->line, &known);
		else if (streq(key, "funcLine"))
			err = viewer_in_scaled(format, in, "funcLine", 0, &f->start, &known);
		else
			err = in_field(t, json_in_skip(in), "stackFrames");
	}
	return err;
}

static uint32_t intern(const struct trace_samples *t, const struct str *s)
{
	return s->n ? profile_string_n(t->nodes.p, s->s, s->n) : 0;
}

static int check_memory(const struct trace_samples *t, const struct json_in *in)
{
	const struct v8_nodes *n = &t->nodes;
	size_t bytes = n->list.n * sizeof(*n->list.v) + t->callers.n * sizeof(*t->callers.v) +
		       n->at.size * sizeof(*n->at.slots) + t->all.n * sizeof(*t->all.v);

	return viewer_in_check_memory(n->format, in, "samples", n->p, bytes, n->budget);
}

static int take_frame(struct trace_samples *t, uint32_t id, const struct frame *f)
{
	struct v8_node node = {.location = location_of(t, f)};

	if (map_put(&t->nodes.at, id, t->nodes.list.n) || vec_push(&t->nodes.list, node) ||
	    vec_push(&t->callers, intern(t, &f->parent)))
		return NO_MEMORY;
	return 0;
}

/*
 * Finds the callers of all frames. It is called after all frames were read, because a caller may
 * come before or after the frames that it calls.
 */
static void find_callers(struct trace_samples *t)
{
	for (size_t i = 0; i < t->callers.n; i++) {
		const uint64_t *at = map_get(&t->nodes.at, t->callers.v[i]);

		if (t->callers.v[i] && at)
			t->nodes.list.v[i].parent = (uint32_t)*at + 1;
		else
			t->nodes.n_orphans += t->callers.v[i] != 0;
	}
}

static int read_frames(struct trace_samples *t)
{
	_cleanup_(frame_fini) struct frame f = {};
	struct json_in in = t->frames;
	int more, err = in_field(t, json_in_enter(&in, '{'), "stackFrames");

	while (!err && (more = json_in_key(&in, &t->nodes.key))) {
		uint32_t id = more < 0 ? 0 : intern(t, &t->nodes.key);

		err = more < 0 ? in_field(t, more, "stackFrames") : read_frame(t, &in, &f);
		err = err ? err : take_frame(t, id, &f);
		err = err ? err : check_memory(t, &in);
	}
	find_callers(t);
	return err;
}

static int read_sample(struct trace_samples *t, struct json_in *in, struct trace_sample *s,
		       struct str *text, uint32_t *frame)
{
	const char *format = t->nodes.format;
	int more, err = in_field(t, json_in_enter(in, '{'), "samples");
	bool known;

	*s = (struct trace_sample){.weight = 1};
	while (!err && (more = json_in_key(in, &t->nodes.key))) {
		const char *key = str_cstr(&t->nodes.key);

		if (more < 0) {
			err = in_field(t, more, "samples");
		} else if (streq(key, "sf") || streq(key, "pid") || streq(key, "tid")) {
			uint32_t *to = *key == 's' ? frame : *key == 'p' ? &s->pid : &s->tid;

			err = viewer_in_id(format, in, "sf, pid, tid", text);
			*to = intern(t, text);
		} else if (streq(key, "ts")) {
			err = viewer_in_scaled(format, in, "ts", US, &s->ts_ns, &s->has_ts);
		} else if (streq(key, "weight")) {
			err = viewer_in_scaled(format, in, "weight", 0, &s->weight, &known);
			s->weight = known ? s->weight : 1;
		} else {
			err = in_field(t, json_in_skip(in), "samples");
		}
	}
	s->has_ts = s->has_ts && s->ts_ns > INT64_MIN / 4 && s->ts_ns < INT64_MAX / 4;
	return err;
}

static int take_sample(struct trace_samples *t, struct json_in *in, struct str *text)
{
	struct json_in before = *in;
	struct trace_sample s;
	uint32_t frame = 0;
	const uint64_t *at;
	int err = json_in_enter(in, '{');

	*in = before;
	if (err) {
		t->n_unknown++;
		return in_field(t, json_in_skip(in), "samples");
	}
	err = read_sample(t, in, &s, text, &frame);
	at = frame ? map_get(&t->nodes.at, frame) : NULL;
	t->n_unknown += !err && !at;
	if (err || !at)
		return err;
	s.node = (uint32_t)*at;
	return vec_push(&t->all, s) ? NO_MEMORY : check_memory(t, in);
}

int trace_samples_read(struct trace_samples *t)
{
	_cleanup_str_ struct str text = {};
	struct json_in in = t->list;
	int more, err = t->frames.at ? read_frames(t) : 0;

	if (err || !t->list.at)
		return err;
	err = in_field(t, json_in_enter(&in, '['), "samples");
	while (!err && (more = json_in_item(&in)))
		err = more < 0 ? in_field(t, more, "samples") : take_sample(t, &in, &text);
	return err;
}

int trace_samples_add(struct trace_samples *t, const struct trace_sample *s, uint32_t labels,
		      int64_t base_ns)
{
	struct profile_sample sample = {.labels = labels, .time_ns = -1, .values = {s->weight}};
	int err = v8_nodes_stack(&t->nodes, &t->list, s->node, labels, &sample.stack);

	if (s->has_ts)
		sample.time_ns = MAX(s->ts_ns - base_ns, (int64_t)0);
	return err ? err : profile_add(t->nodes.p, &sample);
}
