/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a speedscope file; see speedscope_in.h. The table of frames may come after the profiles
 * that refer to it, and a unit after the weights, so these are located first. Whatever is wrong in
 * a single sample, event or profile is left out or mended, and counted.
 */
#include "format/speedscope/speedscope_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "format/common/folded_frame.h"
#include "format/common/viewer_in.h"
#include "view/shape/timeline.h"

#define MAX_DEPTH VIEWER_MAX_DEPTH
#define NO_MEMORY VIEWER_NO_MEMORY

/* Reasons why something was left out or changed. */
enum odd {
	NO_FRAME,
	NO_WEIGHT,
	NO_END,
	NO_EVENT,
	NO_PROFILE,
	NO_VALUE,
	INSIDE,
	BACK,
	NO_UNIT,
	ODDS
};

/*
 * An open frame. .node: the node of its stack in the profile's tree; 0: no sample has used that
 * stack yet.
 */
struct open_frame {
	uint32_t location, node;
	uint32_t index; /* 1 + index of the frame in the file's table; only for events */
};

struct reader {
	struct profile *p;
	size_t budget;
	uint64_t steps;
	/*
	 * where the lists "frames" and "profiles" are in the file; .at is NULL if the file has none
	 */
	struct json_in frames, profiles;
	VEC(uint32_t) locations; /* by index in the file's table of frames: id of the location */
	VEC(struct open_frame) stack; /* frames that are open, root first */
	VEC(uint32_t) n_open;	      /* by index of a frame: how often it is open */
	struct viewer_counts counts;
	uint64_t odd[ODDS];
	bool has_types; /* krait wrote the file: the first value is the default */
	struct str key, name, file;
};

/* A profile of the file. Its parts are read once all of them are known. */
struct part {
	struct json_in samples, weights, events;
	struct str type, name, unit;
	struct str value_type, value_unit; /* krait's own members: what the value is */
	int power;	/* amounts in the file times 10^power are amounts in the profile */
	unsigned value; /* index of the profile's value */
	bool is_count, is_austin;
	uint32_t labels;
};

static void part_fini(struct part *part)
{
	str_fini(&part->type);
	str_fini(&part->name);
	str_fini(&part->unit);
	str_fini(&part->value_type);
	str_fini(&part->value_unit);
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
			err = read_text(in, "name", &r->name);
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

static int odd(struct reader *r, enum odd what)
{
	r->odd[what]++;
	return 0;
}

/* Reads the index of a frame, + 1. *ret is 0 if there is no such frame. */
static int read_index(struct reader *r, struct json_in *in, const char *field, uint32_t *ret)
{
	struct json_in before = *in;
	int64_t index;

	*ret = 0;
	if (json_in_integer(in, &index)) {
		*in = before;
		return in_field(json_in_skip(in), field);
	}
	if (index >= 0 && (uint64_t)index < r->locations.n)
		*ret = (uint32_t)index + 1;
	return 0;
}

/* Reads an amount (a time or a weight) in the unit of the profile. */
static int read_amount(struct reader *r, const struct part *part, struct json_in *in,
		       const char *field, int64_t *ret, bool *known)
{
	if (part->is_count)
		return viewer_in_count("speedscope", in, field, &r->counts, ret, known);
	return viewer_in_scaled("speedscope", in, field, part->power, ret, known);
}

/*
 * The node of the innermost frame. Creates nodes only for frames that were opened since the last
 * sample. 0: no memory.
 */
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
	struct profile_sample s = {.labels = part->labels, .time_ns = -1};
	uint32_t node;

	s.values[part->value] = weight;

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

/* Reads a stack. *@known: all of its frames are in the table. */
static int read_stack(struct reader *r, struct json_in *in, bool *known)
{
	int more, err = in_field(json_in_enter(in, '['), "samples");

	r->stack.n = 0;
	while (!err && (more = json_in_item(in))) {
		struct open_frame open = {};
		uint32_t index = 0;

		err = more < 0 ? in_field(more, "samples") : read_index(r, in, "samples", &index);
		*known &= index > 0;
		if (err || !*known)
			continue;
		open.location = r->locations.v[index - 1];
		if (r->stack.n >= MAX_DEPTH)
			err = bad(in, "samples", "more than 65536 frames in a stack");
		else if (vec_push(&r->stack, open))
			err = NO_MEMORY;
	}
	return err;
}

/* Reads a sample and its weight, from two lists. */
static int read_sample(struct reader *r, const struct part *part, struct json_in *samples,
		       struct json_in *weights)
{
	bool frames_known = true, known = false;
	int64_t weight = 0;
	int err = read_stack(r, samples, &frames_known);

	err = err ? err : read_amount(r, part, weights, "weights", &weight, &known);
	if (err)
		return err;
	if (!known || !frames_known)
		return odd(r, known ? NO_FRAME : NO_WEIGHT);
	err = add_sample(r, part, samples, weight);
	return err ? err : check_memory(r, samples);
}

/* Skips what the longer of two lists has more. */
static int skip_rest(struct reader *r, struct json_in *in, const char *field)
{
	int more, err = 0;

	do {
		odd(r, NO_WEIGHT);
		err = in_field(json_in_skip(in), field);
	} while (!err && (more = json_in_item(in)) > 0);
	return err ? err : in_field(MIN(more, 0), field);
}

/* Reads the two lists of samples and weights, which must be of the same length. */
static int read_sampled(struct reader *r, struct part *part)
{
	struct json_in *samples = &part->samples, *weights = &part->weights;
	int more, left, err;

	if (!samples->at || !weights->at)
		return odd(r, NO_PROFILE);
	err = in_field(json_in_enter(samples, '['), "samples");
	err = err ? err : in_field(json_in_enter(weights, '['), "weights");
	while (!err && (more = json_in_item(samples))) {
		left = more < 0 ? more : json_in_item(weights);
		if (!left)
			return skip_rest(r, samples, "samples");
		err = in_field(MIN(more, left), "samples");
		err = err < 0 ? err : read_sample(r, part, samples, weights);
	}
	left = err ? 0 : json_in_item(weights);
	return left > 0 ? skip_rest(r, weights, "weights") : err;
}

struct event {
	struct str type;
	int64_t at;
	bool has_at;
	uint32_t index; /* 1 + index of the frame in the file's table */
};

static int read_event(struct reader *r, const struct part *part, struct json_in *in,
		      struct event *e)
{
	int more, err = in_field(json_in_enter(in, '{'), "events");

	str_clear(&e->type);
	e->has_at = false;
	e->index = 0;
	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			err = in_field(more, "events");
		else if (streq(str_cstr(&r->key), "type"))
			err = read_text(in, "type", &e->type);
		else if (streq(str_cstr(&r->key), "at"))
			err = read_amount(r, part, in, "at", &e->at, &e->has_at);
		else if (streq(str_cstr(&r->key), "frame"))
			err = read_index(r, in, "frame", &e->index);
		else
			err = in_field(json_in_skip(in), "events");
	}
	return err;
}

static int open_frame(struct reader *r, const struct json_in *in, uint32_t index)
{
	struct open_frame open = {.location = r->locations.v[index - 1], .index = index};

	if (r->stack.n >= MAX_DEPTH)
		return bad(in, "events", "more than 65536 frames in a stack");
	r->n_open.v[index - 1]++;
	return vec_push(&r->stack, open) ? NO_MEMORY : 0;
}

/* Closes a frame, and all frames that were opened inside it. */
static int close_frame(struct reader *r, uint32_t index)
{
	uint32_t closed = 0;

	if (!r->n_open.v[index - 1])
		return odd(r, NO_END);
	while (closed != index) {
		closed = r->stack.v[--r->stack.n].index;
		r->n_open.v[closed - 1]--;
		r->odd[INSIDE] += closed != index;
	}
	return 0;
}

/* Tells whether the event opens or closes a frame of the table, at a known time. */
static bool is_event(const struct event *e)
{
	return e->index && e->has_at &&
	       (streq(str_cstr(&e->type), "O") || streq(str_cstr(&e->type), "C"));
}

/* Adds a sample of what was open since the last event, then applies the event. */
static int take_event(struct reader *r, const struct part *part, const struct json_in *in,
		      struct event *e, int64_t *last)
{
	int64_t weight;
	int err = 0;

	if (r->stack.n && e->at < *last) {
		odd(r, BACK);
		e->at = *last;
	}
	if (r->stack.n && __builtin_sub_overflow(e->at, *last, &weight))
		return odd(r, NO_EVENT);
	if (r->stack.n && weight)
		err = add_sample(r, part, in, weight);
	*last = e->at;
	if (err)
		return err;
	return streq(str_cstr(&e->type), "O") ? open_frame(r, in, e->index)
					      : close_frame(r, e->index);
}

/* Reads events that open and close frames. What is open between two of them becomes a sample. */
static int read_evented(struct reader *r, struct part *part)
{
	struct json_in *in = &part->events;
	struct event e = {};
	int64_t last = 0;
	int more, err;

	if (!in->at)
		return odd(r, NO_PROFILE);
	err = in_field(json_in_enter(in, '['), "events");
	r->stack.n = 0;
	memset(r->n_open.v, 0, r->n_open.n * sizeof(*r->n_open.v));
	while (!err && (more = json_in_item(in))) {
		err = more < 0 ? in_field(more, "events") : read_event(r, part, in, &e);
		if (!err && !is_event(&e))
			odd(r, NO_EVENT);
		else if (!err)
			err = take_event(r, part, in, &e, &last);
		err = err ? err : check_memory(r, in);
	}
	r->odd[NO_END] += r->stack.n;
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

/*
 * Parses krait's "app.py (pid 12) · Main (tid 34)". A name may contain the dot, but a name with ids
 * ends with them.
 */
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

/* Parses py-spy's `Process 12 Thread 34 "Main"`; the first or the last part may be missing. */
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

/*
 * Parses austin-python's "CPU time profile for 12:0:34": process, interpreter (if there are
 * several), thread.
 */
static int take_name_of_austin(struct reader *r, const char *name, label_list *labels)
{
	const char *pid = strstr(name, " for ") + strlen(" for "), *tid = strrchr(pid, ':');
	int err = add_label(r, labels, "pid", (struct folded_text){pid, strcspn(pid, ":")});

	return err || !tid ? err
			   : add_label(r, labels, "tid",
				       (struct folded_text){tid + 1, strlen(tid + 1)});
}

/*
 * Returns the name of the threads; where krait wrote several values, the value stands before the
 * name.
 */
static const char *name_of_threads(const struct part *part)
{
	const char *name = str_cstr(&part->name), *type = str_cstr(&part->value_type);

	return *type && str_starts(name, type) && str_starts(name + strlen(type), ": ")
		       ? name + strlen(type) + strlen(": ")
		       : name;
}

/*
 * Takes labels from a profile's name. The name of a file's only profile may also be what was run.
 */
static int take_name(struct reader *r, struct part *part, bool alone)
{
	const char *name = name_of_threads(part);
	label_list labels = {};
	int err = part->is_austin ? take_name_of_austin(r, name, &labels)
				  : take_name_of_krait(r, name, &labels);

	if (!err && !labels.n)
		err = take_name_of_pyspy(r, name, &labels);
	if (!err && !labels.n && !alone && !(part->value_type.n && streq(name, TIMELINE_ALL)))
		err = add_label(r, &labels, "thread", (struct folded_text){name, strlen(name)});
	part->labels = profile_labels(r->p, labels.v, labels.n);
	vec_fini(&labels);
	return err;
}

/*
 * austin2speedscope -f writes time and memory of the same stacks as several profiles, whose names
 * begin so.
 */
static bool take_austin(const struct part *part, struct profile_value_type *type)
{
	static const struct {
		const char *name;
		struct profile_value_type type;
	} all[] = {{"CPU time profile for ", {"cpu", "nanoseconds"}},
		   {"Wall time profile for ", {"wall", "nanoseconds"}},
		   {"Memory allocation profile for ", {"allocated", "bytes"}},
		   {"Memory deallocation profile for ", {"freed", "bytes"}}};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!str_starts(str_cstr(&part->name), all[i].name) ||
		    !streq(type->unit, all[i].type.unit))
			continue;
		*type = all[i].type;
		return true;
	}
	return false;
}

/*
 * The index of a value type, which is added if it is new. PROFILE_MAX_VALUES: there is no room for
 * it.
 */
static unsigned find_value(struct reader *r, const struct profile_value_type *type)
{
	struct profile_meta *m = profile_meta(r->p);
	unsigned i = 0;

	while (i < m->n_values && !profile_same_type(&m->values[i], type))
		i++;
	if (i == m->n_values && i < PROFILE_MAX_VALUES)
		m->values[m->n_values++] = *type;
	return i;
}

/* What krait says of the value. Times and bytes have the unit that weights are converted to. */
static void take_value_type(struct reader *r, struct part *part, struct profile_value_type *type)
{
	const char *unit = str_cstr(&part->value_unit);

	if (!part->value_type.n)
		return;
	r->has_types = true;
	type->type = profile_get_string(r->p, profile_string(r->p, str_cstr(&part->value_type)));
	if (!part->is_count || !*unit || profile_is_count(unit))
		return;
	part->is_count = false;
	type->unit = profile_get_string(r->p, profile_string(r->p, unit));
}

/*
 * Chooses the value for a unit: one for all units of time, one for bytes, one for counts. If krait
 * says what the value is, that counts.
 */
static void take_unit(struct reader *r, struct part *part)
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
	struct profile_value_type type;
	size_t i = 0;

	while (i < ARRAY_SIZE(units) && !streq(str_cstr(&part->unit), units[i].word))
		i++;
	r->odd[NO_UNIT] += i == ARRAY_SIZE(units);
	i = i < ARRAY_SIZE(units) ? i : 0;
	type = units[i].type;
	part->is_count = i == 0;
	take_value_type(r, part, &type);
	if (part->is_count && r->counts.micro)
		type.unit = PROFILE_MICROCOUNT;
	part->is_austin = !part->value_type.n && take_austin(part, &type);
	part->power = units[i].power;
	part->value = find_value(r, &type);
}

/* Returns where the text of this member goes; NULL: the member isn't read as text. */
static struct str *text_of(struct part *part, const char *key)
{
	const struct {
		const char *key;
		struct str *text;
	} all[] = {{"type", &part->type},
		   {"name", &part->name},
		   {"unit", &part->unit},
		   {"valueType", &part->value_type},
		   {"valueUnit", &part->value_unit}};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (streq(key, all[i].key))
			return all[i].text;
	return NULL;
}

static int find_parts(struct reader *r, struct part *part, struct json_in *in)
{
	struct str *text;
	int more, err = in_field(json_in_enter(in, '{'), "profiles");

	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "profiles");
		text = text_of(part, key);
		if (text) {
			err = read_text(in, key, text);
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
	bool sampled;

	if (err)
		return err;
	sampled = streq(str_cstr(&part.type), "sampled");
	if (!sampled && !streq(str_cstr(&part.type), "evented"))
		return odd(r, NO_PROFILE);
	take_unit(r, &part);
	if (part.value == PROFILE_MAX_VALUES)
		return odd(r, NO_VALUE);
	err = take_name(r, &part, alone);
	if (err)
		return err;
	return sampled ? read_sampled(r, &part) : read_evented(r, &part);
}

/* Returns the default value: CPU time, else any time, else the first one. */
static unsigned choose_default(const struct profile_meta *m)
{
	unsigned time = 0;

	for (unsigned i = m->n_values; i--;)
		if (streq(m->values[i].unit, "nanoseconds"))
			time = i;
	for (unsigned i = 0; i < m->n_values; i++)
		if (streq(m->values[i].type, "cpu"))
			return i;
	return time;
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
	m->default_value = r->has_types ? 0 : choose_default(m);
	m->period_type = m->values[m->default_value];
	m->period = 1;
	return err;
}

/* Finds the list "frames" in the member "shared". */
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
	return err;
}

static int add_notes(struct reader *r)
{
	static const struct {
		const char *how, *thing, *what;
	} words[ODDS] = {
		[NO_FRAME] = {COMMENTS_LEFT_OUT, "sample", "with frames that aren't in the file"},
		[NO_WEIGHT] = {COMMENTS_LEFT_OUT, "sample",
			       "without a weight, or a weight without one"},
		[NO_END] = {COMMENTS_LEFT_OUT, "event",
			    "without the other: what it opens or closes"},
		[NO_EVENT] = {COMMENTS_LEFT_OUT, "event",
			      "without a frame, a time or a type that exists"},
		[NO_PROFILE] = {COMMENTS_LEFT_OUT, "profile",
				"that is neither sampled nor evented"},
		[NO_VALUE] = {COMMENTS_LEFT_OUT, "profile",
			      "with one kind of value more than krait keeps"},
		[INSIDE] = {COMMENTS_MENDED, "frame", "closed with its caller"},
		[BACK] = {COMMENTS_MENDED, "event", "earlier than the one before: at its time now"},
		[NO_UNIT] = {COMMENTS_MENDED, "profile", "of an unknown unit: read as counts"},
	};
	int err = 0;

	if (r->counts.rounded && r->counts.has_fraction)
		profile_add_comment(r->p, COMMENTS_MENDED,
				    "counts are rounded: some are too large for fractions");
	for (int i = 0; !err && i < ODDS; i++)
		err = viewer_in_note(r->p, words[i].how, r->odd[i], words[i].thing, words[i].what);
	return err;
}

/* Reads the file's table of frames. */
static int prepare_frames(struct reader *r)
{
	int err = read_frames(r);

	if (!err && vec_reserve(&r->n_open, r->locations.n + 1))
		err = NO_MEMORY;
	r->n_open.n = err ? 0 : r->locations.n;
	return err;
}

/* Reads the file again, because counts have fractions after all. */
static int read_again(struct reader *r, uint64_t steps)
{
	int err;

	do {
		profile_free(r->p);
		r->p = profile_new();
		r->steps = steps;
		r->locations.n = 0;
		memset(r->odd, 0, sizeof(r->odd));
		err = r->p ? prepare_frames(r) : NO_MEMORY;
		err = err ? err : read_profiles(r);
	} while (!err && viewer_in_counts_again(&r->counts));
	return err ? err : add_notes(r);
}

int speedscope_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {.budget = VIEWER_BUDGET(n)};
	_cleanup_str_ struct str unpacked = {};
	struct json_in in;
	int err = viewer_in_open("speedscope", data, n, r.budget, &unpacked, &in);

	err = err ? err : read_text_of(&r, in);
	err = err ? err : read_again(&r, VIEWER_STEPS(n, in.end - in.start));
	vec_fini(&r.locations);
	vec_fini(&r.stack);
	vec_fini(&r.n_open);
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
