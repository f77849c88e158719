/* SPDX-License-Identifier: BSD-2-Clause */
/* Chrome's trace events and V8's .cpuprofile read: what slices and nodes become, and what is refused. */
#include "read_text.h"

#define TRACE(events) "{\"traceEvents\":[" events "]}"
#define EVENT(ph, name, ts, more)                                                                  \
	"{\"ph\":\"" ph "\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":" ts more "}"

#define FRAME(name, url, line)                                                                     \
	"\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"" url "\",\"lineNumber\":" line "}"
#define NODES                                                                                      \
	"\"nodes\":[{\"id\":1," FRAME(                                                             \
		"(root)", "",                                                                      \
		"-1") ",\"children\":[3,2]},"                                                      \
		      "{\"id\":2," FRAME("", "a.js",                                               \
					 "4") ",\"children\":[4]},"                                \
					      "{\"id\":3," FRAME(                                  \
						      "(garbage collector)", "",                   \
						      "-1") "},{\"id\":4," FRAME("f", "a.js",      \
										 "0") "}]"
#define SPAN "\"startTime\":100,\"endTime\":110,"

static void assert_folded(const char *text, const char *value, const char *want)
{
	assert_reads_as(text, &(struct render_options){.value = value}, want);
}

/* A list by itself may end anywhere between two events. */
static void test_slices(void **state)
{
	static const char want[] = "a 7000\na;b 3000\n";

	assert_folded(TRACE(EVENT("B", "a", "0", "") "," EVENT("B", "b", "2", "") "," EVENT(
			      "E", "", "5", "") "," EVENT("E", "", "10", "")),
		      NULL, want);
	assert_folded(
		TRACE(EVENT("X", "b", "2", ",\"dur\":3") "," EVENT("X", "a", "0", ",\"dur\":10")),
		NULL, want);
	assert_folded("[" EVENT("X", "a", "0", ",\"dur\":10") ",\n" EVENT("X", "b", "2",
									  ",\"dur\":3") ",\n",
		      NULL, want);
	/* Another thread's slices aren't inside, whatever their times; counters are no slices. */
	assert_folded(TRACE(EVENT("X", "a", "0", ",\"dur\":10") "," EVENT(
			      "C", "n", "1",
			      ",\"args\":{\"n\":1}") ","
						     "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,"
						     "\"tid\":3,\"ts\":2,\"dur\":3}"),
		      NULL, "a 10000\nb 3000\n");
}

/* What has no end, no beginning, or outlasts its caller is said. */
static void test_odd_slices(void **state)
{
	static const char odd[] =
		TRACE(EVENT("E", "", "0", "") "," EVENT("X", "a", "1", ",\"dur\":10") "," EVENT(
			"X", "b", "8", ",\"dur\":9") "," EVENT("B", "c", "20", ""));
	struct profile *p = read_text(odd);
	const struct profile_meta *m = profile_meta(p);

	assert_int_equal(m->comments.list.n, 2);
	assert_non_null(strstr(m->comments.list.v[0], "2 slices are left out"));
	assert_non_null(strstr(m->comments.list.v[1], "1 slices outlast"));
	profile_free(p);
	assert_folded(odd, NULL, "a 7000\na;b 3000\n");
}

static void test_cpuprofile(void **state)
{
	static const char text[] =
		"{" NODES "," SPAN "\"samples\":[4,2,4,3,1],\"timeDeltas\":[1,2,1,-1,3]}";
	struct profile *p;

	assert_folded(text, "samples",
		      "(anonymous) (a.js) 1\n(anonymous) (a.js);f (a.js) 2\n"
		      "(garbage collector) ([gc]) 1\n[no frames] 1\n");
	assert_folded(text, "time",
		      "(anonymous) (a.js) 1000\n(anonymous) (a.js);f (a.js) 2000\n"
		      "(garbage collector) ([gc]) 3000\n[no frames] 4000\n");
	p = read_text(text);
	assert_int_equal(profile_meta(p)->duration_ns, 10000);
	for (uint32_t id = 1; id <= profile_n_functions(p); id++) {
		const struct profile_function *f = profile_get_function(p, id);

		if (streq(profile_get_string(p, f->name), "(anonymous)") && f->start_line)
			assert_int_equal(f->start_line, 5);
	}
	profile_free(p);
}

/* V8's profile of thread 2, its chunks written by thread 3, in pieces; and a slice beside it. */
#define PROFILE_EVENT(name, tid, id, data)                                                         \
	"{\"args\":{\"data\":{" data "}},\"ph\":\"P\",\"name\":\"" name                            \
	"\",\"pid\":1,\"tid\":" tid ",\"ts\":150,\"id\":\"" id "\"}"
#define BEGIN(id)	    PROFILE_EVENT("Profile", "2", id, "\"startTime\":100")
#define CHUNK(id, data)	    PROFILE_EVENT("ProfileChunk", "3", id, data)
#define NODE(n, more, name) "{\"id\":" n more ",\"callFrame\":{\"functionName\":\"" name "\"}}"
#define CHUNK_A(id)                                                                                \
	CHUNK(id, "\"cpuProfile\":{\"nodes\":[" NODE("1", "", "(root)") "," NODE(                  \
			  "2", ",\"parent\":1", "f") "],\"samples\":[2,2]},\"timeDeltas\":[10,5]")
#define CHUNK_B(id)                                                                                \
	CHUNK(id, "\"timeDeltas\":[2,-1],\"cpuProfile\":{\"samples\":[3,2],\"nodes\":[" NODE(      \
			  "3", ",\"parent\":2", "g") "]}")
#define END(id) CHUNK(id, "\"endTime\":130")

static void test_profile_chunks(void **state)
{
	static const char alone[] =
		TRACE(CHUNK_A("1") "," BEGIN("1") "," CHUNK_B("1") "," END("1"));
	static const char beside[] =
		TRACE(BEGIN("1") "," CHUNK_A("1") "," EVENT("X", "a", "90", ",\"dur\":4"));
	static const char two[] =
		TRACE(BEGIN("1") "," BEGIN("2") "," CHUNK_A("1") "," CHUNK_A("2"));
	struct profile *p;

	assert_folded(alone, "samples", "f 3\nf;g 1\n");
	/* 110 to 115, 115 to 117; 117 to 116; 116 to 130 */
	assert_folded(alone, "time", "f 21000\n");
	assert_reads_as(alone, &(struct render_options){.by = "thread"},
			"tid 2;f 3\ntid 2;f;g 1\n");
	assert_folded(beside, "slices", "a 4000\n");
	assert_folded(beside, "time", "f 5000\n");
	assert_reads_as(two, &(struct render_options){.by = "profile"}, "1;f 2\n2;f 2\n");
	p = read_text(alone);
	assert_int_equal(profile_meta(p)->n_values, 2);
	assert_int_equal(profile_meta(p)->default_value, 1);
	profile_free(p);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{TRACE("1"), "trace: traceEvents: byte 16: an object is expected"},
		{TRACE(EVENT("X", "a", "0", ",\"dur\":-1")), "trace: dur: byte"},
		{TRACE("{\"ph\":\"B\",\"name\":\"a\"}"), "trace: ts: byte"},
		{TRACE(EVENT("B", "a", "5", "") "," EVENT("E", "a", "4", "")),
		 "a slice ends before it begins"},
		{TRACE(EVENT("B", "a", "9e18", "")), "trace: ts: byte"},
		{"[{\"ph\":\"B\"", "trace: traceEvents: byte"},
		{"{" NODES "}", "cpuprofile: the file: byte"},
		{"{" NODES ",\"samples\":[9],\"timeDeltas\":[1]}", "there is no such node"},
		{"{" NODES ",\"samples\":[1,1],\"timeDeltas\":[1]}", "there are more samples"},
		{"{\"nodes\":[{\"id\":1," FRAME("a", "", "0") ",\"children\":[1]}],\"samples\":[1],"
							      "\"timeDeltas\":[1]}",
		 "stacks are far deeper"},
		{"{\"nodes\":[{\"id\":1," FRAME("a", "", "0") ",\"children\":[2]}]}",
		 "one of them isn't in the list"},
		{"{\"nodes\":[{" FRAME("a", "", "0") "}]}", "a node needs one of its own"},
		{"{\"nodes\":[{\"id\":2,\"parent\":1," FRAME("a", "", "0") "}]}",
		 "no such node before"},
		{TRACE(CHUNK("1", "\"cpuProfile\":{\"samples\":[1]},\"timeDeltas\":[1]")),
		 "trace: samples: byte"},
		{TRACE(CHUNK_A("1") "," CHUNK("1", "\"cpuProfile\":{\"samples\":[2]}")),
		 "samples have none"},
		{TRACE(CHUNK_A("1") "," CHUNK_A("1")), "a node needs one of its own"},
		{TRACE(CHUNK_A("1") "," CHUNK("1", "\"cpuProfile\":{\"samples\":[2]},"
						   "\"timeDeltas\":[9e18]")),
		 "trace: timeDeltas: byte"},
		{TRACE(PROFILE_EVENT("Profile", "2", "1", "\"startTime\":9e18")),
		 "trace: startTime: byte"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p;

		assert_int_equal(
			read_profile((const uint8_t *)cases[i].text, strlen(cases[i].text), &p),
			-EINVAL);
		if (!strstr(err_msg(), cases[i].want))
			fail_msg("case %zu: '%s' doesn't say '%s'", i, err_msg(), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),	   cmocka_unit_test(test_odd_slices),
		cmocka_unit_test(test_cpuprofile), cmocka_unit_test(test_profile_chunks),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
