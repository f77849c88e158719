/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests writing pprof. The test reads the output with a decoder of its own, and compares it with
 * sums that it kept. If krait reads its output and writes it again, the bytes must be the same.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <zlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "format/pprof/pprof.h"

#define BUCKET 10000000
#define GROUP  (1000ll * BUCKET)

enum { STACKS = 40, LABEL_SETS = 5, LOCATIONS = 60, FUNCTIONS = 30, BUCKETS = 4000 };

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* A profile that the test makes, and what the pprof file of it must contain. */

struct made {
	struct profile *p;
	uint32_t stack[STACKS], labels[LABEL_SETS];
	size_t depth[STACKS];
	/* sums by stack, label set, time bucket + 1 (0: samples without a time), and value */
	int64_t want[STACKS][LABEL_SETS][BUCKETS + 1][2];
};

static uint32_t add_function(struct profile *p, unsigned i)
{
	char name[64];
	struct profile_function f = {.start_line = (int32_t)i * 10};

	snprintf(name, sizeof(name), i % 3 ? "Klass%u.méthode" : "<module>", i);
	f.name = profile_string(p, name);
	snprintf(name, sizeof(name), "/srv/app/file%u.py", i % 7);
	f.file = profile_string(p, name);
	profile_ran_before(p, profile_function(p, &f), 1000000 * (i % 4));
	return profile_function(p, &f);
}

static void fill_meta(struct profile *p)
{
	struct profile_meta *m = profile_meta(p);

	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->values[1] = (struct profile_value_type){"cpu", "nanoseconds"};
	m->n_values = 2;
	m->default_value = 1;
	m->period_type = m->values[1];
	m->period = 1001001;
	m->time_ns = 1700000000123456789;
	m->duration_ns = (int64_t)BUCKETS * BUCKET;
	assert_int_equal(comments_add(&m->comments, "krait record -p 1"), 0);
	assert_int_equal(comments_add(&m->comments, "4,000 samples, none lost"), 0);
}

static void fill_tables(struct made *made)
{
	struct profile *p = made->p;
	uint32_t mapping[2], location[LOCATIONS], frames[32];
	uint64_t seed = 7;

	/*
	 * The kernel's mapping is the first one here, though pprof's first mapping has to be that
	 * of Python.
	 */
	mapping[0] =
		profile_mapping(p, &(struct profile_mapping){.name = profile_string(p, "[kernel]"),
							     .kind = KIND_KERNEL});
	mapping[1] = profile_mapping(
		p, &(struct profile_mapping){.name = profile_string(p, "[python 3.12]"),
					     .kind = KIND_PYTHON,
					     .build_id = profile_string(p, "c0ffee"),
					     .start = 0x1000,
					     .limit = 0x2000});
	for (unsigned i = 0; i < LOCATIONS; i++)
		location[i] = profile_location(
			p,
			&(struct profile_location){.mapping = mapping[i % 5 != 0],
						   .line = (int32_t)i,
						   .column = (int32_t)i % 9,
						   .end_line = i % 9 ? (int32_t)(i + i % 2) : 0,
						   .end_column = i % 9 ? (int32_t)i % 9 + 4 : 0,
						   .function = add_function(p, i % FUNCTIONS),
						   .address = i % 5 ? 0 : 0xffffffff81000000u + i});
	for (unsigned i = 0; i < STACKS; i++) {
		made->depth[i] = i % 32;
		for (size_t j = 0; j < made->depth[i]; j++)
			frames[j] = location[next_random(&seed) % LOCATIONS];
		if (made->depth[i])
			/* each stack has another innermost frame */
			frames[0] = location[i];
		made->stack[i] = profile_stack(p, frames, made->depth[i]);
	}
	for (unsigned i = 0; i < LABEL_SETS; i++) {
		char text[16];
		struct profile_label l[2] = {{profile_string(p, "pid"), 0},
					     {profile_string(p, "thread"), 0}};

		snprintf(text, sizeof(text), "%u", 100 + i);
		l[0].value = l[1].value = profile_string(p, text);
		made->labels[i] = profile_labels(p, l, i % 3);
	}
}

/*
 * Makes a profile of @n samples over @buckets time buckets. Times grow, but some samples come up to
 * a second late, and some have no time.
 */
static struct made *make_profile(unsigned n, unsigned buckets, enum profile_times times)
{
	struct made *made = calloc(1, sizeof(*made));
	uint64_t seed = n;

	made->p = profile_new();
	fill_meta(made->p);
	fill_tables(made);
	for (unsigned i = 0; i < n; i++) {
		unsigned st = (unsigned)(next_random(&seed) % STACKS), bucket;
		unsigned la = (unsigned)(next_random(&seed) % LABEL_SETS);
		int64_t late =
			next_random(&seed) % 16 ? 0 : (int64_t)(next_random(&seed) % 1000000000);
		struct profile_sample s = {
			.stack = made->stack[st],
			.labels = made->labels[la],
			.time_ns = (int64_t)i * buckets * BUCKET / n - late,
			.values = {1, 1001001 + (int64_t)(next_random(&seed) % 100)},
		};

		if (next_random(&seed) % 50 == 0)
			s.time_ns = -1;
		bucket = s.time_ns < 0 || times == PROFILE_TIMES_NONE
				 ? 0
				 : 1 + (unsigned)(s.time_ns / BUCKET);
		/*
		 * all stacks without frames count as the same stack, and all sets without labels as
		 * the same set
		 */
		st = made->depth[st] ? st : 0;
		la = la % 3 ? la : 0;
		made->want[st][la][bucket][0]++;
		made->want[st][la][bucket][1] += s.values[1];
		assert_int_equal(profile_add(made->p, &s), 0);
	}
	assert_false(profile_failed(made->p));
	return made;
}

static void made_free(struct made *made)
{
	profile_free(made->p);
	free(made);
}

static size_t write_profile(struct profile *p, enum profile_times times, char **bytes)
{
	size_t n;
	FILE *f = open_memstream(bytes, &n);

	assert_int_equal(pprof_write(p, f, times), 0);
	fclose(f);
	return n;
}

static uint8_t *gunzip(const char *bytes, size_t n, size_t *out_n)
{
	z_stream z = {.next_in = (uint8_t *)bytes, .avail_in = (unsigned)n};
	size_t cap = 64 << 20;
	uint8_t *out = malloc(cap);

	assert_int_equal(inflateInit2(&z, 31), Z_OK);
	z.next_out = out;
	z.avail_out = (unsigned)cap;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	*out_n = z.total_out;
	inflateEnd(&z);
	return out;
}

/* The test's own decoder for protobuf messages. It understands only what the test needs. */

struct cursor {
	const uint8_t *at, *end;
};
struct field {
	unsigned number, wire;
	uint64_t v;
	struct cursor bytes;
};

static uint64_t varint(struct cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;

	do {
		assert_true(c->at < c->end);
		v |= (uint64_t)(*c->at & 0x7f) << shift;
		shift += 7;
	} while (*c->at++ & 0x80);
	return v;
}

static bool next_field(struct cursor *c, struct field *f)
{
	uint64_t tag;

	if (c->at == c->end)
		return false;
	tag = varint(c);
	*f = (struct field){.number = (unsigned)(tag >> 3), .wire = tag & 7};
	f->v = varint(c);
	assert_true(f->wire == 0 || f->wire == 2);
	if (f->wire == 2) {
		assert_true(f->v <= (uint64_t)(c->end - c->at));
		f->bytes = (struct cursor){c->at, c->at + f->v};
		c->at += f->v;
	}
	return true;
}

/* Returns the value of the first field with number @want of message @c, or 0 if there is none. */
static uint64_t number(struct cursor c, unsigned want)
{
	struct field f;

	while (next_field(&c, &f)) {
		if (f.number == want)
			return f.v;
	}
	return 0;
}

struct decoded {
	VEC(struct cursor) strings, mappings, functions, locations, samples, types, comments;
	struct cursor all, period_type;
	/* for each location of the file: 1 + the profile's location with which it was compared */
	uint32_t *checked;
	char text[4][256];
	unsigned turn;
};

static struct decoded *decode(const uint8_t *bytes, size_t n)
{
	struct decoded *d = calloc(1, sizeof(*d));
	struct cursor c = d->all = (struct cursor){bytes, bytes + n};
	struct field f;

	while (next_field(&c, &f)) {
		int r = f.number == 1	? vec_push(&d->types, f.bytes)
			: f.number == 2 ? vec_push(&d->samples, f.bytes)
			: f.number == 3 ? vec_push(&d->mappings, f.bytes)
			: f.number == 4 ? vec_push(&d->locations, f.bytes)
			: f.number == 5 ? vec_push(&d->functions, f.bytes)
			: f.number == 6 ? vec_push(&d->strings, f.bytes)
					: 0;

		assert_int_equal(r, 0);
		if (f.number == 11)
			d->period_type = f.bytes;
	}
	d->checked = calloc(d->locations.n + 1, sizeof(*d->checked));
	assert_non_null(d->checked);
	return d;
}

static void decoded_free(struct decoded *d)
{
	vec_fini(&d->strings);
	vec_fini(&d->mappings);
	vec_fini(&d->functions);
	vec_fini(&d->locations);
	vec_fini(&d->samples);
	vec_fini(&d->types);
	free(d->checked);
	free(d);
}

static const char *text(struct decoded *d, uint64_t i)
{
	char *out = d->text[d->turn++ % 4];

	assert_true(i < d->strings.n);
	snprintf(out, 256, "%.*s", (int)(d->strings.v[i].end - d->strings.v[i].at),
		 (const char *)d->strings.v[i].at);
	return out;
}

/* The tests. */

static void check_contract(struct decoded *d, const struct profile *p)
{
	assert_string_equal(text(d, 0), "");
	assert_int_equal(d->types.n, 2);
	assert_string_equal(text(d, number(d->types.v[0], 1)), "samples");
	assert_string_equal(text(d, number(d->types.v[0], 2)), "count");
	assert_string_equal(text(d, number(d->types.v[1], 1)), "cpu");
	assert_string_equal(text(d, number(d->types.v[1], 2)), "nanoseconds");
	assert_string_equal(text(d, number(d->period_type, 1)), "cpu");
	assert_string_equal(text(d, number(d->period_type, 2)), "nanoseconds");
	assert_string_equal(text(d, number(d->all, 14)), "cpu");
	assert_int_equal(number(d->all, 9), 1700000000123456789);
	assert_int_equal(number(d->all, 10), (int64_t)BUCKETS * BUCKET);
	assert_int_equal(number(d->all, 12), 1001001);
	assert_string_equal(text(d, number(d->all, 13)), "krait record -p 1");
	assert_int_equal(d->mappings.n, 2);
	assert_string_equal(text(d, number(d->mappings.v[0], 5)), "[python 3.12]");
	assert_string_equal(text(d, number(d->mappings.v[0], 6)), "c0ffee");
	assert_string_equal(text(d, number(d->mappings.v[1], 5)), "[kernel]");
	assert_int_equal(d->functions.n, profile_n_functions(p));
	assert_int_equal(d->locations.n, profile_n_locations(p));
	for (size_t i = 0; i < d->mappings.n; i++) {
		assert_int_equal(number(d->mappings.v[i], 1), i + 1);
		for (unsigned flag = 7; flag <= 10; flag++)
			assert_int_equal(number(d->mappings.v[i], flag), 1);
	}
	for (size_t i = 0; i < d->functions.n; i++) {
		assert_int_equal(number(d->functions.v[i], 1), i + 1);
		/* the file gives the function no system_name (field 3) */
		assert_int_equal(number(d->functions.v[i], 3), 0);
	}
}

/*
 * Compares a location of the file with that of the profile: address, lines, function and mapping.
 */
static void check_location(struct decoded *d, struct cursor got, const struct profile *p,
			   uint32_t location)
{
	const struct profile_location *l = profile_get_location(p, location);
	const struct profile_function *fn = profile_get_function(p, l->function);
	struct cursor line = {}, c = got, function;
	struct field f;

	while (next_field(&c, &f)) {
		if (f.number == 4)
			line = f.bytes;
	}
	assert_int_equal(number(got, 3), l->address);
	assert_int_equal(number(line, 2), l->line);
	assert_int_equal(number(line, 3), l->column);
	assert_int_equal(number(line, 100), l->end_column);
	assert_int_equal(number(line, 101), l->end_line != l->line ? l->end_line : 0);
	function = d->functions.v[number(line, 1) - 1];
	assert_string_equal(text(d, number(function, 2)), profile_get_string(p, fn->name));
	assert_string_equal(text(d, number(function, 4)), profile_get_string(p, fn->file));
	assert_int_equal(number(function, 5), fn->start_line);
	assert_int_equal(number(function, 100), profile_get_ran_before(p, l->function));
	assert_string_equal(text(d, number(d->mappings.v[number(got, 2) - 1], 5)),
			    profile_get_string(p, profile_get_mapping(p, l->mapping)->name));
}

static void check_stack(struct decoded *d, struct cursor ids, const struct profile *p,
			uint32_t stack)
{
	size_t n;
	const uint32_t *want = profile_get_stack(p, stack, &n);

	for (size_t i = 0; i < n; i++) {
		size_t got = varint(&ids) - 1;

		assert_true(got < d->locations.n);
		if (d->checked[got] != want[i] + 1)
			check_location(d, d->locations.v[got], p, want[i]);
		d->checked[got] = want[i] + 1;
	}
	assert_ptr_equal(ids.at, ids.end);
}

/*
 * Returns the index of a sample's label set: the value of each of the set's labels is 100 + this
 * index. Sets @time_ns to the sample's time.
 */
static unsigned check_labels(struct decoded *d, struct cursor sample, int64_t *time_ns)
{
	unsigned set = 0, keys = 0;
	struct field f;

	*time_ns = -1;
	while (next_field(&sample, &f)) {
		const char *key;

		if (f.number != 3)
			continue;
		key = text(d, number(f.bytes, 1));
		if (streq(key, "time")) {
			assert_int_equal(*time_ns, -1);
			*time_ns = (int64_t)number(f.bytes, 3);
			assert_string_equal(text(d, number(f.bytes, 4)), "nanoseconds");
			continue;
		}
		assert_string_equal(key, keys++ ? "thread" : "pid");
		set = (unsigned)atoi(text(d, number(f.bytes, 2))) - 100;
	}
	assert_int_equal(keys, set % 3);
	return set;
}

/*
 * Checks that the file has each sum exactly once, and nothing else. (With exact times, one sum may
 * be spread over several samples.)
 */
static void check_samples(struct decoded *d, struct made *made, enum profile_times times)
{
	int64_t group = -1, time_ns, *want, seen[STACKS];
	unsigned last_stack = 0;

	memset(seen, 0xfe, sizeof(seen));
	vec_foreach(s, &d->samples) {
		struct cursor ids = {}, values = {}, c = *s;
		unsigned set = check_labels(d, *s, &time_ns), stack;
		struct field f;

		while (next_field(&c, &f)) {
			ids = f.number == 1 ? f.bytes : ids;
			values = f.number == 2 ? f.bytes : values;
		}
		c = ids;
		/* location number stack + 1 is the innermost frame of the stack */
		stack = c.at ? (unsigned)varint(&c) - 1 : 0;
		check_stack(d, ids, made->p, made->stack[stack]);
		/*
		 * Samples are in groups of 10 s, sorted by time. Within a group, samples of the
		 * same stack are next to each other.
		 */
		assert_true((time_ns < 0 ? -1 : time_ns / GROUP) >= group);
		group = time_ns < 0 ? -1 : time_ns / GROUP;
		assert_true(stack == last_stack || seen[stack] != group);
		seen[stack] = group;
		last_stack = stack;
		assert_true(times != PROFILE_TIMES_NONE || time_ns == -1);
		assert_true(times != PROFILE_TIMES_10MS || time_ns == -1 || time_ns % BUCKET == 0);
		want = made->want[stack][set][time_ns < 0 ? 0 : time_ns / BUCKET + 1];
		for (unsigned i = 0; i < 2; i++) {
			int64_t v = (int64_t)varint(&values);

			assert_true(times == PROFILE_TIMES_EXACT ? v <= want[i]
								 : v && v == want[i]);
			want[i] -= v;
		}
	}
	for (size_t i = 0; i < sizeof(made->want) / sizeof(int64_t); i++)
		assert_int_equal((&made->want[0][0][0][0])[i], 0);
}

static void check_written(unsigned n, unsigned buckets, enum profile_times times)
{
	struct made *made = make_profile(n, buckets, times);
	_cleanup_free_ char *gz = NULL;
	size_t gz_n = write_profile(made->p, times, &gz), raw_n;
	_cleanup_free_ uint8_t *raw = gunzip(gz, gz_n, &raw_n);
	struct decoded *d = decode(raw, raw_n);

	check_contract(d, made->p);
	check_samples(d, made, times);
	decoded_free(d);
	made_free(made);
}

static void sums_are_right_in_buckets(void **state)
{
	check_written(1, 1, PROFILE_TIMES_10MS);
	check_written(4000, BUCKETS, PROFILE_TIMES_10MS);
	/* more samples than the writer sorts at once */
	check_written(200000, 2200, PROFILE_TIMES_10MS);
	/* more samples in a group of 10 s than the writer sorts at once */
	check_written(150000, 100, PROFILE_TIMES_10MS);
}

static void sums_are_right_with_exact_times(void **state)
{
	check_written(4000, BUCKETS, PROFILE_TIMES_EXACT);
}

static void sums_are_right_without_times(void **state)
{
	check_written(4000, BUCKETS, PROFILE_TIMES_NONE);
}

static void check_round_trip(unsigned n, unsigned buckets, enum profile_times times, bool plain)
{
	struct made *made = make_profile(n, buckets, times);
	struct profile *again = NULL;
	_cleanup_free_ char *first = NULL, *second = NULL;
	size_t first_n = write_profile(made->p, times, &first), second_n, raw_n;
	_cleanup_free_ uint8_t *raw = gunzip(first, first_n, &raw_n);

	if (plain)
		assert_int_equal(pprof_read(raw, raw_n, &again), 0);
	else
		assert_int_equal(pprof_read((uint8_t *)first, first_n, &again), 0);
	second_n = write_profile(again, times, &second);
	assert_int_equal(first_n, second_n);
	assert_memory_equal(first, second, first_n);
	profile_free(again);
	made_free(made);
}

static void reading_and_writing_changes_nothing(void **state)
{
	check_round_trip(0, 1, PROFILE_TIMES_10MS, false);
	check_round_trip(4000, BUCKETS, PROFILE_TIMES_10MS, false);
	check_round_trip(4000, BUCKETS, PROFILE_TIMES_10MS, true);
	check_round_trip(4000, BUCKETS, PROFILE_TIMES_EXACT, false);
	check_round_trip(4000, BUCKETS, PROFILE_TIMES_NONE, true);
	check_round_trip(150000, 100, PROFILE_TIMES_10MS, false);
}

/*
 * A label called "time" would clash with the label that has the samples' times, as pprof allows one
 * kind of value for each name. So it is renamed.
 */
static void a_label_called_time_is_renamed(void **state)
{
	struct made *made = make_profile(0, 1, PROFILE_TIMES_10MS);
	struct profile *p = made->p, *again;
	struct profile_label l = {profile_string(p, "time"), profile_string(p, "noon")};
	struct profile_sample s = {.stack = made->stack[1],
				   .labels = profile_labels(p, &l, 1),
				   .time_ns = 5 * BUCKET,
				   .values = {1, 1}};
	_cleanup_free_ struct profile_sum *sums = NULL;
	_cleanup_free_ char *bytes = NULL;
	const struct profile_label *got;
	size_t n;

	assert_int_equal(profile_add(p, &s), 0);
	n = write_profile(p, PROFILE_TIMES_10MS, &bytes);
	assert_int_equal(pprof_read((uint8_t *)bytes, n, &again), 0);
	assert_int_equal(profile_sums(again, &sums, &n), 0);
	assert_int_equal(n, 1);
	got = profile_get_labels(again, sums[0].labels, &n);
	assert_int_equal(n, 1);
	assert_string_equal(profile_get_string(again, got[0].key), "time.label");
	assert_string_equal(profile_get_string(again, got[0].value), "noon");
	profile_free(again);
	made_free(made);
}

static void a_full_disk_is_an_error(void **state)
{
	struct made *made = make_profile(4000, BUCKETS, PROFILE_TIMES_EXACT);
	_cleanup_fclose_ FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	assert_int_equal(pprof_write(made->p, full, PROFILE_TIMES_EXACT), -ENOSPC);
	assert_non_null(strstr(err_msg(), "No space left"));
	made_free(made);
}

/*
 * Times may be as large as int64_t allows: nothing overflows when the writer sorts samples, and the
 * order stays right.
 */
static void times_may_be_huge(void **state)
{
	static const int64_t times[] = {INT64_MAX, 0, 86400ll * 1000000000, INT64_MAX - 1, 7};
	struct made *made = make_profile(0, 1, PROFILE_TIMES_EXACT);
	_cleanup_free_ char *gz = NULL;
	_cleanup_free_ uint8_t *raw = NULL;
	struct decoded *d;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct profile_sample s = {
			.stack = made->stack[1], .time_ns = times[i], .values = {1, 1}};

		assert_int_equal(profile_add(made->p, &s), 0);
	}
	n = write_profile(made->p, PROFILE_TIMES_EXACT, &gz);
	raw = gunzip(gz, n, &n);
	d = decode(raw, n);
	assert_int_equal(d->samples.n, 5);
	for (size_t i = 0; i < 5; i++) {
		static const int64_t sorted[] = {0, 7, 86400ll * 1000000000, INT64_MAX - 1,
						 INT64_MAX};
		struct cursor c = d->samples.v[i];
		struct field f;

		while (next_field(&c, &f)) {
			if (f.number == 3)
				assert_int_equal(number(f.bytes, 3), sorted[i]);
		}
	}
	decoded_free(d);
	made_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_right_in_buckets),
		cmocka_unit_test(sums_are_right_with_exact_times),
		cmocka_unit_test(sums_are_right_without_times),
		cmocka_unit_test(reading_and_writing_changes_nothing),
		cmocka_unit_test(a_label_called_time_is_renamed),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(times_may_be_huge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
