/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads pprof files of any tool, in two passes: the first pass reads the tables, the second the
 * samples. That is needed because samples may come before the tables to which they refer (as in
 * Go's profiles), and a recording's samples don't fit in memory.
 */
#include <errno.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "format/pprof/pprof.h"
#include "format/pprof/pprof_tables.h"

/*
 * Limits of memory for hostile files. Real files need far less: a sample takes 8 bytes, and an
 * entry of a table some more.
 */
#define BUDGET_BASE	 (256ull << 20)
#define BUDGET_PER_BYTE	 64
#define SAMPLES_BASE	 (1u << 20)
#define SAMPLES_PER_BYTE 4
/*
 * How many frames of stacks may be read for each byte of the file. Stacks that the cache has don't
 * count.
 */
#define WORK_PER_BYTE 64
#define MAX_DEPTH     65536
#define MAX_LABELS    256
#define CACHE	      4096

struct raw_label {
	uint64_t key, str, num, num_unit, off;
	bool is_num;
};

/*
 * An entry of the cache of stacks: the 128-bit hash of a list of location ids, and the stack with
 * these locations. The cache saves time because stacks repeat.
 */
struct cached_stack {
	XXH128_hash_t hash;
	uint32_t stack; /* id of the stack; 0: this entry is unused */
};

struct reader {
	struct pprof_tables t;
	struct profile *p;
	size_t bytes; /* length of the file in bytes */
	uint64_t work;
	uint32_t time_key, time_unit;
	uint64_t seed;
	pb_numbers locations, values;
	VEC(uint32_t) frames;
	VEC(struct profile_label) labels;
	struct cached_stack cache[CACHE];
};

static const struct pb_scalar label_spec[] = {
	{LABEL_KEY, "Label.key", offsetof(struct raw_label, key)},
	{LABEL_STR, "Label.str", offsetof(struct raw_label, str)},
	{LABEL_NUM, "Label.num", offsetof(struct raw_label, num)},
	{LABEL_NUM_UNIT, "Label.num_unit", offsetof(struct raw_label, num_unit)},
};

#define NO_MEMORY err_set(-ENOMEM, "out of memory for reading the profile")

/*
 * Adds a label to the sample. Joins the values of labels with the same key with ", ", because the
 * profile has one value for each key.
 */
static int add_label(struct reader *r, uint32_t key, uint32_t value, uint64_t off)
{
	_cleanup_str_ struct str both = {};

	vec_foreach(l, &r->labels) {
		if (l->key != key)
			continue;
		str_add(&both, profile_get_string(r->p, l->value));
		str_add(&both, ", ");
		str_add(&both, profile_get_string(r->p, value));
		if (both.failed)
			return NO_MEMORY;
		if (both.n > 4096)
			return pb_bad(off, "Sample.label", "too many values for \"%.40s\"",
				      profile_get_string(r->p, key));
		l->value = profile_string_n(r->p, both.s, both.n);
		return 0;
	}
	if (r->labels.n == MAX_LABELS)
		return pb_bad(off, "Sample.label", "more than %d labels", MAX_LABELS);
	return vec_push(&r->labels, (struct profile_label){key, value}) ? NO_MEMORY : 0;
}

/*
 * Adds a numeric label as text: "4096 bytes". The time of a sample is no such label: it is stored
 * elsewhere.
 */
static int take_number(struct reader *r, const struct raw_label *raw, uint32_t key, uint32_t unit,
		       struct profile_sample *s)
{
	_cleanup_str_ struct str text = {};

	if (key == r->time_key && unit == r->time_unit && s->time_ns < 0 &&
	    (int64_t)raw->num >= 0) {
		s->time_ns = (int64_t)raw->num;
		return 0;
	}
	str_addf(&text, "%lld%s%s", (long long)raw->num, unit ? " " : "",
		 profile_get_string(r->p, unit));
	if (text.failed)
		return NO_MEMORY;
	return add_label(r, key, profile_string_n(r->p, text.s, text.n), raw->off);
}

static int take_label(struct reader *r, const struct pb_field *f, struct profile_sample *s)
{
	struct raw_label raw = {.off = f->off};
	uint32_t key = 0, value = 0, unit = 0;
	struct pb_cursor c;
	struct pb_field field;
	int err = pb_enter(f, "Label", &c);

	while (!err && (err = pb_next(&c, &field)) > 0) {
		err = pb_take(label_spec, ARRAY_SIZE(label_spec), &field, &raw);
		raw.is_num |= field.number == LABEL_NUM;
	}
	if (!err)
		err = pprof_tables_string(&r->t, raw.key, raw.off, "Label.key", &key);
	if (!err)
		err = pprof_tables_string(&r->t, raw.str, raw.off, "Label.str", &value);
	if (!err)
		err = pprof_tables_string(&r->t, raw.num_unit, raw.off, "Label.num_unit", &unit);
	if (err)
		return err;
	if (!value && (raw.is_num || raw.num_unit))
		return take_number(r, &raw, key, unit, s);
	return add_label(r, key, value, raw.off);
}

static int expand_stack(struct reader *r, uint64_t off)
{
	r->frames.n = 0;
	for (size_t i = 0; i < r->locations.n; i++) {
		const uint64_t *at = map_get(&r->t.location_ids, r->locations.v[i]);
		struct pprof_id_range range;

		if (!at)
			return pb_bad(off, "Sample.location_id", "no location %llu",
				      (unsigned long long)r->locations.v[i]);
		range = r->t.ranges.v[*at];
		if (r->frames.n + range.n > MAX_DEPTH)
			return pb_bad(off, "Sample.location_id", "more than %d frames", MAX_DEPTH);
		if (vec_reserve(&r->frames, r->frames.n + range.n))
			return NO_MEMORY;
		memcpy(r->frames.v + r->frames.n, r->t.expanded.v + range.first,
		       range.n * sizeof(*r->frames.v));
		r->frames.n += range.n;
	}
	r->work += r->frames.n;
	if (r->work > off * WORK_PER_BYTE + SAMPLES_BASE)
		return err_set(-E2BIG,
			       "pprof: byte %llu: the stacks have far more frames than a "
			       "file of this size should",
			       (unsigned long long)off);
	return 0;
}

static int find_stack(struct reader *r, uint64_t off, uint32_t *ret)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(
		r->locations.v, r->locations.n * sizeof(*r->locations.v), r->seed);
	struct cached_stack *c = &r->cache[hash.low64 % CACHE];

	if (!c->stack || !XXH128_isEqual(c->hash, hash)) {
		int err = expand_stack(r, off);

		if (err)
			return err;
		c->hash = hash;
		c->stack = profile_stack(r->p, r->frames.v, r->frames.n);
	}
	*ret = c->stack;
	return *ret ? 0 : NO_MEMORY;
}

static int take_sample_field(struct reader *r, const struct pb_field *f, struct profile_sample *s)
{
	switch (f->number) {
	case SAMPLE_LOCATION_ID:
		return pb_repeated(f, "Sample.location_id", MAX_DEPTH, &r->locations);
	case SAMPLE_VALUE:
		return pb_repeated(f, "Sample.value", r->t.value_types.n, &r->values);
	case SAMPLE_LABEL:
		return take_label(r, f, s);
	default:
		return 0;
	}
}

static int take_sample(struct reader *r, const struct pb_field *f)
{
	struct profile_sample s = {.time_ns = -1};
	const struct profile_meta *m = profile_meta(r->p);
	struct pb_cursor c;
	struct pb_field field;
	int err = pb_enter(f, "Sample", &c);

	r->locations.n = r->values.n = r->labels.n = 0;
	while (!err && (err = pb_next(&c, &field)) > 0)
		err = take_sample_field(r, &field, &s);
	if (err)
		return err;
	if (r->values.n != r->t.value_types.n)
		return pb_bad(f->off, "Sample.value", "%zu values for %zu sample types",
			      r->values.n, r->t.value_types.n);
	err = find_stack(r, f->off, &s.stack);
	if (err)
		return err;
	s.labels = profile_labels(r->p, r->labels.v, r->labels.n);
	for (unsigned i = 0; i < m->n_values; i++)
		s.values[i] = (int64_t)r->values.v[r->t.value_at[i]];
	if (profile_n_samples(r->p) >= SAMPLES_BASE + r->bytes * SAMPLES_PER_BYTE)
		return err_set(-E2BIG,
			       "pprof: byte %llu: there are far more samples than a file of this "
			       "size should have",
			       (unsigned long long)f->off);
	err = pprof_tables_check(&r->t, f->off);
	return err ? err : profile_add(r->p, &s);
}

/* Reads the file once: only its samples if @samples is set, else everything but the samples. */
static int pass(struct reader *r, const uint8_t *data, size_t n, bool samples)
{
	_cleanup_(pprof_in_close) struct pprof_in in;
	struct pb_field f;
	int err = pprof_in_open(&in, data, n);

	while (!err && (err = pprof_in_next(&in, &f)) > 0) {
		err = 0;
		if ((f.number == PROFILE_SAMPLE) != samples)
			continue;
		err = samples ? take_sample(r, &f) : pprof_tables_take(&r->t, &f);
	}
	return err;
}

static int read_all(struct reader *r, const uint8_t *data, size_t n)
{
	int err = pass(r, data, n, false);

	if (!err)
		err = pprof_tables_resolve(&r->t);
	if (err)
		return err;
	r->time_key = profile_string(r->p, PPROF_TIME_KEY);
	r->time_unit = profile_string(r->p, PPROF_TIME_UNIT);
	return pass(r, data, n, true);
}

int pprof_read(const uint8_t *data, size_t n, struct profile **ret)
{
	_cleanup_free_ struct reader *r = calloc(1, sizeof(*r));
	struct profile *p = profile_new();
	int err;

	if (!r || !p) {
		profile_free(p);
		return NO_MEMORY;
	}
	r->p = p;
	r->bytes = n;
	if (getrandom(&r->seed, sizeof(r->seed), GRND_NONBLOCK) < 0)
		r->seed = (uintptr_t)r;
	pprof_tables_init(&r->t, p, (size_t)(BUDGET_BASE + n * BUDGET_PER_BYTE));
	err = read_all(r, data, n);
	pprof_tables_fini(&r->t);
	vec_fini(&r->locations);
	vec_fini(&r->values);
	vec_fini(&r->frames);
	vec_fini(&r->labels);
	if (err)
		profile_free(p);
	else
		*ret = p;
	return err;
}
