/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile as pprof. The profile's ids are pprof's: strings, functions and locations are numbered
 * the same, mappings but for the main one, which comes first. Tables come before samples, so that a
 * reader needs one pass. Samples are summed by (stack, labels, time bucket) and sorted by bucket,
 * a window of time at a time: memory depends on the window, not on the recording.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/pprof.h"
#include "profile/pprof_out.h"
#include "profile/samplelog.h"
#include "profile/sums.h"

#define BUCKET_NS	(10 * (int64_t)NSEC_PER_MSEC)
#define WINDOW_SAMPLES	(1u << 17)
#define BINS		(1u << 16)

struct writer {
	struct profile *p;
	struct pprof_out out;
	enum pprof_times times;
	struct pb msg, part, line;
	struct sums sums;
	uint32_t main_mapping; /* profile's id of the one written first */
	uint32_t time_key, time_unit, other_time_key;
	unsigned n_values;
};

/* How many samples fall in which time, in bins of (BUCKET_NS << shift). */
struct histogram {
	unsigned shift;
	uint64_t timeless;
	uint32_t bin[BINS];
};

static uint32_t mapping_id(const struct writer *w, uint32_t id)
{
	return id == w->main_mapping ? 1 : id < w->main_mapping ? id + 1 : id;
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
	put_value_type(w, PROFILE_PERIOD_TYPE, period->type ? period : &m->values[m->default_value]);
	pprof_out_uint(&w->out, PROFILE_PERIOD, (uint64_t)m->period);
	for (unsigned i = 0; i < m->n_comments; i++)
		pprof_out_uint(&w->out, PROFILE_COMMENT, profile_string(w->p, m->comment[i]));
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
 * The has_* flags say that names are already there, which keeps pprof from looking for the file.
 */
static void put_mappings(struct writer *w)
{
	for (uint32_t id = 1; id <= profile_n_mappings(w->p); id++) {
		const struct profile_mapping *m = profile_get_mapping(w->p, mapping_of_id(w, id));

		w->msg.n = 0;
		pb_uint(&w->msg, MAPPING_ID, id);
		pb_uint(&w->msg, MAPPING_START, m->start);
		pb_uint(&w->msg, MAPPING_LIMIT, m->limit);
		pb_uint(&w->msg, MAPPING_OFFSET, m->offset);
		pb_uint(&w->msg, MAPPING_FILENAME, m->name);
		pb_uint(&w->msg, MAPPING_BUILD_ID, m->build_id);
		for (unsigned f = MAPPING_HAS_FUNCTIONS; f <= MAPPING_HAS_INLINE_FRAMES; f++)
			pb_uint(&w->msg, f, 1);
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
		pprof_out_bytes(&w->out, PROFILE_FUNCTION, w->msg.v, w->msg.n);
	}
}

static void put_locations(struct writer *w)
{
	for (uint32_t id = 1; id <= profile_n_locations(w->p); id++) {
		const struct profile_location *l = profile_get_location(w->p, id);

		w->line.n = 0;
		pb_uint(&w->line, LINE_FUNCTION_ID, l->function);
		pb_uint(&w->line, LINE_LINE, (uint64_t)(int64_t)l->line);
		pb_uint(&w->line, LINE_COLUMN, (uint64_t)(int64_t)l->column);
		w->msg.n = 0;
		pb_uint(&w->msg, LOCATION_ID, id);
		pb_uint(&w->msg, LOCATION_MAPPING_ID, mapping_id(w, l->mapping));
		pb_uint(&w->msg, LOCATION_ADDRESS, l->address);
		pb_bytes(&w->msg, LOCATION_LINE, w->line.v, w->line.n);
		pprof_out_bytes(&w->out, PROFILE_LOCATION, w->msg.v, w->msg.n);
	}
}

/* A label called "time" can't stand beside the number of that name: pprof wants one kind a key. */
static void put_labels(struct writer *w, uint32_t id)
{
	size_t n;
	const struct profile_label *labels = profile_get_labels(w->p, id, &n);

	for (size_t i = 0; i < n; i++) {
		uint32_t key = labels[i].key == w->time_key ? w->other_time_key : labels[i].key;

		pb_tag(&w->msg, SAMPLE_LABEL, PB_BYTES);
		pb_varint(&w->msg, 2 + pb_varint_size(key) + pb_varint_size(labels[i].value));
		pb_tag(&w->msg, LABEL_KEY, PB_VARINT);
		pb_varint(&w->msg, key);
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

/* What differs between neighbours, the time, comes last: the rest is one match for deflate. */
static void put_sample(struct writer *w, const struct profile_sample *s)
{
	size_t n;
	const uint32_t *stack = profile_get_stack(w->p, s->stack, &n);

	w->part.n = 0;
	for (size_t i = 0; i < n; i++)
		pb_varint(&w->part, stack[i]);
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
}

static int count_in_bin(void *arg, const struct profile_sample *s)
{
	struct histogram *h = arg;
	uint64_t bucket = (uint64_t)s->time_ns / (uint64_t)BUCKET_NS;

	if (s->time_ns < 0) {
		h->timeless++;
		return 0;
	}
	while (bucket >> h->shift >= BINS) { /* bins twice as wide */
		for (unsigned i = 0; i < BINS / 2; i++) {
			if (__builtin_add_overflow(h->bin[2 * i], h->bin[2 * i + 1], &h->bin[i]))
				h->bin[i] = UINT32_MAX;
		}
		memset(h->bin + BINS / 2, 0, sizeof(h->bin) / 2);
		h->shift++;
	}
	h->bin[bucket >> h->shift] += h->bin[bucket >> h->shift] != UINT32_MAX;
	return 0;
}

static int add_to_window(void *arg, const struct profile_sample *sample)
{
	struct writer *w = arg;
	struct profile_sample s = *sample;

	if (w->times == PPROF_TIMES_NONE)
		s.time_ns = -1;
	else if (w->times == PPROF_TIMES_10MS && s.time_ns >= 0)
		s.time_ns -= s.time_ns % BUCKET_NS;
	return sums_add(&w->sums, &s);
}

/* By time, then by first use, which keeps the file the same when it is read and written again. */
static int by_time(const void *a, const void *b, void *arg)
{
	const struct profile_sample *v = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (v[i].time_ns != v[j].time_ns)
		return v[i].time_ns < v[j].time_ns ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* Writes the sums of all samples with first_ns <= time <= last_ns. */
static int put_window(struct writer *w, int64_t first_ns, int64_t last_ns)
{
	_cleanup_free_ uint32_t *order = NULL;
	size_t n;
	int r;

	sums_clear(&w->sums);
	r = samplelog_each(profile_log(w->p), first_ns, last_ns, add_to_window, w);
	if (r)
		return r;
	n = w->sums.entries.n;
	order = reallocarray(NULL, n ? n : 1, sizeof(*order));
	if (!order)
		return err_set(-ENOMEM, "out of memory for sorting samples");
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_time, w->sums.entries.v);
	for (size_t i = 0; i < n && !w->out.error; i++)
		put_sample(w, &w->sums.entries.v[order[i]]);
	return 0;
}

/* Windows are as many bins as hold WINDOW_SAMPLES samples, at least one. */
static int put_samples(struct writer *w)
{
	_cleanup_free_ struct histogram *h = calloc(1, sizeof(*h));
	uint32_t first = 0;
	int r;

	if (w->times == PPROF_TIMES_NONE)
		return put_window(w, -1, INT64_MAX);
	if (!h)
		return err_set(-ENOMEM, "out of memory for sorting samples");
	r = profile_each(w->p, count_in_bin, h);
	if (!r && h->timeless)
		r = put_window(w, -1, -1);
	while (!r && first < BINS) {
		uint64_t n = h->bin[first];
		uint32_t end = first + 1;
		int64_t width = BUCKET_NS << h->shift, last_ns;

		while (end < BINS && n + h->bin[end] <= WINDOW_SAMPLES)
			n += h->bin[end++];
		if (end == BINS || __builtin_mul_overflow(width, (int64_t)end, &last_ns))
			last_ns = INT64_MAX;
		else
			last_ns--;
		if (n)
			r = put_window(w, width * first, last_ns);
		first = end;
	}
	return r;
}

/* pprof takes the first mapping for the program's: that of Python, if there is one. */
static uint32_t find_main(const struct profile *p)
{
	for (uint32_t id = 1; id <= profile_n_mappings(p); id++) {
		if (profile_get_mapping(p, id)->kind == KIND_PYTHON)
			return id;
	}
	return 1;
}

/* What a label called "time" is written as, if there is one. */
static uint32_t find_other_time_key(const struct writer *w)
{
	for (uint32_t id = 1; id <= profile_n_labels(w->p); id++) {
		size_t n;
		const struct profile_label *labels = profile_get_labels(w->p, id, &n);

		for (size_t i = 0; i < n; i++) {
			if (labels[i].key == w->time_key)
				return profile_string(w->p, PPROF_TIME_KEY ".label");
		}
	}
	return 0;
}

static int put_all(struct writer *w)
{
	int r;

	w->main_mapping = find_main(w->p);
	w->n_values = profile_meta(w->p)->n_values;
	w->time_key = profile_string(w->p, PPROF_TIME_KEY);
	w->time_unit = profile_string(w->p, PPROF_TIME_UNIT);
	w->other_time_key = find_other_time_key(w);
	put_meta(w);
	if (profile_failed(w->p))
		return err_set(-ENOMEM, "out of memory for the profile's names");
	put_strings(w);
	put_mappings(w);
	put_functions(w);
	put_locations(w);
	r = put_samples(w);
	if (!r && (w->msg.failed || w->part.failed || w->line.failed))
		r = err_set(-ENOMEM, "out of memory for writing the profile");
	if (r)
		return r;
	return pprof_out_finish(&w->out);
}

int pprof_write(struct profile *p, FILE *out, enum pprof_times times)
{
	_cleanup_free_ struct writer *w = calloc(1, sizeof(*w));
	int r;

	assert(profile_meta(p)->n_values);
	if (!w)
		return err_set(-ENOMEM, "out of memory for writing the profile");
	w->p = p;
	w->times = times;
	sums_init(&w->sums);
	r = pprof_out_init(&w->out, out);
	if (!r) {
		r = put_all(w);
		pprof_out_fini(&w->out);
	}
	sums_fini(&w->sums);
	free(w->msg.v);
	free(w->part.v);
	free(w->line.v);
	return r;
}
