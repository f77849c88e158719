/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as pprof. Strings, functions and locations have the same ids in the file as in
 * the profile. Mappings do too, except that the main mapping comes first.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/pprof/pprof.h"
#include "format/pprof/pprof_out.h"
#include "profile/sample_order.h"

struct writer {
	struct profile *p;
	struct pprof_out out;
	enum profile_times times;
	struct pb msg, part, line;
	uint32_t main_mapping; /* the profile's id of the mapping that is written first */
	uint32_t time_key, time_unit;
	unsigned n_values;
};

static uint32_t mapping_id(const struct writer *w, uint32_t id)
{
	if (!id || id > w->main_mapping)
		return id;
	return id == w->main_mapping ? 1 : id + 1;
}

static uint32_t mapping_of_id(const struct writer *w, uint32_t id)
{
	return id == 1 ? w->main_mapping : id <= w->main_mapping ? id - 1 : id;
}

static void put_value_type(struct writer *w, unsigned field, const struct profile_value_type *t)
{
	w->msg.n = 0;
	pb_uint(&w->msg, VALUE_TYPE_TYPE, profile_string(w->p, t->type));
	pb_uint(&w->msg, VALUE_TYPE_UNIT, profile_string(w->p, t->unit));
	pprof_out_bytes(&w->out, field, w->msg.v, w->msg.n);
}

static void put_meta(struct writer *w)
{
	const struct profile_meta *m = profile_meta(w->p);
	const struct profile_value_type *period = &m->period_type;

	for (unsigned i = 0; i < m->n_values; i++)
		put_value_type(w, PROFILE_SAMPLE_TYPE, &m->values[i]);
	pprof_out_uint(&w->out, PROFILE_TIME_NANOS, (uint64_t)m->time_ns);
	pprof_out_uint(&w->out, PROFILE_DURATION_NANOS, (uint64_t)m->duration_ns);
	put_value_type(w, PROFILE_PERIOD_TYPE,
		       period->type ? period : &m->values[m->default_value]);
	pprof_out_uint(&w->out, PROFILE_PERIOD, (uint64_t)m->period);
	vec_foreach(text, &m->comments.list)
		pprof_out_uint(&w->out, PROFILE_COMMENT, profile_string(w->p, *text));
	pprof_out_uint(&w->out, PROFILE_DEFAULT_SAMPLE_TYPE,
		       profile_string(w->p, m->values[m->default_value].type));
}

static void put_strings(struct writer *w)
{
	pprof_out_bytes(&w->out, PROFILE_STRING_TABLE, "", 0);
	for (uint32_t id = 1; id <= profile_n_strings(w->p); id++) {
		const char *s = profile_get_string(w->p, id);

		pprof_out_bytes(&w->out, PROFILE_STRING_TABLE, s, strlen(s));
	}
}

/*
 * What is known of the locations of a mapping: whether any lacks a name, and whether any has a file
 * or a line.
 */
struct known {
	bool unnamed, files, lines;
};

/*
 * Returns a struct known for each mapping, by the mapping's id in the profile. NULL: out of memory.
 */
static struct known *what_is_known(const struct profile *p)
{
	struct known *known = calloc(profile_n_mappings(p) + 1, sizeof(*known));

	for (uint32_t id = 1; known && id <= profile_n_locations(p); id++) {
		const struct profile_location *l = profile_get_location(p, id);
		struct known *k = &known[l->mapping];

		k->unnamed |= !l->function;
		k->lines |= l->line > 0;
		k->files |= l->function && profile_get_function(p, l->function)->file;
	}
	return known;
}

/*
 * Writes what is known of a mapping. has_functions tells pprof and servers that they needn't look
 * for the mapping's file. So it is false if that file may have names that krait didn't find.
 */
static void put_known(struct pb *msg, const struct known *k)
{
	bool files = !k->unnamed && k->files, lines = !k->unnamed && k->lines;

	pb_uint(msg, MAPPING_HAS_FUNCTIONS, !k->unnamed);
	pb_uint(msg, MAPPING_HAS_FILENAMES, files);
	pb_uint(msg, MAPPING_HAS_LINE_NUMBERS, lines);
	pb_uint(msg, MAPPING_HAS_INLINE_FRAMES, lines);
}

static void put_mappings(struct writer *w, const struct known *known)
{
	for (uint32_t id = 1; id <= profile_n_mappings(w->p); id++) {
		uint32_t ours = mapping_of_id(w, id);
		const struct profile_mapping *m = profile_get_mapping(w->p, ours);

		w->msg.n = 0;
		pb_uint(&w->msg, MAPPING_ID, id);
		pb_uint(&w->msg, MAPPING_START, m->start);
		pb_uint(&w->msg, MAPPING_LIMIT, m->limit);
		pb_uint(&w->msg, MAPPING_OFFSET, m->offset);
		pb_uint(&w->msg, MAPPING_FILENAME, m->name);
		pb_uint(&w->msg, MAPPING_BUILD_ID, m->build_id);
		put_known(&w->msg, &known[ours]);
		pprof_out_bytes(&w->out, PROFILE_MAPPING, w->msg.v, w->msg.n);
	}
}

static void put_functions(struct writer *w)
{
	for (uint32_t id = 1; id <= profile_n_functions(w->p); id++) {
		const struct profile_function *f = profile_get_function(w->p, id);

		w->msg.n = 0;
		pb_uint(&w->msg, FUNCTION_ID, id);
		pb_uint(&w->msg, FUNCTION_NAME, f->name);
		pb_uint(&w->msg, FUNCTION_SYSTEM_NAME, f->system_name);
		pb_uint(&w->msg, FUNCTION_FILENAME, f->file);
		pb_uint(&w->msg, FUNCTION_START_LINE, (uint64_t)(int64_t)f->start_line);
		pb_uint(&w->msg, FUNCTION_RAN_BEFORE, profile_get_ran_before(w->p, id));
		pb_uint(&w->msg, FUNCTION_MADE_IN, f->made_in);
		pprof_out_bytes(&w->out, PROFILE_FUNCTION, w->msg.v, w->msg.n);
	}
}

/*
 * Writes the lines of a location: one for its function, and one for each function that this one was
 * inlined into. A location without a name gets no line.
 */
static void put_lines(struct writer *w, const struct profile_location *l)
{
	for (;; l = profile_get_location(w->p, l->outer)) {
		if (!l->function)
			return;
		w->line.n = 0;
		pb_uint(&w->line, LINE_FUNCTION_ID, l->function);
		pb_uint(&w->line, LINE_LINE, (uint64_t)(int64_t)l->line);
		pb_uint(&w->line, LINE_COLUMN, (uint64_t)(int64_t)l->column);
		pb_uint(&w->line, LINE_END_COLUMN, (uint64_t)l->end_column);
		if (l->end_line != l->line)
			pb_uint(&w->line, LINE_END_LINE, (uint64_t)l->end_line);
		pb_bytes(&w->msg, LOCATION_LINE, w->line.v, w->line.n);
		if (!l->outer)
			return;
	}
}

static void put_locations(struct writer *w)
{
	for (uint32_t id = 1; id <= profile_n_locations(w->p); id++) {
		const struct profile_location *l = profile_get_location(w->p, id);

		w->msg.n = 0;
		pb_uint(&w->msg, LOCATION_ID, id);
		pb_uint(&w->msg, LOCATION_MAPPING_ID, mapping_id(w, l->mapping));
		pb_uint(&w->msg, LOCATION_ADDRESS, l->address);
		put_lines(w, l);
		pprof_out_bytes(&w->out, PROFILE_LOCATION, w->msg.v, w->msg.n);
	}
}

static void put_labels(struct writer *w, uint32_t id)
{
	size_t n;
	const struct profile_label *labels = profile_get_labels(w->p, id, &n);

	for (size_t i = 0; i < n; i++) {
		pb_tag(&w->msg, SAMPLE_LABEL, PB_BYTES);
		pb_varint(&w->msg,
			  2 + pb_varint_size(labels[i].key) + pb_varint_size(labels[i].value));
		pb_tag(&w->msg, LABEL_KEY, PB_VARINT);
		pb_varint(&w->msg, labels[i].key);
		pb_tag(&w->msg, LABEL_STR, PB_VARINT);
		pb_varint(&w->msg, labels[i].value);
	}
}

static void put_time(struct writer *w, int64_t time_ns)
{
	w->part.n = 0;
	pb_uint(&w->part, LABEL_KEY, w->time_key);
	pb_tag(&w->part, LABEL_NUM, PB_VARINT);
	pb_varint(&w->part, (uint64_t)time_ns);
	pb_uint(&w->part, LABEL_NUM_UNIT, w->time_unit);
	pb_bytes(&w->msg, SAMPLE_LABEL, w->part.v, w->part.n);
}

/*
 * Writes the ids of a stack's locations. Functions into which a location's code was inlined are
 * part of that location in the file, so their own ids are left out.
 */
static void put_stack(struct writer *w, const uint32_t *stack, size_t n)
{
	uint32_t outer = 0;

	w->part.n = 0;
	for (size_t i = 0; i < n; i++) {
		assert(!outer || stack[i] == outer);
		if (!outer)
			pb_varint(&w->part, stack[i]);
		outer = profile_get_location(w->p, stack[i])->outer;
	}
	assert(!outer);
}

/*
 * Writes a sample. The time comes last, because neighbouring samples often differ only in their
 * time. So the bytes before the time are often equal to those of the previous sample, and compress
 * well.
 */
static int put_sample(void *arg, const struct profile_sample *s)
{
	struct writer *w = arg;
	size_t n;
	const uint32_t *stack = profile_get_stack(w->p, s->stack, &n);

	put_stack(w, stack, n);
	w->msg.n = 0;
	if (n)
		pb_bytes(&w->msg, SAMPLE_LOCATION_ID, w->part.v, w->part.n);
	w->part.n = 0;
	for (unsigned i = 0; i < w->n_values; i++)
		pb_varint(&w->part, (uint64_t)s->values[i]);
	pb_bytes(&w->msg, SAMPLE_VALUE, w->part.v, w->part.n);
	put_labels(w, s->labels);
	if (s->time_ns >= 0)
		put_time(w, s->time_ns);
	pprof_out_bytes(&w->out, PROFILE_SAMPLE, w->msg.v, w->msg.n);
	return w->out.error; /* pprof_out_finish() returns this error again, with a message */
}

/*
 * Returns the mapping that is written first. pprof takes the first mapping for the program's, so
 * that must be Python's if the profile has one.
 */
static uint32_t find_main(const struct profile *p)
{
	for (uint32_t id = 1; id <= profile_n_mappings(p); id++) {
		if (profile_get_mapping(p, id)->kind == KIND_PYTHON)
			return id;
	}
	return 1;
}

static int put_all(struct writer *w)
{
	_cleanup_free_ struct known *known = what_is_known(w->p);
	int r;

	w->main_mapping = find_main(w->p);
	w->n_values = profile_meta(w->p)->n_values;
	w->time_key = profile_string(w->p, PPROF_TIME_KEY);
	w->time_unit = profile_string(w->p, PPROF_TIME_UNIT);
	put_meta(w);
	if (!known || profile_failed(w->p))
		return err_set(-ENOMEM, "out of memory for the profile's names");
	put_strings(w);
	put_mappings(w, known);
	put_functions(w);
	put_locations(w);
	r = profile_each_sum(w->p, w->times, put_sample, w);
	if (r && r == w->out.error)
		return pprof_out_finish(&w->out);
	if (!r && (w->msg.failed || w->part.failed || w->line.failed))
		r = err_set(-ENOMEM, "out of memory for writing the profile");
	if (r)
		return r;
	return pprof_out_finish(&w->out);
}

int pprof_write(struct profile *p, FILE *out, enum profile_times times)
{
	_cleanup_free_ struct writer *w = calloc(1, sizeof(*w));
	int r;

	assert(profile_meta(p)->n_values);
	if (!w)
		return err_set(-ENOMEM, "out of memory for writing the profile");
	w->p = p;
	w->times = times;
	r = pprof_out_init(&w->out, out);
	if (!r) {
		r = put_all(w);
		pprof_out_fini(&w->out);
	}
	free(w->msg.v);
	free(w->part.v);
	free(w->line.v);
	return r;
}
