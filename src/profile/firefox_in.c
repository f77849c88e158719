/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Firefox profile into a profile; see firefox_in.h. Tables are read column by column, those of a
 * thread or, from version 56 to 60 on more and more of them, those that all threads share.
 */
#include "profile/firefox_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "profile/folded_frame.h"
#include "profile/viewer_in.h"

#define FORMAT	  "firefox"
#define NEWEST	  75
#define NO_MEMORY VIEWER_NO_MEMORY
#define NONE	  (-1) /* null in a column */
#define MS	  6    /* times and weights are milliseconds: power of ten to nanoseconds */

enum column {
	STACK_FRAME,
	STACK_PREFIX,
	STACK_OFFSET, /* from 66 on instead: how far before it the prefix is, 0 = none */
	FRAME_FUNC,
	FRAME_LINE,
	FRAME_COLUMN,
	FRAME_CATEGORY,
	FRAME_LIB,   /* from 70 on; before it is the function's resource's */
	FRAME_FLAGS, /* from 71 on: which columns hold something, where 0 could be it */
	FUNC_NAME,
	FUNC_FILE,
	FUNC_SOURCE, /* from 58 on instead */
	FUNC_LINE,
	FUNC_RESOURCE,
	FUNC_FLAGS, /* from 75 on */
	RESOURCE_LIB,
	RESOURCE_NAME,
	SOURCE_FILE,
	COLUMNS,
};

static const struct {
	const char *table, *name;
} columns[COLUMNS] = {
	[STACK_FRAME] = {"stackTable", "frame"},
	[STACK_PREFIX] = {"stackTable", "prefix"},
	[STACK_OFFSET] = {"stackTable", "prefixOffset"},
	[FRAME_FUNC] = {"frameTable", "func"},
	[FRAME_LINE] = {"frameTable", "line"},
	[FRAME_COLUMN] = {"frameTable", "column"},
	[FRAME_CATEGORY] = {"frameTable", "category"},
	[FRAME_LIB] = {"frameTable", "lib"},
	[FRAME_FLAGS] = {"frameTable", "flags"},
	[FUNC_NAME] = {"funcTable", "name"},
	[FUNC_FILE] = {"funcTable", "fileName"},
	[FUNC_SOURCE] = {"funcTable", "source"},
	[FUNC_LINE] = {"funcTable", "lineNumber"},
	[FUNC_RESOURCE] = {"funcTable", "resource"},
	[FUNC_FLAGS] = {"funcTable", "flags"},
	[RESOURCE_LIB] = {"resourceTable", "lib"},
	[RESOURCE_NAME] = {"resourceTable", "name"},
	[SOURCE_FILE] = {"sources", "filename"},
};

/* Bits of the flags. */
enum {
	FRAME_HAS_LIB = 2,
	FRAME_HAS_CATEGORY = 4,
	FUNC_HAS_RESOURCE = 4,
	FUNC_HAS_SOURCE = 8,
};

typedef VEC(int32_t) numbers;

struct texts {
	struct str bytes; /* each with its NUL */
	VEC(size_t) starts;
};

struct tables {
	struct {
		bool there;
		numbers v;
	} columns[COLUMNS];
	bool has_strings, any;
	struct texts strings;
};

struct reader {
	struct profile *p;
	size_t budget;
	uint64_t steps;
	struct json_in meta, libs, shared_at, threads; /* .at NULL: nowhere */
	bool of_krait;
	struct texts lib_paths, categories;
	struct tables shared, own; /* own: of the thread that is being read */
	VEC(uint32_t) locations;   /* by frame; 0 = not yet */
	VEC(uint32_t) stacks;	   /* by stack; 0 = not yet */
	VEC(uint32_t) leaf_first;
	struct str key, text;
	const struct json_in *at; /* where a message says that something is wrong */
};

/* A member of "threads": its samples are read when all of it is known. */
struct thread {
	struct json_in samples, stack, time, deltas, weight;
	struct str weight_type, name, process, pid, tid;
	bool no_name, no_process; /* krait made it up */
	uint32_t labels;
};

static int bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(FORMAT, in, field, what);
}

static int in_field(int r, const char *field)
{
	return viewer_in_wrap(FORMAT, r, field);
}

static void texts_fini(struct texts *t)
{
	str_fini(&t->bytes);
	vec_fini(&t->starts);
}

static void tables_fini(struct tables *t)
{
	for (size_t i = 0; i < COLUMNS; i++)
		vec_fini(&t->columns[i].v);
	texts_fini(&t->strings);
	*t = (struct tables){};
}

/* NULL where there is none. */
static const char *text_of(const struct texts *t, int64_t i)
{
	return i >= 0 && (uint64_t)i < t->starts.n ? str_cstr(&t->bytes) + t->starts.v[i] : NULL;
}

static int add_text(struct texts *to, const struct str *text)
{
	if (vec_push(&to->starts, to->bytes.n))
		return NO_MEMORY;
	str_add(&to->bytes, str_cstr(text));
	str_add_c(&to->bytes, '\0');
	return to->bytes.failed ? NO_MEMORY : 0;
}

static int read_texts(struct reader *r, struct json_in *in, const char *field, struct texts *to)
{
	int more, err = in_field(json_in_enter(in, '['), field);

	while (!err && (more = json_in_item(in))) {
		err = in_field(more < 0 ? more : json_in_string(in, &r->text), field);
		err = err < 0 ? err : add_text(to, &r->text);
		err = err ? err
			  : viewer_in_check_memory(FORMAT, in, field, r->p,
						   to->bytes.n + to->starts.n * sizeof(size_t),
						   r->budget);
	}
	return err;
}

/* Whole numbers of 31 bits; all else is none. */
static int read_numbers(struct reader *r, struct json_in *in, const char *field, numbers *to)
{
	int more, err = in_field(json_in_enter(in, '['), field);

	while (!err && (more = json_in_item(in))) {
		struct json_in before = *in;
		int64_t v = NONE;

		if (more < 0)
			return in_field(more, field);
		if (json_in_integer(in, &v)) {
			*in = before;
			v = NONE;
			err = in_field(json_in_skip(in), field);
		}
		if (!err && vec_push(to, v >= 0 && v <= INT32_MAX ? (int32_t)v : NONE))
			err = NO_MEMORY;
		err = err ? err
			  : viewer_in_check_memory(FORMAT, in, field, r->p, to->n * sizeof(*to->v),
						   r->budget);
	}
	return err;
}

static int read_table(struct reader *r, struct json_in *in, const char *table, struct tables *to)
{
	int more, err = in_field(json_in_enter(in, '{'), table);

	while (!err && (more = json_in_key(in, &r->key))) {
		size_t i = 0;

		if (more < 0)
			return in_field(more, table);
		while (i < COLUMNS && !(streq(columns[i].table, table) &&
					streq(columns[i].name, str_cstr(&r->key))))
			i++;
		if (i == COLUMNS || to->columns[i].there) {
			err = in_field(json_in_skip(in), table);
			continue;
		}
		to->columns[i].there = true;
		err = read_numbers(r, in, columns[i].name, &to->columns[i].v);
	}
	return err;
}

/* One of the tables? Then it is read: 1, 0 or -errno + message. */
static int take_table(struct reader *r, struct json_in *in, struct tables *to)
{
	const char *key = str_cstr(&r->key);
	int err;

	if (streq(key, "stringArray") && !to->has_strings) {
		to->has_strings = to->any = true;
		err = read_texts(r, in, "stringArray", &to->strings);
		return err ? err : 1;
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		if (!streq(columns[i].table, key))
			continue;
		to->any = true;
		err = read_table(r, in, columns[i].table, to);
		return err ? err : 1;
	}
	return 0;
}

static int read_shared(struct reader *r)
{
	struct json_in in = r->shared_at;
	int more, err = in.at ? in_field(json_in_enter(&in, '{'), "shared") : 0;

	while (!err && in.at && (more = json_in_key(&in, &r->key))) {
		int taken = more < 0 ? in_field(more, "shared") : take_table(r, &in, &r->shared);

		err = taken < 0 ? taken : taken ? 0 : in_field(json_in_skip(&in), "shared");
	}
	return err;
}

/* The number in a row of a column of the thread's tables or the shared ones; NONE where there is none. */
static int32_t cell(const struct reader *r, enum column c, int64_t row)
{
	const struct tables *t = r->own.columns[c].there ? &r->own : &r->shared;
	const numbers *v = &t->columns[c].v;

	return row >= 0 && (uint64_t)row < v->n ? v->v[row] : NONE;
}

/* The same of one that flags may say nothing is in. */
static int32_t flagged(const struct reader *r, enum column c, int64_t row, enum column flags,
		       int bit)
{
	int32_t set = cell(r, flags, row);

	return set == NONE || set & bit ? cell(r, c, row) : NONE;
}

static const char *string(const struct reader *r, int64_t i)
{
	return text_of(r->own.has_strings ? &r->own.strings : &r->shared.strings, i);
}

static struct folded_text folded(const char *s)
{
	return s ? (struct folded_text){s, strlen(s)} : (struct folded_text){};
}

/* The file of a function, as its version has it. */
static const char *file_of(const struct reader *r, int64_t func)
{
	const char *file = string(r, cell(r, FUNC_FILE, func));

	if (file)
		return file;
	return string(r, cell(r, SOURCE_FILE,
			      flagged(r, FUNC_SOURCE, func, FUNC_FLAGS, FUNC_HAS_SOURCE)));
}

static int32_t resource_of(const struct reader *r, int64_t func)
{
	return flagged(r, FUNC_RESOURCE, func, FUNC_FLAGS, FUNC_HAS_RESOURCE);
}

static const char *lib_of(const struct reader *r, int64_t frame, int64_t func)
{
	int32_t lib = flagged(r, FRAME_LIB, frame, FRAME_FLAGS, FRAME_HAS_LIB);

	if (lib == NONE)
		lib = cell(r, RESOURCE_LIB, resource_of(r, func));
	return text_of(&r->lib_paths, lib);
}

/* What kind of code it is a source file, a library or the category's name tells. */
static struct profile_location make_location(struct reader *r, int64_t frame)
{
	int32_t func = cell(r, FRAME_FUNC, frame), line = cell(r, FRAME_LINE, frame);
	struct folded_text name = folded(string(r, cell(r, FUNC_NAME, func)));
	struct folded_text file = folded(file_of(r, func)), lib = folded(lib_of(r, frame, func));
	const char *category = text_of(
		&r->categories, flagged(r, FRAME_CATEGORY, frame, FRAME_FLAGS, FRAME_HAS_CATEGORY));
	struct folded_text place = file.n ? file : lib;
	struct profile_location l;
	struct folded_frame f;

	/* CPython's own profiler has the files of frozen modules there. */
	if (!place.n)
		place = folded(string(r, cell(r, RESOURCE_NAME, resource_of(r, func))));
	folded_frame_make(name, place, MAX(line, 0), &f);
	if (f.unnamed) {
		/* "[kernel+0x1234]" says it all; of others the path is in the list of libraries. */
		if (lib.n && f.kind != KIND_KERNEL)
			f.mapping = lib;
	} else if (lib.n && f.kind != KIND_MARK) {
		f.file = file;
		f.mapping = lib;
	} else if (r->of_krait && category) {
		/* Everything else has a library there. */
		f.kind = streq(category, "Python") ? KIND_PYTHON : KIND_MARK;
		f.file = file;
		f.mapping = (struct folded_text){};
	} else if (f.kind == KIND_NATIVE && !f.mapping.n && category && streq(category, "Kernel")) {
		f.kind = KIND_KERNEL;
	}
	l = folded_frame_location(r->p, &f);
	viewer_in_set_start(r->p, &l, cell(r, FUNC_LINE, func));
	l.column = line > 0 ? MAX(cell(r, FRAME_COLUMN, frame), 0) : 0;
	return l;
}

/* Room for @i, up to which everything is 0; what that takes counts as work. */
static int grow(struct reader *r, void *vec, size_t i)
{
	VEC(uint32_t) *v = vec;
	size_t before = v->n;

	if (i < v->n)
		return 0;
	if (vec_reserve(v, i + 1))
		return NO_MEMORY;
	memset(v->v + before, 0, (i + 1 - before) * sizeof(*v->v));
	v->n = i + 1;
	r->steps -= MIN((uint64_t)(i + 1 - before), r->steps);
	return 0;
}

static int location_of(struct reader *r, int32_t frame, uint32_t *ret)
{
	struct profile_location l;

	if (cell(r, FRAME_FUNC, frame) == NONE)
		return bad(r->at, "samples", "there is no such frame");
	if (grow(r, &r->locations, (size_t)frame))
		return -ENOMEM;
	if (!r->locations.v[frame]) {
		l = make_location(r, frame);
		r->locations.v[frame] = profile_location(r->p, &l);
	}
	*ret = r->locations.v[frame];
	return viewer_in_check_memory(FORMAT, r->at, "frameTable", r->p, 0, r->budget);
}

/* Where the caller's part of a stack is: before it, so that a chain ends. */
static int32_t prefix_of(const struct reader *r, int32_t stack)
{
	int32_t offset = cell(r, STACK_OFFSET, stack), prefix = cell(r, STACK_PREFIX, stack);

	if (offset > 0)
		prefix = offset <= stack ? stack - offset : stack;
	return prefix;
}

static int make_stack(struct reader *r, int32_t stack)
{
	int err = 0;

	r->leaf_first.n = 0;
	for (int32_t i = stack, next; i != NONE && !err; i = next) {
		uint32_t location = 0;

		next = prefix_of(r, i);
		if (cell(r, STACK_FRAME, i) == NONE)
			return bad(r->at, "samples", "there is no such stack");
		if (next >= i)
			return bad(r->at, "prefix",
				   "a stack's caller isn't before it in the table");
		if (r->leaf_first.n >= VIEWER_MAX_DEPTH)
			return bad(r->at, "samples", "more than 65536 frames in a stack");
		if (!r->steps--)
			return bad(r->at, "samples",
				   "the stacks are far deeper than those of a file of this size "
				   "should be");
		err = location_of(r, cell(r, STACK_FRAME, i), &location);
		if (!err && vec_push(&r->leaf_first, location))
			err = NO_MEMORY;
	}
	return err;
}

/* The stack of a sample; null has no frames. */
static int stack_of(struct reader *r, int32_t stack, uint32_t *ret)
{
	int err = 0;

	if (stack == NONE) {
		*ret = profile_stack(r->p, NULL, 0);
		return *ret ? 0 : NO_MEMORY;
	}
	if (cell(r, STACK_FRAME, stack) == NONE)
		return bad(r->at, "samples", "there is no such stack");
	err = grow(r, &r->stacks, (size_t)stack);
	if (!err && !r->stacks.v[stack]) {
		err = make_stack(r, stack);
		if (!err)
			r->stacks.v[stack] = profile_stack(r->p, r->leaf_first.v, r->leaf_first.n);
	}
	*ret = err ? 0 : r->stacks.v[stack];
	return err ? err : viewer_in_check_memory(FORMAT, r->at, "stackTable", r->p, 0, r->budget);
}

/* All threads of a file are of one value. */
static int take_type(struct reader *r, const struct thread *t)
{
	static const struct {
		const char *word;
		struct profile_value_type type;
	} types[] = {{"samples", {"samples", "count"}},
		     {"tracing-ms", {"time", "nanoseconds"}},
		     {"bytes", {"bytes", "bytes"}}};
	const char *word = t->weight_type.n ? str_cstr(&t->weight_type) : "samples";
	struct profile_meta *m = profile_meta(r->p);
	size_t i = 0;

	while (i < ARRAY_SIZE(types) && !streq(word, types[i].word))
		i++;
	if (i == ARRAY_SIZE(types))
		return bad(&t->samples, "weightType",
			   "it is none of samples, tracing-ms and bytes");
	if (m->n_values && !streq(m->values[0].unit, types[i].type.unit))
		return bad(&t->samples, "weightType", "it isn't what the threads before have");
	m->values[0] = types[i].type;
	m->n_values = 1;
	return 0;
}

/* One of the lists beside "stack"; where there is none @otherwise. */
static int read_beside(struct json_in *in, const char *field, int times, int64_t otherwise,
		       int64_t *ret)
{
	struct json_in before;
	int more;

	*ret = otherwise;
	if (!in->at)
		return 0;
	more = json_in_item(in);
	if (more <= 0)
		return more ? in_field(more, field) : bad(in, field, "there are more stacks");
	before = *in;
	if (!json_in_scaled(in, times, ret))
		return 0;
	if (*before.at != 'n')
		return in_field(-EINVAL, field);
	*in = before;
	*ret = otherwise;
	return in_field(json_in_skip(in), field);
}

static int add_sample(struct reader *r, const struct thread *t, int32_t stack, int64_t time_ns,
		      int64_t weight)
{
	struct profile_sample s = {
		.labels = t->labels, .time_ns = MAX(time_ns, (int64_t)-1), .values = {weight}};
	int err;

	if (weight < 0)
		return bad(&t->weight, "weight", "it is below 0");
	/* krait's own marks of where a run of samples ends, and what others leave out. */
	if (!weight)
		return 0;
	err = stack_of(r, stack, &s.stack);
	return err ? err : profile_add(r->p, &s);
}

static int enter_list(struct json_in *in, const char *field)
{
	return in->at ? in_field(json_in_enter(in, '['), field) : 0;
}

/* Lists of the same length. A delta is that from the sample before. */
static int read_samples(struct reader *r, struct thread *t)
{
	int power = streq(str_cstr(&t->weight_type), "tracing-ms") ? MS : 0;
	bool timed = t->time.at || t->deltas.at;
	int64_t now = 0;
	int more, err = enter_list(&t->stack, "stack");

	err = err ? err : enter_list(&t->time, "time");
	err = err ? err : enter_list(&t->deltas, "timeDeltas");
	err = err ? err : enter_list(&t->weight, "weight");
	r->at = &t->stack;
	while (!err && (more = json_in_item(&t->stack))) {
		struct json_in before = t->stack;
		int64_t stack = NONE, delta, weight;

		if (more < 0)
			return in_field(more, "stack");
		if (json_in_integer(&t->stack, &stack)) {
			t->stack = before;
			stack = NONE;
			err = in_field(json_in_skip(&t->stack), "stack");
		}
		if (!err && (stack < NONE || stack > INT32_MAX))
			err = bad(&t->stack, "stack", "there is no such stack");
		err = err ? err : read_beside(&t->time, "time", MS, now, &now);
		err = err ? err : read_beside(&t->deltas, "timeDeltas", MS, 0, &delta);
		if (!err && t->deltas.at && __builtin_add_overflow(now, delta, &now))
			err = bad(&t->deltas, "timeDeltas", "their sum doesn't fit in 64 bits");
		err = err ? err : read_beside(&t->weight, "weight", power, 1, &weight);
		err = err ? err
			  : add_sample(r, t, (int32_t)stack, timed && now >= 0 ? now : -1, weight);
	}
	return err;
}

/* Where the lists of "samples" are, and the type of the weights. */
static int find_samples(struct reader *r, struct thread *t)
{
	struct json_in in = t->samples;
	int more, err = in.at ? in_field(json_in_enter(&in, '{'), "samples") : 0;

	while (!err && in.at && (more = json_in_key(&in, &r->key))) {
		const char *key = str_cstr(&r->key);
		struct json_in before = in;

		if (more < 0)
			return in_field(more, "samples");
		if (streq(key, "weightType")) {
			err = viewer_in_text(FORMAT, &in, "weightType", &t->weight_type);
			continue;
		}
		err = in_field(json_in_skip(&in), "samples");
		/* null: there is none */
		if (in.at[-1] != ']')
			continue;
		if (streq(key, "stack"))
			t->stack = before;
		else if (streq(key, "time"))
			t->time = before;
		else if (streq(key, "timeDeltas"))
			t->deltas = before;
		else if (streq(key, "weight"))
			t->weight = before;
	}
	if (!err && t->time.at)
		t->deltas.at = NULL;
	return err;
}

/* What krait writes where a recording doesn't say. */
static bool is_made_up(const struct reader *r, const struct str *id)
{
	return r->of_krait && strtoull(str_cstr(id), NULL, 10) >= PROFILE_MADE_UP_ID;
}

/* krait's own member: which names are. */
static int read_made_up(struct reader *r, struct json_in *in, struct thread *t)
{
	int more, err = in_field(json_in_enter(in, '['), "made_up");

	while (!err && (more = json_in_item(in))) {
		err = more < 0 ? in_field(more, "made_up")
			       : viewer_in_text(FORMAT, in, "made_up", &r->text);
		t->no_name |= streq(str_cstr(&r->text), "name");
		t->no_process |= streq(str_cstr(&r->text), "processName");
	}
	return err;
}

static int take_labels(struct reader *r, struct thread *t)
{
	const struct {
		const char *key;
		const struct str *text;
		bool made_up;
	} all[] = {{"pid", &t->pid, is_made_up(r, &t->pid)},
		   {"process", &t->process, t->no_process},
		   {"tid", &t->tid, is_made_up(r, &t->tid)},
		   {"thread", &t->name, t->no_name}};
	struct profile_label labels[ARRAY_SIZE(all)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].text->n && !all[i].made_up)
			labels[n++] = (struct profile_label){
				profile_string(r->p, all[i].key),
				profile_string_n(r->p, all[i].text->s, all[i].text->n)};
	t->labels = profile_labels(r->p, labels, n);
	return profile_failed(r->p) ? NO_MEMORY : 0;
}

static int find_thread(struct reader *r, struct json_in *in, struct thread *t)
{
	int more, err = in_field(json_in_enter(in, '{'), "threads");

	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);
		int taken;

		if (more < 0)
			return in_field(more, "threads");
		if (streq(key, "name") || streq(key, "processName")) {
			err = viewer_in_text(FORMAT, in, key, *key == 'n' ? &t->name : &t->process);
			continue;
		}
		if (streq(key, "pid") || streq(key, "tid")) {
			err = viewer_in_id(FORMAT, in, key, *key == 'p' ? &t->pid : &t->tid);
			continue;
		}
		if (r->of_krait && streq(key, "made_up")) {
			err = read_made_up(r, in, t);
			continue;
		}
		taken = take_table(r, in, &r->own);
		if (taken) {
			err = MIN(taken, 0);
			continue;
		}
		if (streq(key, "samples"))
			t->samples = *in;
		err = in_field(json_in_skip(in), "threads");
	}
	return err;
}

static void thread_fini(struct thread *t)
{
	str_fini(&t->weight_type);
	str_fini(&t->name);
	str_fini(&t->process);
	str_fini(&t->pid);
	str_fini(&t->tid);
}

static int read_thread(struct reader *r, struct json_in *in)
{
	_cleanup_(thread_fini) struct thread t = {};
	bool own_before = r->own.any;
	int err;

	tables_fini(&r->own);
	err = find_thread(r, in, &t);
	err = err ? err : find_samples(r, &t);
	err = err ? err : take_labels(r, &t);
	/* What was looked up in tables of a thread is of that one alone. */
	if (own_before || r->own.any)
		r->locations.n = r->stacks.n = 0;
	if (err || !t.stack.at)
		return err;
	err = take_type(r, &t);
	return err ? err : read_samples(r, &t);
}

static int read_threads(struct reader *r)
{
	struct json_in in = r->threads;
	struct profile_meta *m = profile_meta(r->p);
	int more, err = in_field(json_in_enter(&in, '['), "threads");

	while (!err && (more = json_in_item(&in)))
		err = more < 0 ? in_field(more, "threads") : read_thread(r, &in);
	if (!m->n_values)
		m->values[m->n_values++] = (struct profile_value_type){"samples", "count"};
	m->period_type = m->values[0];
	m->period = 1;
	return err;
}

/* The texts called @member of a list of objects, "" where one has none. */
static int read_members(struct reader *r, struct json_in *in, const char *field, const char *member,
			struct texts *to)
{
	_cleanup_str_ struct str text = {};
	int more, err = in_field(json_in_enter(in, '['), field);

	while (!err && (more = json_in_item(in))) {
		str_clear(&text);
		err = in_field(more < 0 ? more : json_in_enter(in, '{'), field);
		while (!err && (more = json_in_key(in, &r->key))) {
			if (more < 0)
				err = in_field(more, field);
			else if (streq(str_cstr(&r->key), member))
				err = viewer_in_text(FORMAT, in, member, &text);
			else
				err = in_field(json_in_skip(in), field);
		}
		err = err ? err : add_text(to, &text);
	}
	return err;
}

static int take_version(struct json_in *in)
{
	int64_t version;
	int err = in_field(json_in_integer(in, &version), "preprocessedProfileVersion");

	if (!err && version > NEWEST)
		return err_set(-EINVAL,
			       FORMAT ": preprocessedProfileVersion: byte %zu: it is %lld; krait "
				      "knows the format up to %d",
			       (size_t)(in->at - in->start), (long long)version, NEWEST);
	return err;
}

static int read_meta(struct reader *r)
{
	struct json_in in = r->meta;
	int more, err = in_field(json_in_enter(&in, '{'), "meta");
	bool processed = false;

	while (!err && (more = json_in_key(&in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "meta");
		if (streq(key, "preprocessedProfileVersion")) {
			processed = true;
			err = take_version(&in);
		} else if (streq(key, "importedFrom")) {
			err = viewer_in_text(FORMAT, &in, "importedFrom", &r->text);
			r->of_krait = streq(str_cstr(&r->text), "krait");
		} else if (streq(key, "startTime")) {
			err = in_field(json_in_scaled(&in, MS, &profile_meta(r->p)->time_ns),
				       "startTime");
		} else if (streq(key, "categories") && !r->categories.starts.n) {
			err = read_members(r, &in, "categories", "name", &r->categories);
		} else {
			err = in_field(json_in_skip(&in), "meta");
		}
	}
	if (!err && !processed)
		err = bad(&r->meta, "meta",
			  "this is Firefox's raw profile; open it in profiler.firefox.com and save "
			  "it there, as krait reads processed ones");
	return err;
}

static int read_file(struct reader *r, struct json_in in)
{
	int more, err = in_field(json_in_enter(&in, '{'), "the file");

	while (!err && (more = json_in_key(&in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "the file");
		if (streq(key, "meta"))
			r->meta = in;
		else if (streq(key, "libs"))
			r->libs = in;
		else if (streq(key, "shared"))
			r->shared_at = in;
		else if (streq(key, "threads"))
			r->threads = in;
		err = in_field(json_in_skip(&in), "the file");
	}
	err = err ? err : in_field(json_in_end(&in), "the file");
	if (!err && (!r->meta.at || !r->threads.at))
		err = bad(&in, r->meta.at ? "threads" : "meta", "the file has none");
	err = err ? err : read_meta(r);
	if (!err && r->libs.at)
		err = read_members(r, &r->libs, "libs", "path", &r->lib_paths);
	err = err ? err : read_shared(r);
	return err ? err : read_threads(r);
}

int firefox_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {
		.p = profile_new(), .budget = VIEWER_BUDGET(n), .steps = VIEWER_STEPS(n)};
	_cleanup_str_ struct str unpacked = {};
	struct json_in in;
	int err = r.p ? viewer_in_open(FORMAT, data, n, r.budget, &unpacked, &in) : NO_MEMORY;

	err = err ? err : read_file(&r, in);
	tables_fini(&r.shared);
	tables_fini(&r.own);
	texts_fini(&r.lib_paths);
	texts_fini(&r.categories);
	vec_fini(&r.locations);
	vec_fini(&r.stacks);
	vec_fini(&r.leaf_first);
	str_fini(&r.key);
	str_fini(&r.text);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

/* "meta" comes first in what everybody writes; a raw profile is one too, to be refused by name. */
bool firefox_probe(const uint8_t *head, size_t n)
{
	return viewer_in_begins(head, n, '{') &&
	       (viewer_in_has(head, n, "reprocessedProfileVersion") ||
		viewer_in_has(head, n, "\"stackwalk\""));
}
