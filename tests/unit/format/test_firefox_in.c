/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads profiles in the Firefox Profiler's format: the tables of its versions, values, the threads
 * that samples belong to, faulty files.
 */
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

/*
 * Texts of profiles. OLD: each thread has tables of its own. SHARED: all threads share tables, as
 * in newer versions of the format.
 */
#define OLD(samples)                                                                               \
	"{" META("50") "\"threads\":[{" OWNER STACKS(PREFIX) "}," FUNCS(                           \
		"\"fileName\":[1,null,null,null]") STRINGS "," samples "}]}"
#define SHARED(version, prefix, samples)                                                           \
	"{" META(version) "\"shared\":{" STACKS(prefix) "}," FUNCS(                                \
		"\"source\":[0,null,null,null]") "\"sources\":{\"filename\":[1]}," STRINGS         \
						 "},\"threads\":[{" OWNER samples "}]}"

static const char folded[] = "[no stack] 1\nmain (/a/app.py:3) 1\n"
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
	assert_folded(OLD("\"samples\" : { \"stack\": [ 1, 0, 2, 1, null, 3], \"weight\": [1, "
			  "null, 1, 1, 1, 1]}"),
		      NULL, folded);
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

/*
 * A sample of weight 0 ends a series of samples. Each sample's time is given as the difference to
 * the one before.
 */
static void test_times_and_weights(void **state)
{
	assert_times(OLD("\"samples\":{\"weightType\":\"tracing-ms\",\"stack\":[0,1,0],"
			 "\"time\":[0.000001,2,4],\"weight\":[1.5,0,0.000002]}"),
		     "1:1500000 4000000:2 ");
	assert_times(OLD("\"samples\":{\"weight\":[2,3],\"stack\":[0,1],\"timeDeltas\":[10,2.5],"
			 "\"weightType\":\"samples\"}"),
		     "10000000:2 12500000:3 ");
}

static void assert_noted(const char *text, const char *want, const char *note)
{
	struct profile *p = read_text(text);

	assert_int_equal(profile_meta(p)->comments.list.n, 1);
	assert_string_equal(profile_meta(p)->comments.list.v[0], note);
	profile_free(p);
	assert_folded(text, NULL, want);
}

/* Each file has two samples, of which one is faulty. */
static void test_odd(void **state)
{
	static const char no_number[] =
		"mended: 1 time or weight, of a sample, that isn't a number or doesn't fit";

	assert_noted(OLD("\"samples\":{\"stack\":[0,9]}"), "main (/a/app.py:3) 1\n",
		     "left out: 1 sample whose stack isn't in the file");
	assert_noted(OLD("\"samples\":{\"stack\":[0,0],\"time\":[\"x\",1]}"),
		     "main (/a/app.py:3) 2\n", no_number);
	assert_noted(
		OLD("\"samples\":{\"stack\":[0,0],\"weightType\":\"bytes\",\"weight\":[NaN,3]}"),
		"main (/a/app.py:3) 4\n", no_number);
	assert_noted(OLD("\"samples\":{\"stack\":[0,0],\"timeDeltas\":[9999999999999,null]}"),
		     "main (/a/app.py:3) 2\n", no_number);
	assert_folded(OLD("\"samples\":{\"stack\":[0,0],\"weight\":[0.5,null]}"), NULL,
		      "main (/a/app.py:3) 1.5\n");
	assert_folded(OLD("\"samples\":{\"stack\":[0,0],\"weight\":[-3,1]}"), NULL,
		      "main (/a/app.py:3) -2\n");
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
		{OLD("\"samples\":{\"stack\":[-2]}"),
		 "stack: byte 644: the value is neither null nor in -1..2147483647"},
		{OLD("\"samples\":{\"stack\":[2147483648]}"),
		 "stack: byte 644: the value is neither"},
		{SHARED("60", "\"prefix\":[1,0,null,null]", "\"samples\":{\"stack\":[1]}"),
		 "a stack's caller isn't before it in the table"},
		{SHARED("60", "\"prefix\":[0,0,null,null]", "\"samples\":{\"stack\":[0]}"),
		 "a stack's caller isn't before it in the table"},
		{SHARED("66", "\"prefixOffset\":[9,1,1,1]", "\"samples\":{\"stack\":[0]}"),
		 "a stack's caller isn't before it in the table"},
		{OLD("\"samples\":{\"stack\":[0],\"weight\":[]}"), "there are more stacks"},
		{OLD("\"samples\":{\"stack\":[0],\"weightType\":\"x\"}"), "weightType: byte"},
		{"{" META("50") "\"threads\":[{\"stackTable\":{\"frame\":[7]},\"samples\":{"
				"\"stack\":[0]}}]}",
		 "frame: byte 189: the table has no such row"},
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

/*
 * Replaces one number in the file by @with. Checks that the file is refused, and that the message
 * names the list and the index of the number.
 */
static void assert_refused_at(const char *list, size_t item, const char *with)
{
	static const char text[] = "{" META(
		"70") "\"shared\":{\"stackTable\":{\"frame\":[0,1],\"prefix\":[null,0]},"
		      "\"frameTable\":{\"func\":[0,1],\"line\":[1,2],\"column\":[1,2],\"category\":"
		      "[0,1],"
		      "\"lib\":[null,0]},\"funcTable\":{\"name\":[0,1],\"source\":[0,null],"
		      "\"resource\":[-1,0],\"lineNumber\":[1,null]},\"resourceTable\":{\"name\":[0]"
		      ","
		      "\"lib\":[0]},\"sources\":{\"filename\":[1]},\"stringArray\":[\"a\",\"b\"]},"
		      "\"threads\":[{\"samples\":{\"stack\":[0,1]}}]}";
	_cleanup_str_ struct str key = {}, b = {}, want = {};
	struct profile *p;
	const char *at;
	size_t n;

	profile_free(read_text(text));
	str_addf(&key, "\"%s\":[", list);
	/* two lists of the file are called "name"; the test means that of funcTable */
	at = strstr(streq(list, "name") ? strstr(text, "funcTable") : text, str_cstr(&key));
	assert_non_null(at);
	for (at += key.n; item; item--)
		at = strchr(at, ',') + 1;
	n = strcspn(at, ",]");
	str_add_n(&b, text, (size_t)(at - text));
	str_add(&b, with);
	str_add(&b, at + n);
	str_addf(&want, "firefox: %s: byte %zu", list, (size_t)(at - text));
	if (!read_profile((const uint8_t *)str_cstr(&b), b.n, &p))
		fail_msg("%s may be %s", list, with);
	if (strncmp(err_msg(), str_cstr(&want), want.n) || err_msg()[want.n] != ':')
		fail_msg("'%s' isn't '%s'", err_msg(), str_cstr(&want));
}

/* Only null and -1 mean that a reference leads nowhere. Other impossible references are refused. */
static void test_references(void **state)
{
	static const char *const lists[] = {"frame", "prefix",	 "func", "category", "lib",
					    "name",  "filename", "line", "column",   "lineNumber"};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		bool number = streq(lists[i], "line") || streq(lists[i], "column") ||
			      streq(lists[i], "lineNumber");

		assert_refused_at(lists[i], 0, "\"0\"");
		assert_refused_at(lists[i], 0, "-2");
		assert_refused_at(lists[i], 0, "2147483648");
		if (!number)
			assert_refused_at(lists[i], 0, "9");
	}
	assert_refused_at("stack", 1, "\"0\"");
	assert_refused_at("prefix", 1, "1");
	assert_refused_at("prefix", 1, "5");
	assert_refused_at("frame", 1, "null");
	assert_refused_at("func", 1, "-1");
	assert_refused_at("source", 0, "1");
	assert_refused_at("resource", 1, "[0]");
	assert_refused_at("resource", 1, "1");
}

/* If each thread has tables of its own, the references of all threads are read. */
static void test_references_of_threads(void **state)
{
	static const char thread[] = "{\"stackTable\":{\"frame\":[0],\"prefix\":[null]},"
				     "\"frameTable\":{\"func\":[0]},\"funcTable\":{\"name\":[%d]},"
				     "\"stringArray\":[\"a\"],\"samples\":{\"stack\":[0]}}";
	_cleanup_str_ struct str b = {};
	struct profile *p;

	str_add(&b, "{" META("50") "\"threads\":[");
	str_addf(&b, thread, 0);
	str_add_c(&b, ',');
	str_addf(&b, thread, 1);
	str_add(&b, "]}");
	assert_int_equal(read_profile((const uint8_t *)str_cstr(&b), b.n, &p), -EINVAL);
	assert_non_null(strstr(err_msg(), "firefox: name: byte"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_times_and_weights),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_references_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
