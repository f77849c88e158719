/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads strings, mappings, functions and locations of a pprof file; see pprof_tables.h. */
#include <errno.h>
#include "format/pprof/pprof_tables.h"
#include "base/error.h"
#include "base/text/str.h"
#include "format/pprof/pprof_meta.h"

#define MAX_VALUE_TYPES 64

#define NO_MEMORY	err_set(-ENOMEM, "out of memory for reading the profile")
#define SPEC(type, field, number)                                                                  \
	{                                                                                          \
		number, #type "." #field, offsetof(struct pprof_raw_##type, field)                 \
	}

static const struct pb_scalar mapping_spec[] = {
	SPEC(mapping, id, MAPPING_ID),
	SPEC(mapping, start, MAPPING_START),
	SPEC(mapping, limit, MAPPING_LIMIT),
	SPEC(mapping, offset, MAPPING_OFFSET),
	SPEC(mapping, filename, MAPPING_FILENAME),
	SPEC(mapping, build_id, MAPPING_BUILD_ID),
};
static const struct pb_scalar function_spec[] = {
	SPEC(function, id, FUNCTION_ID),
	SPEC(function, name, FUNCTION_NAME),
	SPEC(function, system_name, FUNCTION_SYSTEM_NAME),
	SPEC(function, filename, FUNCTION_FILENAME),
	SPEC(function, start_line, FUNCTION_START_LINE),
	SPEC(function, ran_before, FUNCTION_RAN_BEFORE),
	SPEC(function, made_in, FUNCTION_MADE_IN),
};
static const struct pb_scalar location_spec[] = {
	SPEC(location, id, LOCATION_ID),
	SPEC(location, mapping_id, LOCATION_MAPPING_ID),
	SPEC(location, address, LOCATION_ADDRESS),
};
static const struct pb_scalar line_spec[] = {
	SPEC(line, function_id, LINE_FUNCTION_ID), SPEC(line, line, LINE_LINE),
	SPEC(line, column, LINE_COLUMN),	   SPEC(line, end_line, LINE_END_LINE),
	SPEC(line, end_column, LINE_END_COLUMN),
};
static const struct pb_scalar value_type_spec[] = {
	SPEC(value_type, type, VALUE_TYPE_TYPE),
	SPEC(value_type, unit, VALUE_TYPE_UNIT),
};

#define META(field, number)                                                                        \
	{                                                                                          \
		number, "Profile." #field, offsetof(struct pprof_tables, meta.field)               \
	}

static const struct pb_scalar meta_spec[] = {
	META(time_ns, PROFILE_TIME_NANOS),
	META(duration_ns, PROFILE_DURATION_NANOS),
	META(period, PROFILE_PERIOD),
	META(default_type, PROFILE_DEFAULT_SAMPLE_TYPE),
};

void pprof_tables_init(struct pprof_tables *t, struct profile *p, size_t budget)
{
	*t = (struct pprof_tables){.p = p, .budget = budget};
	map_init(&t->mapping_ids);
	map_init(&t->function_ids);
	map_init(&t->location_ids);
}

void pprof_tables_fini(struct pprof_tables *t)
{
	vec_fini(&t->strings);
	vec_fini(&t->mappings);
	vec_fini(&t->functions);
	vec_fini(&t->locations);
	vec_fini(&t->lines);
	vec_fini(&t->value_types);
	vec_fini(&t->comments);
	vec_fini(&t->ranges);
	vec_fini(&t->expanded);
	map_fini(&t->mapping_ids);
	map_fini(&t->function_ids);
	map_fini(&t->location_ids);
}

int pprof_tables_check(const struct pprof_tables *t, uint64_t off)
{
	size_t bytes = profile_bytes(t->p) + t->strings.n * sizeof(*t->strings.v) +
		       t->mappings.n * sizeof(*t->mappings.v) +
		       t->functions.n * sizeof(*t->functions.v) +
		       t->locations.n * sizeof(*t->locations.v) + t->lines.n * sizeof(*t->lines.v);

	if (profile_failed(t->p))
		return NO_MEMORY;
	if (bytes > t->budget)
		return err_set(-E2BIG,
			       "pprof: byte %llu: the tables need more than %zu MiB, which is far "
			       "more than a file of this size should",
			       (unsigned long long)off, t->budget >> 20);
	return 0;
}

static int take_scalars(const struct pb_field *f, const char *what, const struct pb_scalar *specs,
			size_t n, void *out)
{
	struct pb_cursor c;
	struct pb_field field;
	int r = pb_enter(f, what, &c);

	while (!r && (r = pb_next(&c, &field)) > 0)
		r = pb_take(specs, n, &field, out);
	return r;
}

#define TAKE(f, what, spec, out) take_scalars(f, what, spec, ARRAY_SIZE(spec), out)

static int take_string(struct pprof_tables *t, const struct pb_field *f)
{
	uint32_t id;

	if (f->wire != PB_BYTES)
		return pb_bad(f->off, "string_table", "wire type %u instead of text",
			      (unsigned)f->wire);
	if (!t->strings.n && f->n)
		return pb_bad(f->off, "string_table", "the first string isn't empty");
	id = profile_string_n(t->p, (const char *)f->s, f->n);
	return vec_push(&t->strings, id) ? NO_MEMORY : 0;
}

static int take_location(struct pprof_tables *t, const struct pb_field *f)
{
	struct pprof_raw_location l = {.off = f->off, .first_line = t->lines.n};
	struct pb_cursor c;
	struct pb_field field;
	int r = pb_enter(f, "Location", &c);

	while (!r && (r = pb_next(&c, &field)) > 0) {
		struct pprof_raw_line line = {};

		r = pb_take(location_spec, ARRAY_SIZE(location_spec), &field, &l);
		if (r || field.number != LOCATION_LINE)
			continue;
		if (++l.n_lines > PROFILE_MAX_INLINED)
			return pb_bad(field.off, "Location.line", "more than %d inlined calls",
				      PROFILE_MAX_INLINED);
		r = TAKE(&field, "Line", line_spec, &line);
		if (!r && vec_push(&t->lines, line))
			r = NO_MEMORY;
	}
	if (!r && vec_push(&t->locations, l))
		r = NO_MEMORY;
	return r;
}

static int take_mapping(struct pprof_tables *t, const struct pb_field *f)
{
	struct pprof_raw_mapping m = {.off = f->off};
	int r = TAKE(f, "Mapping", mapping_spec, &m);

	return !r && vec_push(&t->mappings, m) ? NO_MEMORY : r;
}

static int take_function(struct pprof_tables *t, const struct pb_field *f)
{
	struct pprof_raw_function fn = {.off = f->off};
	int r = TAKE(f, "Function", function_spec, &fn);

	return !r && vec_push(&t->functions, fn) ? NO_MEMORY : r;
}

static int take_value_type(struct pprof_tables *t, const struct pb_field *f)
{
	struct pprof_raw_value_type type = {};
	int r = TAKE(f, "ValueType", value_type_spec, &type);

	if (!r && t->value_types.n == MAX_VALUE_TYPES)
		return pb_bad(f->off, "sample_type", "more than %d", MAX_VALUE_TYPES);
	return !r && vec_push(&t->value_types, type) ? NO_MEMORY : r;
}

int pprof_tables_take(struct pprof_tables *t, const struct pb_field *f)
{
	int r;

	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		r = take_value_type(t, f);
		break;
	case PROFILE_MAPPING:
		r = take_mapping(t, f);
		break;
	case PROFILE_LOCATION:
		r = take_location(t, f);
		break;
	case PROFILE_FUNCTION:
		r = take_function(t, f);
		break;
	case PROFILE_STRING_TABLE:
		r = take_string(t, f);
		break;
	case PROFILE_PERIOD_TYPE:
		r = TAKE(f, "ValueType", value_type_spec, &t->period_type);
		break;
	case PROFILE_COMMENT:
		r = pb_repeated(f, "comment", 1u << 16, &t->comments);
		break;
	default:
		r = pb_take(meta_spec, ARRAY_SIZE(meta_spec), f, t);
	}
	return r ? r : pprof_tables_check(t, f->off);
}

int pprof_tables_string(const struct pprof_tables *t, uint64_t index, uint64_t off,
			const char *name, uint32_t *ret)
{
	if (index >= t->strings.n && index)
		return pb_bad(off, name, "string %llu is missing: the table has %zu",
			      (unsigned long long)index, t->strings.n);
	*ret = index ? t->strings.v[index] : 0;
	return 0;
}

/*
 * Returns a line number in the 32 bits that a profile has for it. Other tools may write any number;
 * 0 if it doesn't fit.
 */
static int32_t to_line(uint64_t v)
{
	return (int64_t)v > INT32_MAX || (int64_t)v < 0 ? 0 : (int32_t)v;
}

/* Stores @value for the id @id of the file. Ids of a file must be unique and not 0. */
static int put_id(struct map *ids, uint64_t id, uint64_t value, uint64_t off, const char *what)
{
	if (!id)
		return pb_bad(off, what, "id 0 isn't allowed");
	if (map_get(ids, id))
		return pb_bad(off, what, "id %llu is used twice", (unsigned long long)id);
	return map_put(ids, id, value) ? NO_MEMORY : 0;
}

static int resolve_mappings(struct pprof_tables *t)
{
	vec_foreach(raw, &t->mappings) {
		struct profile_mapping m = {
			.start = raw->start, .limit = raw->limit, .offset = raw->offset};
		int r = pprof_tables_string(t, raw->filename, raw->off, "Mapping.filename",
					    &m.name);

		if (!r)
			r = pprof_tables_string(t, raw->build_id, raw->off, "Mapping.build_id",
						&m.build_id);
		m.kind = profile_kind(profile_get_string(t->p, m.name));
		if (!r)
			r = put_id(&t->mapping_ids, raw->id, profile_mapping(t->p, &m), raw->off,
				   "Mapping");
		if (r)
			return r;
	}
	return 0;
}

/*
 * Gives functions their position in the table as id. Old versions of Pyroscope's .NET agent wrote
 * functions without ids, and referred to them by position.
 */
static void number_functions(struct pprof_tables *t)
{
	vec_foreach(raw, &t->functions)
		if (raw->id)
			return;
	for (size_t i = 0; i < t->functions.n; i++)
		t->functions.v[i].id = i + 1;
}

static int resolve_functions(struct pprof_tables *t)
{
	number_functions(t);
	vec_foreach(raw, &t->functions) {
		struct profile_function f = {.start_line = to_line(raw->start_line)};
		int r = pprof_tables_string(t, raw->name, raw->off, "Function.name", &f.name);
		uint32_t id;

		if (!r)
			r = pprof_tables_string(t, raw->system_name, raw->off,
						"Function.system_name", &f.system_name);
		if (!r)
			r = pprof_tables_string(t, raw->filename, raw->off, "Function.filename",
						&f.file);
		if (!r)
			r = pprof_tables_string(t, raw->made_in, raw->off, "Function.made_in",
						&f.made_in);
		id = r ? 0 : profile_function(t->p, &f);
		if (id)
			profile_ran_before(t->p, id, raw->ran_before);
		if (!r)
			r = put_id(&t->function_ids, raw->id, id, raw->off, "Function");
		if (r)
			return r;
	}
	return 0;
}

/*
 * Returns a made-up function for a location without a symbol; the function's name is the address.
 */
static uint32_t made_up_function(struct pprof_tables *t, uint64_t address)
{
	struct profile_function f = {};
	char name[32];

	snprintf(name, sizeof(name), "0x%llx", (unsigned long long)address);
	f.name = profile_string(t->p, name);
	return profile_function(t->p, &f);
}

/*
 * Returns a made-up mapping for code of @function, for files of tools that don't write mappings.
 * The code counts as Python's if the name of the function's source file is that of Python code.
 */
static uint32_t made_up_mapping(struct pprof_tables *t, uint32_t function)
{
	uint32_t file = profile_get_function(t->p, function)->file;
	const char *name =
		str_ends(profile_get_string(t->p, file), ".py") ? "[python]" : "[unknown]";
	struct profile_mapping m = {.name = profile_string(t->p, name), .kind = profile_kind(name)};

	return profile_mapping(t->p, &m);
}

/* Tells whether a location in this mapping may have no name, so that only its address is kept. */
static bool may_be_unnamed(const struct pprof_tables *t, uint32_t mapping)
{
	return mapping && profile_get_mapping(t->p, mapping)->name &&
	       profile_get_mapping(t->p, mapping)->kind != KIND_PYTHON;
}

/*
 * Stores lines and columns of a location. The file gives the line in which an expression ends only
 * if it isn't the line in which the expression begins.
 */
static void take_place(const struct pprof_raw_line *line, struct profile_location *l)
{
	l->line = to_line(line->line);
	l->column = to_line(line->column);
	l->end_column = to_line(line->end_column);
	l->end_line = l->end_column && line->end_line ? to_line(line->end_line) : l->line;
	profile_check_end(l);
}

/*
 * Makes a location of the profile for one line of a location in the file. @line is NULL if the
 * file's location has no lines. @outer: the location into which this one was inlined, or 0.
 */
static int resolve_line(struct pprof_tables *t, const struct pprof_raw_location *raw,
			const struct pprof_raw_line *line, uint32_t outer, uint32_t *ret)
{
	struct profile_location l = {.address = raw->address, .outer = outer};
	const uint64_t *mapping = map_get(&t->mapping_ids, raw->mapping_id);
	uint64_t function_id = line ? line->function_id : 0;
	const uint64_t *function = map_get(&t->function_ids, function_id);

	if (function_id && !function)
		return pb_bad(raw->off, "Line.function_id", "no function %llu",
			      (unsigned long long)function_id);
	if (raw->mapping_id && !mapping)
		return pb_bad(raw->off, "Location.mapping_id", "no mapping %llu",
			      (unsigned long long)raw->mapping_id);
	if (outer)
		l.mapping = profile_get_location(t->p, outer)->mapping;
	else
		l.mapping = mapping ? (uint32_t)*mapping : 0;
	if (line)
		take_place(line, &l);
	if (function)
		l.function = (uint32_t)*function;
	else if (line || !may_be_unnamed(t, l.mapping))
		l.function = made_up_function(t, raw->address);
	if (profile_failed(t->p))
		return NO_MEMORY;
	if (!l.mapping || !profile_get_mapping(t->p, l.mapping)->name)
		l.mapping = made_up_mapping(t, l.function);
	*ret = profile_location(t->p, &l);
	return *ret ? 0 : NO_MEMORY;
}

/*
 * Makes a location of the profile for each line of a location in the file. The first line is that
 * of the function that was called, the last line that of the innermost function inlined into it.
 */
static int resolve_lines(struct pprof_tables *t, const struct pprof_raw_location *raw,
			 uint32_t *ret)
{
	uint32_t outer = 0;
	int r = 0;

	if (!raw->n_lines)
		return resolve_line(t, raw, NULL, 0, ret);
	for (size_t i = raw->n_lines; i-- && !r;) {
		r = resolve_line(t, raw, &t->lines.v[raw->first_line + i], outer, &ret[i]);
		outer = ret[i];
	}
	return r;
}

static int resolve_locations(struct pprof_tables *t)
{
	vec_foreach(raw, &t->locations) {
		struct pprof_id_range range = {(uint32_t)t->expanded.n,
					       (uint32_t)MAX(raw->n_lines, (size_t)1)};
		int r = put_id(&t->location_ids, raw->id, t->ranges.n, raw->off, "Location");

		if (r)
			return r;
		if (vec_push(&t->ranges, range) ||
		    vec_reserve(&t->expanded, t->expanded.n + range.n))
			return NO_MEMORY;
		r = resolve_lines(t, raw, t->expanded.v + range.first);
		t->expanded.n += range.n;
		if (!r)
			r = pprof_tables_check(t, raw->off);
		if (r)
			return r;
	}
	return 0;
}

int pprof_tables_resolve(struct pprof_tables *t)
{
	struct profile_meta *m = profile_meta(t->p);
	int r;

	m->time_ns = (int64_t)t->meta.time_ns;
	m->duration_ns = (int64_t)t->meta.duration_ns;
	m->period = (int64_t)t->meta.period;
	r = pprof_meta_values(t);
	if (!r)
		r = pprof_meta_comments(t);
	if (!r)
		r = resolve_mappings(t);
	if (!r)
		r = resolve_functions(t);
	if (!r)
		r = resolve_locations(t);
	if (!r && profile_failed(t->p))
		r = NO_MEMORY;
	return r;
}
