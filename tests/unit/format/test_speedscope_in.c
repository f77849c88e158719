/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads profiles in speedscope's format: both kinds of profiles, units, the threads and processes
 * that profiles belong to, and files that are refused.
 */
#include "read_text.h"

#include "format/speedscope/speedscope_in.h"

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

/*
 * As in a file of py-spy, the table of frames is at the end. Stacks begin with the outermost frame.
 */
static void test_sampled(void **state)
{
	struct profile *p;

	assert_folded(FILE_OF(SAMPLED("none", "\"samples\":[[0,1],[0],[0,2],[0,1],[]],"
					      "\"weights\":[1,2,3,4,5]")),
		      NULL,
		      "[no stack] 5\nmain (/a/app.py:3) 2\n"
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

/*
 * Reads a file of two profiles: @profile, which has a fault, and a right one with samples of
 * weights 1 and 3. @want: the folded stacks. @notes: the comments that must result, separated by
 * "|".
 */
static void assert_odd(const char *profile, const char *want, const char *notes)
{
	_cleanup_str_ struct str text = {}, got = {};
	struct profile *p;

	str_addf(&text, FILE_OF(SAMPLED("none", "\"samples\":[[0],[0,1]],\"weights\":[1,3]") ",%s"),
		 profile);
	assert_folded(str_cstr(&text), NULL, want);
	p = read_text(str_cstr(&text));
	vec_foreach(note, &profile_meta(p)->comments.list)
		str_addf(&got, "%s%s", got.n ? "|" : "", *note);
	assert_string_equal(str_cstr(&got), notes);
	profile_free(p);
}

#define MAIN			  "main (/a/app.py:3)"
#define BOTH			  MAIN " 1\n" MAIN ";deflate (libz.so.1) 3\n"
#define EVENT_OF(type, frame, at) "{\"type\":\"" type "\",\"frame\":" frame ",\"at\":" at "}"
#define COUNTED(events)		  "{\"type\":\"evented\",\"unit\":\"none\",\"events\":[" events "]}"

static void test_odd(void **state)
{
	static const char no_profile[] = "left out: 1 profile that is neither sampled nor evented";
	static const char no_weight[] =
		"left out: 1 sample without a weight, or a weight without a sample";
	static const char no_frame[] = "left out: 1 sample with frames that aren't in the file";
	static const char no_event[] =
		"left out: 1 event without a frame, a time or a type that exists";

	assert_odd("{}", BOTH, no_profile);
	assert_odd("{\"type\":\"x\",\"unit\":\"none\"}", BOTH, no_profile);
	assert_odd(SAMPLED("none", "\"samples\":[]"), BOTH, no_profile);
	assert_odd(SAMPLED("none", "\"samples\":[[0]],\"weights\":[]"), BOTH, no_weight);
	assert_odd(SAMPLED("none", "\"samples\":[],\"weights\":[1]"), BOTH, no_weight);
	assert_odd(SAMPLED("none", "\"samples\":[[0]],\"weights\":[NaN]"), BOTH, no_weight);
	assert_odd(SAMPLED("none", "\"samples\":[[0]],\"weights\":[1e99]"), BOTH, no_weight);
	assert_odd(SAMPLED("none", "\"samples\":[[0]],\"weights\":[\"2\"]"),
		   MAIN " 3\n" MAIN ";deflate (libz.so.1) 3\n", "");
	assert_odd(SAMPLED("none", "\"samples\":[[0,3,1]],\"weights\":[1]"), BOTH, no_frame);
	assert_odd(SAMPLED("none", "\"samples\":[[-1]],\"weights\":[1]"), BOTH, no_frame);
	assert_odd(SAMPLED("parsecs", "\"samples\":[[0]],\"weights\":[1]"),
		   MAIN " 2\n" MAIN ";deflate (libz.so.1) 3\n",
		   "mended: 1 profile of an unknown unit: read as counts");
	assert_odd(COUNTED("{\"type\":\"O\",\"at\":1}"), BOTH, no_event);
	assert_odd(COUNTED(EVENT_OF("X", "0", "1")), BOTH, no_event);
	assert_odd(COUNTED(EVENT_OF("O", "9", "1")), BOTH, no_event);
	assert_odd(COUNTED(EVENT_OF("C", "0", "1")), BOTH,
		   "left out: 1 event that opens or closes a frame without its counterpart");
	assert_odd(COUNTED(EVENT_OF("O", "0", "2") "," EVENT_OF("C", "0", "1")), BOTH,
		   "mended: 1 event earlier than the event before it, moved to that event's time");
	assert_odd(COUNTED(EVENT_OF("O", "0", "2") "," EVENT_OF("O", "1",
								"4") "," EVENT_OF("C", "0", "9")),
		   MAIN " 3\n" MAIN ";deflate (libz.so.1) 8\n",
		   "mended: 1 frame closed with its caller");
}

/* Counts keep their fractions. If one count is too large for a fraction, all counts are rounded. */
static void test_fractions(void **state)
{
	struct profile *p;

	assert_folded(FILE_OF(SAMPLED("none", "\"samples\":[[0],[0],[1]],\"weights\":[0.4,0.4,2]")),
		      NULL, "deflate (libz.so.1) 2\nmain (/a/app.py:3) 0.8\n");
	assert_folded(FILE_OF(COUNTED(EVENT_OF("O", "0", "0.25") "," EVENT_OF("C", "0", "0.5"))),
		      NULL, "main (/a/app.py:3) 0.25\n");
	p = read_text(FILE_OF(
		SAMPLED("none", "\"samples\":[[0],[1]],\"weights\":[0.6,9000000000000000000]")));
	assert_string_equal(profile_meta(p)->values[0].unit, "count");
	assert_string_equal(profile_meta(p)->comments.list.v[0],
			    "mended: counts are rounded: some are too large for fractions");
	profile_free(p);
}

#define OF_AUSTIN(name, unit, weight)                                                              \
	"{\"name\":\"" name "\",\"type\":\"sampled\",\"unit\":\"" unit                             \
	"\",\"samples\":[[0]],\"weights\":[" weight "]}"

/*
 * A file as austin2speedscope -f writes it: each thread has a profile of its running time, of its
 * waiting time and of its memory.
 */
static void test_values(void **state)
{
	static const char austin[] =
		FILE_OF(OF_AUSTIN("Wall time profile for 7:8", "microseconds", "9") "," OF_AUSTIN(
			"CPU time profile for 7:8", "microseconds",
			"4") "," OF_AUSTIN("Memory allocation profile for 7:8", "bytes",
					   "100") "," OF_AUSTIN("Memory deallocation "
								"profile for 7:8",
								"bytes", "30"));
	static const char five[] =
		FILE_OF(OF_AUSTIN("a", "none", "1") "," OF_AUSTIN("b", "bytes", "2") "," OF_AUSTIN(
			"c", "seconds",
			"3") "," OF_AUSTIN("CPU time profile for 1", "seconds",
					   "4") "," OF_AUSTIN("Memory allocation profile "
							      "for 1",
							      "bytes", "5"));
	static const struct {
		const char *value, *want;
	} cases[] = {{"wall", "8;main (/a/app.py:3) 9000\n"},
		     {"cpu", "8;main (/a/app.py:3) 4000\n"},
		     {"allocated", "8;main (/a/app.py:3) 100\n"},
		     {"freed", "8;main (/a/app.py:3) 30\n"}};
	struct profile *p = read_text(austin);

	assert_string_equal(profile_meta(p)->values[profile_meta(p)->default_value].type, "cpu");
	profile_free(p);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_reads_as(austin,
				&(struct render_options){.value = cases[i].value, .by = "tid"},
				cases[i].want);
	assert_reads_as(five, &(struct render_options){.value = "bytes"}, MAIN " 2\n");
	assert_reads_as(five, &(struct render_options){.value = "time"}, MAIN " 3000000000\n");
	p = read_text(five);
	assert_int_equal(profile_meta(p)->n_values, 5);
	assert_int_equal(profile_meta(p)->comments.list.n, 0);
	profile_free(p);
}

#define OF_KRAIT(type, value_unit, unit, weight)                                                   \
	"{\"name\":\"" type ": a (pid 1)\",\"valueType\":\"" type "\",\"valueUnit\":\"" value_unit \
	"\",\"type\":\"sampled\",\"unit\":\"" unit "\",\"samples\":[[0]],\"weights\":[" weight     \
	"]}"

/*
 * In a file that krait wrote, members of krait's own say what a value is. The first value is the
 * default. Weights in another unit of time are converted, whatever the member "valueUnit" says.
 */
static void test_value_types(void **state)
{
	static const char text[] = FILE_OF(OF_KRAIT("faults", "pages", "none", "3") "," OF_KRAIT(
		"wall", "microseconds", "microseconds", "9") "," OF_KRAIT("hits", "count", "none",
									  "5"));
	static const struct {
		const char *value, *want;
	} cases[] = {{"faults", "1;" MAIN " 3\n"},
		     {"wall", "1;" MAIN " 9000\n"},
		     {"hits", "1;" MAIN " 5\n"}};
	struct profile *p = read_text(text);
	struct profile_meta *m = profile_meta(p);

	assert_int_equal(m->n_values, 3);
	assert_int_equal(m->default_value, 0);
	assert_string_equal(m->values[0].unit, "pages");
	assert_string_equal(m->values[1].unit, "nanoseconds");
	assert_string_equal(m->values[2].unit, "count");
	profile_free(p);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_reads_as(text,
				&(struct render_options){.value = cases[i].value, .by = "pid"},
				cases[i].want);
}

/*
 * If a file has more value types than a profile can have, the rest are left out. A comment says how
 * many.
 */
static void test_too_many_values(void **state)
{
	_cleanup_str_ struct str text = {};
	struct profile *p;

	str_add(&text, "{" SCHEMA ",\"profiles\":[");
	for (unsigned i = 0; i < PROFILE_MAX_VALUES + 3; i++)
		str_addf(&text,
			 "%s{\"valueType\":\"v%u\",\"type\":\"sampled\",\"unit\":\"none\","
			 "\"samples\":[[0]],\"weights\":[%u]}",
			 i ? "," : "", i, 1 + i);
	str_add(&text, "]," TABLE "}");
	p = read_text(str_cstr(&text));
	assert_int_equal(profile_meta(p)->n_values, PROFILE_MAX_VALUES);
	assert_string_equal(profile_meta(p)->comments.list.v[0],
			    "left out: 3 profiles of a further kind of value, which "
			    "krait has no room for");
	profile_free(p);
	assert_reads_as(str_cstr(&text), &(struct render_options){.value = "v15"}, MAIN " 16\n");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"{" SCHEMA "}", "profiles: byte 64: the file lacks this member"},
		{"{" SCHEMA ",\"profiles\":[", "speedscope: the file: byte"},
		{FILE_OF("1"), "profiles: byte 76: an object is expected"},
		{FILE_OF("{\"type\":\"sampled\""), "speedscope: the file: byte"},
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
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_evented),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_value_types),
		cmocka_unit_test(test_too_many_values),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
