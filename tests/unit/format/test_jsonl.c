/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads JSON Lines: a profile is written and read back unchanged, and faulty files are refused with
 * a message.
 */
#include "render_profile.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "format/common/options.h"
#include "format/format.h"
#include "format/jsonl/jsonl_in.h"

#define HEAD                                                                                       \
	"{\"type\":\"krait\",\"version\":1,\"sample_types\":[{\"type\":\"samples\",\"unit\":"      \
	"\"count\"}],\"default_sample_type\":0}\n"
#define PYTHON "{\"type\":\"mapping\",\"id\":1,\"name\":\"[python]\"}\n"
#define NATIVE "{\"type\":\"mapping\",\"id\":2,\"name\":\"/lib/x.so\"}\n"

static char *written(struct profile *p)
{
	struct render_options opt = {.times = PROFILE_TIMES_EXACT};
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(render_by_name("jsonl")->write(p, f, &opt), 0);
	fclose(f);
	return text;
}

static void assert_refused(const char *text, const char *want)
{
	struct profile *p = NULL;
	int r = jsonl_read((const uint8_t *)text, strlen(text), &p);

	assert_null(p);
	assert_int_equal(r, -EINVAL);
	if (!strstr(err_msg(), want))
		fail_msg("'%s' doesn't say '%s'", err_msg(), want);
}

/*
 * Makes a profile with a native frame, a function inlined into it, odd characters, a sample without
 * a time, and a sample without frames.
 */
static struct profile *odd_profile(void)
{
	struct profile *p = test_profile();
	struct test_frame f = {"outer", NULL, 0, KIND_NATIVE, "outer", 0x10};
	struct profile_location l;
	uint32_t stack[2];
	struct profile_sample s = {.time_ns = 123456789, .values = {3, INT64_MAX}};
	char name[4001];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	stack[1] = test_location(p, &f);
	l = *profile_get_location(p, stack[1]);
	l.outer = stack[1];
	profile_ran_before(p, l.function, 77);
	l.line = 3;
	l.column = 5;
	l.end_line = 4;
	l.end_column = 2;
	stack[0] = profile_location(p, &l);
	s.stack = profile_stack(p, stack, 2);
	assert_int_equal(profile_add(p, &s), 0);
	test_sample(p,
		    FRAMES({"a;b\n\"\\\xff\xe2\x80\xa8\xf0\x9f\x98\x80\x01", "/x\ty.py", 3},
			   {name, "", 0},
			   {"", NULL, 0, KIND_NATIVE, .address = 0xffffffff81000010}),
		    LABELS("pid", "1", "thread", "w;\n"), 2);
	test_sample(p, NO_FRAMES, NULL, 1);
	assert_int_equal(comments_add(&profile_meta(p)->comments, "a \"note\"\n"), 0);
	return p;
}

static void test_round_trip(void **state)
{
	struct profile *p = odd_profile(), *back = NULL;
	_cleanup_free_ char *first = written(p), *second = NULL;

	profile_free(p);
	assert_non_null(strstr(first, "\"line\":3,\"column\":5,\"end_line\":4,\"end_column\":2"));
	assert_non_null(strstr(first, ",\"ran_before\":77,"));
	assert_true(jsonl_probe((const uint8_t *)first, strlen(first)));
	if (jsonl_read((const uint8_t *)first, strlen(first), &back))
		fail_msg("%s", err_msg());
	assert_int_equal(profile_n_samples(back), 3);
	second = written(back);
	assert_string_equal(first, second);
	profile_free(back);
}

/*
 * Reads JSON Lines of other programs: they have other spaces, another order of members, escapes,
 * and additional members.
 */
static void test_other_writers(void **state)
{
	static const char text[] =
		" { \"type\" : \"krait\" , \"more\":[{\"a\":[1,2.5e3,null]},true],\"version\":1,"
		"\"sample_types\":[ {\"unit\":\"count\",\"type\":\"samples\"} ] }\r\n\n"
		"{\"name\":\"[python]\",\"id\":7,\"type\":\"mapping\"}\n"
		"{\"type\":\"news\",\"values\":[1]}\n"
		"{\"type\":\"frame\",\"mapping\":7,\"id\":9,\"name\":\"\\u0066\\ud83d\\ude00"
		"\\ud800x\\u0000\"}\n"
		"{\"type\":\"stack\",\"id\":5,\"frames\":[9,9]}\n"
		"{\"values\":[4],\"stack\":5,\"type\":\"sample\"}";
	struct profile *p = NULL;

	assert_true(jsonl_probe((const uint8_t *)text, strlen(text)));
	if (jsonl_read((const uint8_t *)text, strlen(text), &p))
		fail_msg("%s", err_msg());
	assert_int_equal(profile_n_samples(p), 1);
	assert_string_equal(profile_get_string(p, profile_get_function(p, 1)->name),
			    "f\xf0\x9f\x98\x80\xef\xbf\xbdx\xef\xbf\xbd");
	profile_free(p);
	assert_false(jsonl_probe((const uint8_t *)"{\"exporter\":\"krait\"}", 20));
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "line 1: the file is empty"},
		{"{\"type\":\"sample\"}", "line 1: type: the first line must have the type krait"},
		{"{\"type\":\"krait\",\"version\":2}",
		 "line 1: version: this krait reads version 1"},
		{"{\"type\":\"krait\",\"version\":1}", "line 1: sample_types: there must be one"},
		{HEAD HEAD, "line 2: type: a second line has the type krait"},
		{HEAD "{}", "line 2: type: the line lacks this member"},
		{HEAD "[1]", "line 2: the line: byte 0: an object is expected"},
		{HEAD "{\"type\":\"mapping\"", "line 2: type: byte 17: a comma or the end"},
		{HEAD "{\"type\":\"mapping\",\"id\":1.5}", "line 2: id: byte 24: a whole number"},
		{HEAD "{\"type\":\"mapping\",\"id\":92233720368547758080}", "line 2: id: byte"},
		{HEAD "{\"type\":\"mapping\"} x", "line 2: type: byte 19: nothing more"},
		{HEAD "{\"type\":\"mapping\"}", "line 2: id: a number above 0"},
		{HEAD "{\"type\":\"map\nping\"}", "line 2: type: byte 12: the string doesn't end"},
		{HEAD "{\"type\":\"a\\x\"}", "line 2: type: byte 11: there is no such escape"},
		{HEAD "{\"type\":\"a\\u12g4\"}", "line 2: type: byte 14: \\u needs four"},
		{HEAD PYTHON PYTHON, "line 3: id: id 1 is used twice"},
		{HEAD "{\"type\":\"mapping\",\"id\":1,\"start\":\"12\"}",
		 "line 2: start: the value isn't"},
		{HEAD "{\"type\":\"frame\",\"id\":1,\"mapping\":1}",
		 "line 2: mapping: no line before this one defines id 1"},
		{HEAD PYTHON "{\"type\":\"frame\",\"id\":1,\"mapping\":1}",
		 "line 3: name: a Python frame, or one without a file"},
		{HEAD PYTHON "{\"type\":\"frame\",\"id\":1,\"mapping\":1,\"name\":\"f\"}\n" NATIVE
			     "{\"type\":\"frame\",\"id\":2,\"mapping\":2,\"name\":\"g\","
			     "\"inlined_into\":1}",
		 "line 5: inlined_into: both frames need the same mapping"},
		{HEAD PYTHON "{\"type\":\"frame\",\"id\":1,\"mapping\":1,\"name\":\"f\"}\n"
			     "{\"type\":\"frame\",\"id\":2,\"mapping\":1,\"name\":\"g\","
			     "\"inlined_into\":1}\n{\"type\":\"stack\",\"id\":1,\"frames\":[2,1]}",
		 "line 5: frames: the frame that 2 was inlined into"},
		{HEAD "{\"type\":\"stack\",\"id\":1,\"frames\":[4]}",
		 "line 2: frames: no line before this one defines id 4"},
		{HEAD "{\"type\":\"labels\",\"id\":1,\"labels\":{}}",
		 "line 2: labels: there must be"},
		{HEAD "{\"type\":\"sample\",\"values\":[1,2]}", "line 2: values: 2 values for 1"},
		{HEAD "{\"type\":\"sample\",\"values\":[1],\"time\":-1}",
		 "line 2: time: it is below"},
		{HEAD "{\"type\":\"sample\",\"values\":[1],\"stack\":3}",
		 "line 2: stack: no line before"},
		{HEAD "{\"type\":\"sample\",\"values\":[1],\"x\":{]}",
		 "line 2: x: byte 35: brackets"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_refused(cases[i].text, cases[i].want);
}

/* Adds a frame with a chain of @n functions, each of them inlined into the one before. */
static void add_inlined(struct str *b, unsigned n)
{
	str_add(b, HEAD PYTHON "{\"type\":\"frame\",\"id\":1,\"mapping\":1,\"name\":\"f\"}\n");
	for (unsigned i = 2; i <= n; i++)
		str_addf(b,
			 "{\"type\":\"frame\",\"id\":%u,\"mapping\":1,\"name\":\"f\",\"inlined_"
			 "into\":%u}\n",
			 i, i - 1);
}

/* A frame may have as many inlined functions as one location of pprof can hold. */
static void test_inlined(void **state)
{
	_cleanup_str_ struct str most = {}, more = {};
	struct profile *p;

	add_inlined(&most, PROFILE_MAX_INLINED);
	assert_int_equal(jsonl_read((const uint8_t *)str_cstr(&most), most.n, &p), 0);
	assert_int_equal(profile_n_inlined(p, PROFILE_MAX_INLINED), PROFILE_MAX_INLINED);
	profile_free(p);
	add_inlined(&more, PROFILE_MAX_INLINED + 1);
	assert_refused(str_cstr(&more), "line 259: inlined_into: more than 256 inlined calls");
}

static void test_deep(void **state)
{
	_cleanup_str_ struct str b = {};

	str_add(&b, HEAD "{\"type\":\"x\",\"y\":");
	for (unsigned i = 0; i < 100000; i++)
		str_add_c(&b, '[');
	assert_refused(str_cstr(&b), "line 2: y: byte 4112: nested too deeply");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_other_writers),
		cmocka_unit_test(test_refused),	   cmocka_unit_test(test_deep),
		cmocka_unit_test(test_inlined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
