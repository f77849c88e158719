/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A speedscope file into a profile; see speedscope_in.h. The table of frames may come behind the
 * profiles that refer to it, and a unit behind its weights: where they are is found out first.
 */
#include "profile/speedscope_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "profile/folded_frame.h"
#include "profile/viewer_in.h"

#define MAX_DEPTH VIEWER_MAX_DEPTH
#define NO_MEMORY VIEWER_NO_MEMORY

/* A frame that is open, and where the stack down to it is in the profile's tree; 0: no sample has it yet. */
struct open_frame {
	uint32_t location, node;
};

struct reader {
	struct profile *p;
	size_t budget;
	uint64_t steps;
	struct json_in frames, profiles; /* where these lists are; .at NULL: nowhere */
	VEC(uint32_t) locations;	 /* by index in the file's table */
	VEC(struct open_frame) stack;	 /* root first */
	struct str key, name, file;
};

/* One member of "profiles": its parts are read when all of them are known. */
struct part {
	struct json_in samples, weights, events;
	struct str type, name, unit;
	int power; /* of ten, from the file's unit to ours */
	uint32_t labels;
};

static void part_fini(struct part *part)
{
	str_fini(&part->type);
	str_fini(&part->name);
	str_fini(&part->unit);
}

static int bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad("speedscope", in, field, what);
}

static int in_field(int r, const char *field)
{
	return viewer_in_wrap("speedscope", r, field);
}

static int read_text(struct json_in *in, const char *field, struct str *ret)
{
	return viewer_in_text("speedscope", in, field, ret);
}

static int read_line(struct json_in *in, const char *field, int32_t *ret)
{
	return viewer_in_line("speedscope", in, field, ret);
}

static int read_frame(struct reader *r, struct json_in *in)
{
	int32_t line = 0, column = 0;
	struct profile_location l;
	struct folded_frame f;
	int more, err = in_field(json_in_enter(in, '{'), "frames");

	str_clear(&r->name);
	str_clear(&r->file);
	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			err = in_field(more, "frames");
		else if (streq(str_cstr(&r->key), "name"))
			err = in_field(json_in_string(in, &r->name), "name");
		else if (streq(str_cstr(&r->key), "file"))
			err = read_text(in, "file", &r->file);
		else if (streq(str_cstr(&r->key), "line"))
			err = read_line(in, "line", &line);
		else if (streq(str_cstr(&r->key), "col"))
			err = read_line(in, "col", &column);
		else
			err = in_field(json_in_skip(in), "frames");
	}
	if (err)
		return err;
	folded_frame_make((struct folded_text){str_cstr(&r->name), r->name.n},
			  (struct folded_text){str_cstr(&r->file), r->file.n}, line, &f);
	l = folded_frame_location(r->p, &f);
	l.column = line ? column : 0;
	return vec_push(&r->locations, profile_location(r->p, &l)) ? NO_MEMORY : 0;
}

static int check_memory(const struct reader *r, const struct json_in *in)
{
	return viewer_in_check_memory("speedscope", in, "profiles", r->p, 0, r->budget);
}

static int read_frames(struct reader *r)
{
	struct json_in in = r->frames;
	int more, err = in.at ? json_in_enter(&in, '[') : 0;

	while (!err && in.at && (more = json_in_item(&in))) {
		err = more < 0 ? in_field(more, "frames") : read_frame(r, &in);
		err = err ? err : check_memory(r, &in);
	}
	return err;
}

/* The index of a frame: its location. */
static int read_index(struct reader *r, struct json_in *in, const char *field, uint32_t *ret)
{
	int64_t index;
	int err = in_field(json_in_integer(in, &index), field);

	if (err)
		return err;
	if (index < 0 || (uint64_t)index >= r->locations.n)
		return bad(in, field, "there is no such frame");
	*ret = r->locations.v[index];
	return 0;
}

/* The node of the innermost frame: only those that were opened since the last sample are made. 0: no memory. */
static uint32_t innermost_node(struct reader *r)
{
	size_t made = r->stack.n;
	uint32_t node;

	while (made && !r->stack.v[made - 1].node)
		made--;
	node = made ? r->stack.v[made - 1].node : 0;
	for (; made < r->stack.n; made++) {
		node = profile_node(r->p, node, r->stack.v[made].location);
		if (!node)
			return 0;
		r->stack.v[made].node = node;
	}
	return node;
}

static int add_sample(struct reader *r, const struct part *part, const struct json_in *in,
		      int64_t weight)
{
	struct profile_sample s = {.labels = part->labels, .time_ns = -1, .values = {weight}};
	uint32_t node;

	if (r->stack.n > r->steps)
		return bad(in, "events",
			   "the stacks are far deeper than those of a file of this size should be");
	r->steps -= r->stack.n;
	node = innermost_node(r);
	if (r->stack.n && !node)
		return NO_MEMORY;
	s.stack = profile_stack_at(r->p, node, r->stack.n);
	return s.stack ? profile_add(r->p, &s) : NO_MEMORY;
}

static int read_stack(struct reader *r, struct json_in *in)
{
	int more, err = in_field(json_in_enter(in, '['), "samples");

	r->stack.n = 0;
	while (!err && (more = json_in_item(in))) {
		uint32_t location = 0;

		err = more < 0 ? in_field(more, "samples")
			       : read_index(r, in, "samples", &location);
		if (!err && r->stack.n >= MAX_DEPTH)
			err = bad(in, "samples", "more than 65536 frames in a stack");
		if (!err && vec_push(&r->stack, (struct open_frame){.location = location}))
			err = NO_MEMORY;
	}
	return err;
}

/* Two lists of the same length. */
static int read_sampled(struct reader *r, struct part *part)
{
	struct json_in *samples = &part->samples, *weights = &part->weights;
	int more, err;

	if (!samples->at || !weights->at)
		return bad(&r->profiles, "profiles", "one has no samples or no weights");
	err = in_field(json_in_enter(samples, '['), "samples");
	err = err ? err : in_field(json_in_enter(weights, '['), "weights");
	while (!err && (more = json_in_item(samples))) {
		int64_t weight = 0;
		int left = more < 0 ? more : json_in_item(weights);

		if (!left)
			return bad(weights, "weights", "there are more samples than weights");
		err = in_field(MIN(more, left), "samples");
		err = err < 0 ? err : read_stack(r, samples);
		err = err ? err
			  : in_field(json_in_scaled(weights, part->power, &weight), "weights");
		if (!err && weight < 0)
			err = bad(weights, "weights", "it is below 0");
		err = err ? err : add_sample(r, part, samples, weight);
		err = err ? err : check_memory(r, samples);
	}
	if (!err && json_in_item(weights))
		err = bad(weights, "weights", "there are more weights than samples");
	return err;
}

struct event {
	struct str type;
	int64_t at;
	uint32_t location;
};

static int read_event(struct reader *r, const struct part *part, struct json_in *in,
		      struct event *e)
{
	int more, err = in_field(json_in_enter(in, '{'), "events");

	str_clear(&e->type);
	e->at = 0;
	e->location = 0;
	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			err = in_field(more, "events");
		else if (streq(str_cstr(&r->key), "type"))
			err = in_field(json_in_string(in, &e->type), "type");
		else if (streq(str_cstr(&r->key), "at"))
			err = in_field(json_in_scaled(in, part->power, &e->at), "at");
		else if (streq(str_cstr(&r->key), "frame"))
			err = read_index(r, in, "frame", &e->location);
		else
			err = in_field(json_in_skip(in), "events");
	}
	if (!err && !e->location)
		err = bad(in, "events", "one has no frame");
	return err;
}

/* Opens or closes a frame. */
static int take_event(struct reader *r, const struct json_in *in, const struct event *e)
{
	if (streq(str_cstr(&e->type), "O")) {
		if (r->stack.n >= MAX_DEPTH)
			return bad(in, "events", "more than 65536 frames in a stack");
		return vec_push(&r->stack, (struct open_frame){.location = e->location}) ? NO_MEMORY
											 : 0;
	}
	if (!streq(str_cstr(&e->type), "C"))
		return bad(in, "events", "its type is neither O nor C");
	if (!r->stack.n || r->stack.v[r->stack.n - 1].location != e->location)
		return bad(in, "events", "it closes a frame that isn't the innermost one");
	r->stack.n--;
	return 0;
}

/* What is open between two events is a sample. */
static int read_evented(struct reader *r, struct part *part)
{
	struct json_in *in = &part->events;
	struct event e = {};
	int64_t last = 0, weight;
	int more, err;

	if (!in->at)
		return bad(&r->profiles, "profiles", "one has no events");
	err = in_field(json_in_enter(in, '['), "events");
	r->stack.n = 0;
	while (!err && (more = json_in_item(in))) {
		err = more < 0 ? in_field(more, "events") : read_event(r, part, in, &e);
		if (!err && r->stack.n && __builtin_sub_overflow(e.at, last, &weight))
			err = bad(in, "at", "it is too far behind the one before");
		else if (!err && r->stack.n && weight < 0)
			err = bad(in, "at", "it is before the one before");
		else if (!err && r->stack.n && weight)
			err = add_sample(r, part, in, weight);
		last = e.at;
		err = err ? err : take_event(r, in, &e);
		err = err ? err : check_memory(r, in);
	}
	str_fini(&e.type);
	return err;
}

typedef VEC(struct profile_label) label_list;

static int add_label(struct reader *r, label_list *labels, const char *key,
		     struct folded_text value)
{
	struct profile_label l = {profile_string(r->p, key),
				  profile_string_n(r->p, value.s, value.n)};

	return value.n && vec_push(labels, l) ? NO_MEMORY : 0;
}

/* krait's "app.py (pid 12) · Main (tid 34)"; a name may have a dot itself, but ids end what has one. */
static int take_name_of_krait(struct reader *r, const char *name, label_list *labels)
{
	static const char between[] = " \xc2\xb7 ";
	int err = 0;

	for (const char *at = name, *next = name; next && !err;) {
		struct folded_label found[2];

		next = strstr(next, between);
		folded_root_parse(at, next ? (size_t)(next - at) : strlen(at), found);
		for (size_t i = 0; i < ARRAY_SIZE(found) && found[i].key && !err; i++)
			err = add_label(r, labels, found[i].key, found[i].value);
		next = next ? next + strlen(between) : NULL;
		if (found[0].key)
			at = next;
	}
	return err;
}

/* py-spy's `Process 12 Thread 34 "Main"`, where the first or the last may be missing */
static int take_name_of_pyspy(struct reader *r, const char *name, label_list *labels)
{
	static const char process[] = "Process ", thread[] = "Thread ";
	const char *at = name, *quote;
	size_t n;
	int err = 0;

	if (!strncmp(at, process, strlen(process))) {
		at += strlen(process);
		n = strcspn(at, " ");
		err = add_label(r, labels, "pid", (struct folded_text){at, n});
		at += n + !!at[n];
	}
	if (err || strncmp(at, thread, strlen(thread)))
		return err;
	at += strlen(thread);
	err = add_label(r, labels, "tid", (struct folded_text){at, strcspn(at, " ")});
	quote = strchr(at, '"');
	if (!err && quote && quote[1])
		err = add_label(r, labels, "thread",
				(struct folded_text){quote + 1, strlen(quote + 1) - 1});
	return err;
}

/* Whose a profile is; the only one of a file is as likely to be called by what was run. */
static int take_name(struct reader *r, struct part *part, bool alone)
{
	const char *name = str_cstr(&part->name);
	label_list labels = {};
	int err = take_name_of_krait(r, name, &labels);

	if (!err && !labels.n)
		err = take_name_of_pyspy(r, name, &labels);
	if (!err && !labels.n && !alone)
		err = add_label(r, &labels, "thread", (struct folded_text){name, strlen(name)});
	part->labels = profile_labels(r->p, labels.v, labels.n);
	vec_fini(&labels);
	return err;
}

/* All profiles of a file are of one value: times of any unit, bytes or counts. */
static int take_unit(struct reader *r, struct part *part, const struct json_in *in)
{
	static const struct {
		const char *word;
		int power;
		struct profile_value_type type;
	} units[] = {{"none", 0, {"samples", "count"}},
		     {"bytes", 0, {"bytes", "bytes"}},
		     {"nanoseconds", 0, {"time", "nanoseconds"}},
		     {"microseconds", 3, {"time", "nanoseconds"}},
		     {"milliseconds", 6, {"time", "nanoseconds"}},
		     {"seconds", 9, {"time", "nanoseconds"}}};
	struct profile_meta *m = profile_meta(r->p);
	size_t i = 0;

	while (i < ARRAY_SIZE(units) && !streq(str_cstr(&part->unit), units[i].word))
		i++;
	if (i == ARRAY_SIZE(units))
		return bad(in, "unit",
			   "it is none of none, bytes, nanoseconds, microseconds, milliseconds and "
			   "seconds");
	if (m->n_values && !streq(m->values[0].unit, units[i].type.unit))
		return bad(in, "unit", "it isn't what the profiles before have");
	m->values[0] = units[i].type;
	m->n_values = 1;
	part->power = units[i].power;
	return 0;
}

static int find_parts(struct reader *r, struct part *part, struct json_in *in)
{
	int more, err = in_field(json_in_enter(in, '{'), "profiles");

	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "profiles");
		if (streq(key, "type") || streq(key, "name") || streq(key, "unit")) {
			err = read_text(in, key,
					*key == 't'   ? &part->type
					: *key == 'n' ? &part->name
						      : &part->unit);
			continue;
		}
		if (streq(key, "samples"))
			part->samples = *in;
		else if (streq(key, "weights"))
			part->weights = *in;
		else if (streq(key, "events"))
			part->events = *in;
		err = in_field(json_in_skip(in), "profiles");
	}
	return err;
}

static int read_part(struct reader *r, struct json_in *in, bool alone)
{
	_cleanup_(part_fini) struct part part = {};
	int err = find_parts(r, &part, in);

	err = err ? err : take_unit(r, &part, in);
	err = err ? err : take_name(r, &part, alone);
	if (err)
		return err;
	if (streq(str_cstr(&part.type), "sampled"))
		return read_sampled(r, &part);
	if (streq(str_cstr(&part.type), "evented"))
		return read_evented(r, &part);
	return bad(in, "type", "it is neither sampled nor evented");
}

static int read_profiles(struct reader *r)
{
	struct json_in in = r->profiles;
	struct profile_meta *m = profile_meta(r->p);
	int more, err = in_field(json_in_enter(&in, '['), "profiles");
	bool first = true;

	while (!err && (more = json_in_item(&in))) {
		struct json_in behind = in;
		bool alone = first && !json_in_skip(&behind) && !json_in_item(&behind);

		err = more < 0 ? in_field(more, "profiles") : read_part(r, &in, alone);
		first = false;
	}
	if (!m->n_values)
		m->values[m->n_values++] = (struct profile_value_type){"samples", "count"};
	m->period_type = m->values[0];
	m->period = 1;
	return err;
}

/* Where "frames" of "shared" is. */
static int find_frames(struct reader *r, struct json_in *in)
{
	int more, err = in_field(json_in_enter(in, '{'), "shared");

	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			return in_field(more, "shared");
		if (streq(str_cstr(&r->key), "frames"))
			r->frames = *in;
		err = in_field(json_in_skip(in), "shared");
	}
	return err;
}

static int read_text_of(struct reader *r, struct json_in in)
{
	int more, err = in_field(json_in_enter(&in, '{'), "the file");

	while (!err && (more = json_in_key(&in, &r->key))) {
		if (more < 0)
			return in_field(more, "the file");
		if (streq(str_cstr(&r->key), "shared")) {
			err = find_frames(r, &in);
			continue;
		}
		if (streq(str_cstr(&r->key), "profiles"))
			r->profiles = in;
		err = in_field(json_in_skip(&in), "the file");
	}
	err = err ? err : in_field(json_in_end(&in), "the file");
	if (!err && !r->profiles.at)
		err = bad(&in, "profiles", "the file has none");
	err = err ? err : read_frames(r);
	return err ? err : read_profiles(r);
}

int speedscope_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {.p = profile_new(), .budget = VIEWER_BUDGET(n)};
	_cleanup_str_ struct str unpacked = {};
	struct json_in in;
	int err = r.p ? viewer_in_open("speedscope", data, n, r.budget, &unpacked, &in) : NO_MEMORY;

	r.steps = err ? 0 : VIEWER_STEPS(n, in.end - in.start);
	err = err ? err : read_text_of(&r, in);
	vec_fini(&r.locations);
	vec_fini(&r.stack);
	str_fini(&r.key);
	str_fini(&r.name);
	str_fini(&r.file);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

bool speedscope_probe(const uint8_t *head, size_t n)
{
	return viewer_in_begins(head, n, '{') && viewer_in_has(head, n, "speedscope.app");
}
