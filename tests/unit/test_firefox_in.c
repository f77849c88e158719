/* SPDX-License-Identifier: BSD-2-Clause */
/* The Firefox Profiler's format read: tables of its versions, values, owners, and what is refused. */
#include "read_text.h"

#define META(version)                                                                              \
	"\"meta\":{\"preprocessedProfileVersion\":" version ",\"startTime\":1.5,"                  \
	"\"categories\":[{\"name\":\"Other\"},{\"name\":\"Kernel\"}]},"                            \
	"\"libs\":[{\"name\":\"z\",\"path\":\"/lib/libz.so.1\"}],"
#define STRINGS "\"stringArray\":[\"main\",\"/a/app.py\",\"deflate\",\"read\",\"<frozen x>\",\"f\"]"
#define STACKS(prefix)                                                                             \
	"\"stackTable\":{\"frame\":[0,1,2,3]," prefix ",\"length\":4},"                            \
	"\"frameTable\":{\"func\":[0,1,2,3],\"line\":[3,null,null,7],"                             \
	"\"column\":[5,null,null,null],\"category\":[0,0,1,0]"
#define FUNCS(file)                                                                                \
	"\"funcTable\":{\"name\":[0,2,3,5]," file ",\"lineNumber\":[1,null,null,null],"            \
	"\"resource\":[-1,0,-1,1]},\"resourceTable\":{\"name\":[2,4],\"lib\":[0,null]},"
#define PREFIX	"\"prefix\":[null,0,0,0]"
#define OFFSETS "\"prefixOffset\":[0,1,2,3]"

#define SAMPLES "\"samples\":{\"stack\":[1,0,2,1,null,3],\"time\":[0,1,2.5,3,4,5],"
#define OWNER	"\"pid\":\"12\",\"tid\":34,\"name\":\"Main\",\"processName\":\"app.py\","

/* The tables of each thread, of all threads, and as they are from 66 on. */
#define OLD(samples)                                                                               \
	"{" META("50") "\"threads\":[{" OWNER STACKS(PREFIX) "}," FUNCS(                           \
		"\"fileName\":[1,null,null,null]") STRINGS "," samples "}]}"
#define SHARED(version, prefix, samples)                                                           \
	"{" META(version) "\"shared\":{" STACKS(prefix) "}," FUNCS(                                \
		"\"source\":[0,null,null,null]") "\"sources\":{\"filename\":[1]}," STRINGS         \
						 "},\"threads\":[{" OWNER samples "}]}"

static const char folded[] = "[no frames] 1\nmain (/a/app.py:3) 1\n"
			     "main (/a/app.py:3);deflate (libz.so.1) 2\n"
			     "main (/a/app.py:3);f (<frozen x>:7) 1\n"
			     "main (/a/app.py:3);read ([kernel]) 1\n";

static void assert_folded(const char *text, const char *by, const char *want)
{
	assert_reads_as(text, &(struct render_options){.by = by}, want);
}

static void test_versions(void **state)
{
	assert_folded(OLD(SAMPLES "\"weight\":null}"), NULL, folded);
	assert_folded(SHARED("60", PREFIX, SAMPLES "\"weight\":null}"), NULL, folded);
	assert_folded(SHARED("66", OFFSETS, SAMPLES "\"length\":6}"), NULL, folded);
}

static int take_times(void *arg, const struct profile_sample *s)
{
	str_addf(arg, "%lld:%lld ", (long long)s->time_ns, (long long)s->values[0]);
	return 0;
}

static void assert_times(const char *text, const char *want)
{
	struct profile *p = read_text(text);
	_cleanup_str_ struct str got = {};

	assert_int_equal(profile_each(p, take_times, &got), 0);
	assert_string_equal(str_cstr(&got), want);
	assert_int_equal(profile_meta(p)->time_ns, 1500000);
	profile_free(p);
}

/* What weighs nothing is where a run ends; deltas add up. */
static void test_times_and_weights(void **state)
{
	assert_times(OLD("\"samples\":{\"weightType\":\"tracing-ms\",\"stack\":[0,1,0],"
			 "\"time\":[0.000001,2,4],\"weight\":[1.5,0,0.000002]}"),
		     "1:1500000 4000000:2 ");
	assert_times(OLD("\"samples\":{\"weight\":[2,3],\"stack\":[0,1],\"timeDeltas\":[10,2.5],"
			 "\"weightType\":\"samples\"}"),
		     "10000000:2 12500000:3 ");
}

static void test_owners(void **state)
{
	assert_folded(OLD("\"samples\":{\"stack\":[0]}"), "thread",
		      "Main (tid 34);main (/a/app.py:3) 1\n");
	assert_folded(OLD("\"samples\":{\"stack\":[0]}"), "process",
		      "app.py (pid 12);main (/a/app.py:3) 1\n");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"{\"meta\":{\"stackwalk\":1},\"threads\":[]}", "this is Firefox's raw profile"},
		{"{" META("1") "\"x\":1}", "threads: byte"},
		{"{" META("76") "\"threads\":[]}", "it is 76; krait knows the format up to 75"},
		{OLD("\"samples\":{\"stack\":[4]}"), "samples: byte 645: there is no such stack"},
		{OLD("\"samples\":{\"stack\":[-2]}"), "there is no such stack"},
		{SHARED("60", "\"prefix\":[1,0,null,null]", "\"samples\":{\"stack\":[1]}"),
		 "a stack's caller isn't before it in the table"},
		{SHARED("60", "\"prefix\":[0,0,null,null]", "\"samples\":{\"stack\":[0]}"),
		 "a stack's caller isn't before it in the table"},
		{SHARED("66", "\"prefixOffset\":[9,1,1,1]", "\"samples\":{\"stack\":[0]}"),
		 "a stack's caller isn't before it in the table"},
		{OLD("\"samples\":{\"stack\":[0],\"weight\":[-1]}"), "weight: byte"},
		{OLD("\"samples\":{\"stack\":[0],\"weight\":[]}"), "there are more stacks"},
		{OLD("\"samples\":{\"stack\":[0],\"time\":[\"x\"]}"), "time: byte"},
		{OLD("\"samples\":{\"stack\":[0],\"weightType\":\"x\"}"), "weightType: byte"},
		{OLD("\"samples\":{\"stack\":[0],\"timeDeltas\":[9999999999999]}"),
		 "doesn't fit in 64 bits"},
		{"{" META("50") "\"threads\":[{\"stackTable\":{\"frame\":[7]},\"samples\":{"
				"\"stack\":[0]}}]}",
		 "there is no such frame"},
		{"{" META("50") "\"threads\":[{\"samples\":1}]}", "samples: byte"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p;

		assert_int_equal(
			read_profile((const uint8_t *)cases[i].text, strlen(cases[i].text), &p),
			-EINVAL);
		if (!strstr(err_msg(), cases[i].want) || strncmp(err_msg(), "firefox: ", 9))
			fail_msg("case %zu: '%s' doesn't say '%s'", i, err_msg(), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_times_and_weights),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
