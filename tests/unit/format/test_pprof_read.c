/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads pprof as tools other than krait write it. The test encodes it by hand: samples before
 * tables, ids in any order, inlined calls, numeric labels, missing parts. Bad input is refused; the
 * message names the field and the position in the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <zlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/pprof/pprof.h"
#include "format/pprof/proto.h"

static void add_message(struct pb *to, unsigned field, struct pb *m)
{
	pb_bytes(to, field, m->v, m->n);
	m->n = 0;
}

static void add_strings(struct pb *b, const char *const *strings)
{
	for (; *strings; strings++)
		pb_bytes(b, PROFILE_STRING_TABLE, *strings, strlen(*strings));
}

static void add_value_type(struct pb *b, unsigned field, unsigned type, unsigned unit)
{
	struct pb m = {};

	pb_uint(&m, VALUE_TYPE_TYPE, type);
	pb_uint(&m, VALUE_TYPE_UNIT, unit);
	add_message(b, field, &m);
	free(m.v);
}

static void add_function(struct pb *b, uint64_t id, unsigned name, unsigned file)
{
	struct pb m = {};

	pb_uint(&m, FUNCTION_ID, id);
	pb_uint(&m, FUNCTION_NAME, name);
	pb_uint(&m, FUNCTION_FILENAME, file);
	add_message(b, PROFILE_FUNCTION, &m);
	free(m.v);
}

/*
 * Adds a location with a line for each of @functions (inlined calls). The line numbers are 10, 20,
 * ...
 */
static void add_location(struct pb *b, uint64_t id, uint64_t mapping, uint64_t address,
			 const uint64_t *functions, size_t n)
{
	struct pb m = {}, line = {};

	for (size_t i = 0; i < n; i++) {
		pb_uint(&line, LINE_FUNCTION_ID, functions[i]);
		pb_uint(&line, LINE_LINE, 10 * (i + 1));
		add_message(&m, LOCATION_LINE, &line);
	}
	pb_uint(&m, LOCATION_ADDRESS, address);
	pb_uint(&m, LOCATION_MAPPING_ID, mapping);
	pb_uint(&m, LOCATION_ID, id);
	add_message(b, PROFILE_LOCATION, &m);
	free(m.v);
	free(line.v);
}

static void add_label(struct pb *sample, unsigned key, unsigned str, int64_t num, unsigned unit)
{
	struct pb m = {};

	pb_uint(&m, LABEL_KEY, key);
	pb_uint(&m, LABEL_STR, str);
	pb_uint(&m, LABEL_NUM, (uint64_t)num);
	pb_uint(&m, LABEL_NUM_UNIT, unit);
	add_message(sample, SAMPLE_LABEL, &m);
	free(m.v);
}

static const char *const names[] = {"",	       "cpu",	    "nanoseconds", "leaf", "/x/app.py",
				    "inlined", "time",	    "bytes",	   "kind", "a",
				    "b",       "/bin/prog", "outer",	   NULL};
enum {
	S_CPU = 1,
	S_NS,
	S_LEAF,
	S_PY,
	S_INLINED,
	S_TIME,
	S_BYTES,
	S_KIND,
	S_A,
	S_B,
	S_PROG,
	S_OUTER
};

/*
 * Adds a sample with three locations, the innermost first: 900 (a function inlined into outer), 5
 * (Python, without a mapping), 6 (without lines).
 */
static void add_sample(struct pb *b, int64_t value)
{
	struct pb s = {};

	/* the location ids as separate values, not packed */
	pb_uint(&s, SAMPLE_LOCATION_ID, 900);
	pb_uint(&s, SAMPLE_LOCATION_ID, 5);
	pb_uint(&s, SAMPLE_LOCATION_ID, 6);
	pb_uint(&s, SAMPLE_VALUE, (uint64_t)value);
	add_label(&s, S_BYTES, 0, 4096, S_BYTES);
	add_label(&s, S_TIME, 0, 123456, S_NS);
	add_label(&s, S_KIND, S_A, 0, 0);
	add_label(&s, S_KIND, S_B, 0, 0);
	add_message(b, PROFILE_SAMPLE, &s);
	free(s.v);
}

/*
 * Adds locations, functions and strings. The functions have the ids @first, @first + 1 and so on.
 * With @first 0 they have no ids, and are known by their position.
 */
static void add_tables(struct pb *b, uint64_t first)
{
	uint64_t outer = first ? first : 1;
	struct pb m = {};

	add_location(b, 900, 77, 0xabc, (const uint64_t[]){outer + 1, outer}, 2);
	add_location(b, 5, 0, 0, (const uint64_t[]){outer + 2}, 1);
	add_location(b, 6, 77, 0xdef, NULL, 0);
	pb_uint(&m, MAPPING_ID, 77);
	pb_uint(&m, MAPPING_FILENAME, S_PROG);
	add_message(b, PROFILE_MAPPING, &m);
	free(m.v);
	add_function(b, first, S_OUTER, 0);
	add_function(b, first ? first + 1 : 0, S_INLINED, 0);
	add_function(b, first ? first + 2 : 0, S_LEAF, S_PY);
	add_strings(b, names);
}

static void make_foreign(struct pb *b)
{
	add_value_type(b, PROFILE_SAMPLE_TYPE, S_CPU, S_NS);
	add_sample(b, 42);
	add_tables(b, 30);
}

static void check_frame(const struct profile *p, uint32_t location, const char *function,
			const char *mapping, enum frame_kind kind, int line)
{
	const struct profile_location *l = profile_get_location(p, location);
	const struct profile_mapping *m = profile_get_mapping(p, l->mapping);

	assert_string_equal(profile_get_string(p, profile_get_function(p, l->function)->name),
			    function);
	assert_string_equal(profile_get_string(p, m->name), mapping);
	assert_int_equal(m->kind, kind);
	assert_int_equal(l->line, line);
}

static const char *label(const struct profile *p, uint32_t set, const char *key)
{
	size_t n;
	const struct profile_label *l = profile_get_labels(p, set, &n);

	for (size_t i = 0; i < n; i++) {
		if (streq(profile_get_string(p, l[i].key), key))
			return profile_get_string(p, l[i].value);
	}
	return NULL;
}

static int check_foreign_sample(void *arg, const struct profile_sample *s)
{
	struct profile *p = arg;
	size_t n;
	const uint32_t *stack = profile_get_stack(p, s->stack, &n);

	assert_int_equal(n, 4);
	check_frame(p, stack[0], "inlined", "/bin/prog", KIND_NATIVE, 10);
	check_frame(p, stack[1], "outer", "/bin/prog", KIND_NATIVE, 20);
	check_frame(p, stack[2], "leaf", "[python]", KIND_PYTHON, 10);
	assert_int_equal(profile_get_location(p, stack[0])->outer, stack[1]);
	assert_int_equal(profile_get_location(p, stack[1])->outer, 0);
	assert_int_equal(profile_get_location(p, stack[3])->function, 0);
	assert_int_equal(profile_get_location(p, stack[3])->address, 0xdef);
	assert_int_equal(s->time_ns, 123456);
	assert_int_equal(s->values[0], 42);
	assert_string_equal(label(p, s->labels, "bytes"), "4096 bytes");
	assert_string_equal(label(p, s->labels, "kind"), "a, b");
	assert_null(label(p, s->labels, "time"));
	return 0;
}

static void foreign_profiles_are_read(void **state)
{
	struct pb b = {};
	struct profile *p;

	make_foreign(&b);
	assert_int_equal(pprof_read(b.v, b.n, &p), 0);
	assert_int_equal(profile_n_samples(p), 1);
	assert_int_equal(profile_each(p, check_foreign_sample, p), 0);
	assert_int_equal(profile_meta(p)->default_value, 0);
	assert_string_equal(profile_meta(p)->values[0].type, "cpu");
	profile_free(p);
	free(b.v);
}

static void functions_without_ids_are_told_by_place(void **state)
{
	struct pb b = {};
	struct profile *p;

	add_value_type(&b, PROFILE_SAMPLE_TYPE, S_CPU, S_NS);
	add_sample(&b, 42);
	add_tables(&b, 0);
	assert_int_equal(pprof_read(b.v, b.n, &p), 0);
	assert_int_equal(profile_each(p, check_foreign_sample, p), 0);
	profile_free(p);
	free(b.v);
}

static int sum_value(void *arg, const struct profile_sample *s)
{
	int64_t *sums = arg;

	for (unsigned i = 0; i < PROFILE_MAX_VALUES; i++)
		sums[i] += s->values[i];
	return 0;
}

/*
 * A file has two value types more than krait reads. The default value type, which is the last one,
 * must not be left out.
 */
static void many_value_types_keep_the_default(void **state)
{
	static const char *const types[] = {"",	 "nanoseconds", "a", "b", "c", "d",    "e",
					    "f", "g",		"h", "i", "j", "k",    "l",
					    "m", "n",		"o", "p", "q", "last", NULL};
	int64_t sums[PROFILE_MAX_VALUES] = {};
	struct pb b = {}, s = {}, packed = {};
	struct profile *p;

	for (unsigned i = 0; i < PROFILE_MAX_VALUES + 2; i++) {
		add_value_type(&b, PROFILE_SAMPLE_TYPE, 2 + i, 1);
		pb_varint(&packed, 100 + i);
	}
	add_message(&s, SAMPLE_VALUE, &packed);
	add_message(&b, PROFILE_SAMPLE, &s);
	add_strings(&b, types);
	/* without a default value type, the last value type is the default */
	assert_int_equal(pprof_read(b.v, b.n, &p), 0);
	assert_int_equal(profile_meta(p)->n_values, PROFILE_MAX_VALUES);
	assert_int_equal(profile_meta(p)->default_value, PROFILE_MAX_VALUES - 1);
	assert_string_equal(profile_meta(p)->values[PROFILE_MAX_VALUES - 1].type, "last");
	assert_int_equal(profile_meta(p)->comments.list.n, 1);
	assert_string_equal(profile_meta(p)->comments.list.v[0], "left out: 2 sample types: p q");
	assert_int_equal(profile_each(p, sum_value, sums), 0);
	for (unsigned i = 0; i < PROFILE_MAX_VALUES - 1; i++)
		assert_int_equal(sums[i], 100 + i);
	assert_int_equal(sums[PROFILE_MAX_VALUES - 1], 100 + PROFILE_MAX_VALUES + 1);
	profile_free(p);
	free(b.v);
	free(s.v);
	free(packed.v);
}

static void go_profiles_are_read(void **state)
{
	static uint8_t bytes[65536];
	int64_t sums[PROFILE_MAX_VALUES] = {};
	_cleanup_fclose_ FILE *f = fopen("tests/golden/go-cpu.pb.gz", "r");
	struct profile *p;
	size_t n;

	assert_non_null(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	assert_int_equal(pprof_read(bytes, n, &p), 0);
	/*
	 * As `go tool pprof -raw` says: 13 samples, 38 counts, 380 ms, 19 locations, of which 6
	 * have 2 lines
	 */
	assert_int_equal(profile_n_samples(p), 13);
	assert_int_equal(profile_n_locations(p), 25);
	assert_int_equal(profile_each(p, sum_value, sums), 0);
	assert_int_equal(sums[0], 38);
	assert_int_equal(sums[1], 380000000);
	assert_int_equal(profile_meta(p)->default_value, 1);
	assert_int_equal(profile_meta(p)->period, 10000000);
	profile_free(p);
}

/* A file is cut off or changed anywhere: krait must not crash, and reads the file or refuses it. */
static void every_cut_is_refused_or_harmless(void **state)
{
	struct pb b = {};
	struct profile *p;

	make_foreign(&b);
	for (size_t n = 0; n < b.n; n++) {
		/* a copy of the exact size, so that ASan notices a read past its end */
		_cleanup_free_ uint8_t *copy = malloc(n ? n : 1);

		memcpy(copy, b.v, n);
		if (pprof_read(copy, n, &p) == 0)
			profile_free(p);
		else
			assert_non_null(strstr(err_msg(), "pprof: "));
	}
	for (size_t i = 0; i < b.n * 8; i++) {
		b.v[i / 8] ^= (uint8_t)(1u << i % 8);
		if (pprof_read(b.v, b.n, &p) == 0)
			profile_free(p);
		b.v[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	free(b.v);
}

static void refuse(struct pb *b, const char *message)
{
	struct profile *p;

	assert_int_not_equal(pprof_read(b->v, b->n, &p), 0);
	if (!strstr(err_msg(), message))
		fail_msg("\"%s\" isn't in \"%s\"", message, err_msg());
	b->n = 0;
}

static void bad_input_is_named(void **state)
{
	struct pb b = {}, s = {};

	refuse(&b, "no sample types");
	pb_bytes(&b, 31, "x", 1);
	pb_tag(&b, 2, 3);
	refuse(&b, "byte 4: Profile: field 2 has wire type 3");
	pb_tag(&b, 2, PB_BYTES);
	pb_varint(&b, 100);
	refuse(&b, "byte 0: Profile: field 2 says 100 bytes, but the file only has 0");
	pb_tag(&b, 2, PB_BYTES);
	pb_varint(&b, 1ull << 60);
	refuse(&b, "more than krait takes");
	pb_bytes(&b, PROFILE_STRING_TABLE, "x", 1);
	refuse(&b, "string_table: the first string isn't empty");

	make_foreign(&b);
	add_function(&b, 30, S_OUTER, 0);
	refuse(&b, "Function: id 30 is used twice");
	make_foreign(&b);
	add_function(&b, 0, S_OUTER, 0);
	refuse(&b, "Function: id 0");
	make_foreign(&b);
	add_function(&b, 99, 1000, 0);
	refuse(&b, "Function.name: string 1000 is missing: the table has 13");
	make_foreign(&b);
	add_location(&b, 99, 0, 0, (const uint64_t[]){1234}, 1);
	refuse(&b, "Line.function_id: no function 1234");
	make_foreign(&b);
	add_location(&b, 99, 1234, 0, (const uint64_t[]){30}, 1);
	refuse(&b, "Location.mapping_id: no mapping 1234");

	make_foreign(&b);
	pb_uint(&s, SAMPLE_LOCATION_ID, 4711);
	pb_uint(&s, SAMPLE_VALUE, 1);
	add_message(&b, PROFILE_SAMPLE, &s);
	refuse(&b, "Sample.location_id: no location 4711");
	make_foreign(&b);
	add_message(&b, PROFILE_SAMPLE, &s);
	refuse(&b, "Sample.value: 0 values for 1 sample types");
	make_foreign(&b);
	pb_uint(&s, SAMPLE_VALUE, 1);
	pb_uint(&s, SAMPLE_VALUE, 1);
	add_message(&b, PROFILE_SAMPLE, &s);
	refuse(&b, "Sample.value: more than 1");
	free(b.v);
	free(s.v);
}

/* Compresses @n bytes with gzip; at most 1 MiB comes out. */
static void compress_into(struct pb *to, const uint8_t *raw, size_t n)
{
	z_stream z = {.next_in = (uint8_t *)raw, .avail_in = (unsigned)n};

	assert_true(pb_reserve(to, to->n + n / 64 + 65536));
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
	z.next_out = to->v + to->n;
	z.avail_out = (unsigned)(to->cap - to->n);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	to->n += z.total_out;
	deflateEnd(&z);
}

static void damaged_gzip_is_named(void **state)
{
	struct pb b = {}, gz = {};
	struct profile *p;
	size_t n;

	make_foreign(&b);
	compress_into(&gz, b.v, b.n);
	n = gz.n;
	assert_int_equal(pprof_read(gz.v, gz.n, &p), 0);
	profile_free(p);
	gz.n = n - 5;
	refuse(&gz, "the gzip data ends early");
	gz.v[n - 8] ^= 1; /* damages the checksum */
	gz.n = n;
	refuse(&gz, "the gzip data is damaged");
	gz.v[n - 8] ^= 1;
	gz.n = n;
	pb_bytes(&gz, 1, "rubbish", 7);
	refuse(&gz, "the gzip data is damaged");

	/* A gzip stream may consist of two members. */
	gz.n = 0;
	compress_into(&gz, b.v, b.n / 2);
	compress_into(&gz, b.v + b.n / 2, b.n - b.n / 2);
	assert_int_equal(pprof_read(gz.v, gz.n, &p), 0);
	assert_int_equal(profile_n_samples(p), 1);
	profile_free(p);
	free(b.v);
	free(gz.v);
}

/*
 * 16 KiB of gzip unpack to 16 MiB, in which the same sample is repeated again and again. krait
 * refuses such a file.
 */
static void bombs_are_refused(void **state)
{
	struct pb b = {}, gz = {}, s = {};

	add_value_type(&b, PROFILE_SAMPLE_TYPE, S_CPU, S_NS);
	add_strings(&b, names);
	pb_uint(&s, SAMPLE_VALUE, 1);
	while (b.n < 16u << 20)
		pb_bytes(&b, PROFILE_SAMPLE, s.v, s.n);
	compress_into(&gz, b.v, b.n);
	assert_true(gz.n < 100000);
	refuse(&gz, "far more samples than a file of this size");

	/* Each location has 256 lines, and a stack has 300 such locations. */
	b.n = s.n = 0;
	make_foreign(&b);
	add_location(&b, 1000, 0, 0, (uint64_t[256]){}, 256);
	for (unsigned i = 0; i < 300; i++)
		pb_uint(&s, SAMPLE_LOCATION_ID, 1000);
	pb_uint(&s, SAMPLE_VALUE, 1);
	add_message(&b, PROFILE_SAMPLE, &s);
	refuse(&b, "more than 65536 frames");
	free(b.v);
	free(gz.v);
	free(s.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_profiles_are_read),
		cmocka_unit_test(functions_without_ids_are_told_by_place),
		cmocka_unit_test(many_value_types_keep_the_default),
		cmocka_unit_test(go_profiles_are_read),
		cmocka_unit_test(every_cut_is_refused_or_harmless),
		cmocka_unit_test(bad_input_is_named),
		cmocka_unit_test(damaged_gzip_is_named),
		cmocka_unit_test(bombs_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
