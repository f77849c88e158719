/* SPDX-License-Identifier: BSD-2-Clause */
/* speedscope's format read: both kinds of profiles, units, whose a profile is, and what is refused. */
#include "read_text.h"

#include "profile/speedscope_in.h"

#define SCHEMA "\"$schema\":\"https://www.speedscope.app/file-format-schema.json\""
#define TABLE                                                                                      \
	"\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"/a/app.py\",\"line\":3,\"col\":5}," \
	"{\"name\":\"deflate\",\"file\":\"/lib/libz.so.1\"},"                                      \
	"{\"name\":\"read\",\"file\":\"[kernel]\",\"line\":null}]}"
#define FILE_OF(profiles)    "{" SCHEMA ",\"profiles\":[" profiles "]," TABLE "}"
#define SAMPLED(unit, lists) "{\"type\":\"sampled\",\"unit\":\"" unit "\"," lists "}"
#define EVENTED(events)	     "{\"type\":\"evented\",\"unit\":\"milliseconds\",\"events\":[" events "]}"

static void assert_folded(const char *text, const char *by, const char *want)
{
	assert_reads_as(text, &(struct render_options){.by = by}, want);
}

/* The frames come last, as py-spy writes them; root first. */
static void test_sampled(void **state)
{
	struct profile *p;

	assert_folded(FILE_OF(SAMPLED("none", "\"samples\":[[0,1],[0],[0,2],[0,1],[]],"
					      "\"weights\":[1,2,3,4,5]")),
		      NULL,
		      "[no frames] 5\nmain (/a/app.py:3) 2\n"
		      "main (/a/app.py:3);deflate (libz.so.1) 5\n"
		      "main (/a/app.py:3);read ([kernel]) 3\n");
	p = read_text(FILE_OF(SAMPLED("none", "\"weights\":[1],\"samples\":[[0]]")));
	assert_int_equal(profile_get_location(p, 1)->column, 5);
	assert_string_equal(profile_meta(p)->values[0].unit, "count");
	profile_free(p);
}

static void test_evented(void **state)
{
	assert_folded(FILE_OF(EVENTED("{\"type\":\"O\",\"frame\":0,\"at\":1},"
				      "{\"type\":\"O\",\"frame\":1,\"at\":1.5},"
				      "{\"type\":\"C\",\"frame\":1,\"at\":3.5},"
				      "{\"type\":\"C\",\"frame\":0,\"at\":4},"
				      "{\"type\":\"O\",\"frame\":2,\"at\":9},"
				      "{\"type\":\"C\",\"frame\":2,\"at\":9.25}")),
		      NULL,
		      "main (/a/app.py:3) 1000000\n"
		      "main (/a/app.py:3);deflate (libz.so.1) 2000000\nread ([kernel]) 250000\n");
}

static void test_units(void **state)
{
	static const struct {
		const char *unit, *weight;
		int64_t want;
	} cases[] = {{"seconds", "0.005", 5000000},
		     {"seconds", "1e-9", 1},
		     {"milliseconds", "1.5E+1", 15000000},
		     {"microseconds", "0.0004", 0},
		     {"microseconds", "0.0005", 1},
		     {"nanoseconds", "9007199254740993", 9007199254740993},
		     {"nanoseconds", "9223372036854775000", 9223372036854775000},
		     {"seconds", "0.30000000000000004", 300000000},
		     {"bytes", "12", 12}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_str_ struct str text = {};
		_cleanup_free_ struct profile_sum *sums = NULL;
		struct profile *p;
		size_t n;

		str_addf(&text, FILE_OF(SAMPLED("%s", "\"samples\":[[0]],\"weights\":[%s]")),
			 cases[i].unit, cases[i].weight);
		p = read_text(str_cstr(&text));
		assert_int_equal(profile_sums(p, &sums, &n), 0);
		assert_int_equal(n, 1);
		assert_int_equal(sums[0].values[0], cases[i].want);
		profile_free(p);
	}
}

static void assert_owner(const char *name, const char *by, const char *want)
{
	_cleanup_str_ struct str text = {}, line = {};

	str_addf(&text,
		 FILE_OF("{\"name\":\"%s\",\"type\":\"sampled\",\"unit\":\"none\","
			 "\"samples\":[[1]],\"weights\":[1]}," SAMPLED("none", "\"samples\":[],"
									       "\"weights\":[]")),
		 name);
	str_addf(&line, "%s;deflate (libz.so.1) 1\n", want);
	assert_folded(str_cstr(&text), by, str_cstr(&line));
}

static void test_owners(void **state)
{
	assert_owner("app.py (pid 12) \xc2\xb7 Main (tid 34)", "thread", "Main (tid 34)");
	assert_owner("app.py (pid 12) \xc2\xb7 Main (tid 34)", "process", "app.py (pid 12)");
	assert_owner("app.py (pid 12) \xc2\xb7 (tid 34)", "thread", "tid 34");
	assert_owner("(pid 12) \xc2\xb7 Main (tid 34)", "process", "pid 12");
	assert_owner("Process 12 Thread 0x7f \\\"a b\\\"", "tid", "0x7f");
	assert_owner("Process 12 Thread 0x7f \\\"a b\\\"", "pid", "12");
	assert_owner("Thread 34 \\\"a b\\\"", "thread", "a b (tid 34)");
	assert_owner("Thread", "thread", "Thread");
	assert_owner("gpu", "thread", "gpu");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"{" SCHEMA "}", "profiles: byte 64: the file has none"},
		{"{" SCHEMA ",\"profiles\":[", "speedscope: the file: byte"},
		{FILE_OF("1"), "profiles: byte 76: an object is expected"},
		{FILE_OF("{}"), "unit: byte 78: it is none of"},
		{FILE_OF(SAMPLED("none", "\"samples\":[]")), "one has no samples or no weights"},
		{FILE_OF(SAMPLED("none", "\"samples\":[[0]],\"weights\":[]")),
		 "there are more samples than weights"},
		{FILE_OF(SAMPLED("none", "\"samples\":[],\"weights\":[1]")),
		 "there are more weights than samples"},
		{FILE_OF(SAMPLED("none", "\"samples\":[[3]],\"weights\":[1]")),
		 "samples: byte 121: there is no such frame"},
		{FILE_OF(SAMPLED("none", "\"samples\":[[-1]],\"weights\":[1]")), "no such frame"},
		{FILE_OF(SAMPLED("none", "\"samples\":[[0]],\"weights\":[-1]")),
		 "weights: byte 137: it is below 0"},
		{FILE_OF(SAMPLED("none", "\"samples\":[[0]],\"weights\":[1e99]")),
		 "doesn't fit in 64 bits"},
		{FILE_OF(SAMPLED("seconds", "\"samples\":[[0]],\"weights\":[9999999999.5]")),
		 "doesn't fit in 64 bits"},
		{FILE_OF(SAMPLED("none", "\"samples\":[[0]],\"weights\":[1e]")),
		 "a number is expected"},
		{FILE_OF(SAMPLED("none", "\"samples\":[],\"weights\":[]") "," SAMPLED(
			 "bytes", "\"samples\":[],\"weights\":[]")),
		 "it isn't what the profiles before have"},
		{FILE_OF("{\"type\":\"x\",\"unit\":\"none\"}"), "neither sampled nor evented"},
		{FILE_OF(EVENTED("{\"type\":\"O\",\"at\":1}")), "one has no frame"},
		{FILE_OF(EVENTED("{\"type\":\"X\",\"frame\":0,\"at\":1}")), "neither O nor C"},
		{FILE_OF(EVENTED("{\"type\":\"C\",\"frame\":0,\"at\":1}")), "isn't the innermost"},
		{FILE_OF(EVENTED("{\"type\":\"O\",\"frame\":0,\"at\":2},"
				 "{\"type\":\"C\",\"frame\":0,\"at\":1}")),
		 "at: byte"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p;

		assert_int_equal(
			read_profile((const uint8_t *)cases[i].text, strlen(cases[i].text), &p),
			-EINVAL);
		if (!strstr(err_msg(), cases[i].want) || strncmp(err_msg(), "speedscope: ", 12))
			fail_msg("case %zu: '%s' doesn't say '%s'", i, err_msg(), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampled), cmocka_unit_test(test_evented),
		cmocka_unit_test(test_units),	cmocka_unit_test(test_owners),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
