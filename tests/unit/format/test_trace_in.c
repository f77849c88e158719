/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Chrome's trace events and V8's .cpuprofile: which samples their slices and nodes give, and
 * which files are refused.
 */
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

/* A file that is only a list of events may end after any event, without its closing bracket. */
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
	/*
	 * Slices of another thread are never nested in a slice, whatever their times are. Counters
	 * (events of type C) aren't slices.
	 */
	assert_folded(TRACE(EVENT("X", "a", "0", ",\"dur\":10") "," EVENT(
			      "C", "n", "1",
			      ",\"args\":{\"n\":1}") ","
						     "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,"
						     "\"tid\":3,\"ts\":2,\"dur\":3}"),
		      NULL, "a 10000\nb 3000\n");
}

/*
 * Slices without an end or a beginning, and slices that outlast their caller, are reported in a
 * comment.
 */
static void test_odd_slices(void **state)
{
	static const char odd[] =
		TRACE(EVENT("E", "", "0", "") "," EVENT("X", "a", "1", ",\"dur\":10") "," EVENT(
			"X", "b", "8", ",\"dur\":9") "," EVENT("B", "c", "20", ""));
	struct profile *p = read_text(odd);
	const struct profile_meta *m = profile_meta(p);

	assert_int_equal(m->comments.list.n, 2);
	assert_string_equal(m->comments.list.v[0],
			    "left out: 2 slices without a beginning or an end");
	assert_string_equal(m->comments.list.v[1], "mended: 1 slice cut at the end of its caller");
	profile_free(p);
	assert_folded(odd, NULL, "a 7000\na;b 3000\n");
}

/*
 * Beginnings (B) and ends (E) of slices come in any order. The end of a slice also ends all slices
 * that are still open within it.
 */
static void test_pairs(void **state)
{
	static const char inside[] =
		TRACE(EVENT("B", "a", "0", "") "," EVENT("B", "b", "2", "") "," EVENT(
			"E", "c", "4", "") "," EVENT("E", "a", "5", "") "," EVENT("E", "b", "7",
										  ""));
	struct profile *p;

	assert_folded(TRACE(EVENT("E", "", "10", "") "," EVENT("B", "b", "2", "") "," EVENT(
			      "E", "", "5", "") "," EVENT("B", "a", "0", "")),
		      NULL, "a 7000\na;b 3000\n");
	/*
	 * b begins within a, so the end of a ends b as well. At 4, c isn't open; at 7, no slice is
	 * open: the events of type E at these times are ignored.
	 */
	assert_folded(inside, NULL, "a 2000\na;b 3000\n");
	p = read_text(inside);
	assert_string_equal(profile_meta(p)->comments.list.v[0],
			    "left out: 2 slices without a beginning or an end");
	profile_free(p);
	/* An event of type E ends only a slice of its own thread. */
	assert_folded(TRACE("{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0},"
			    "{\"ph\":\"E\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1},"
			    "{\"ph\":\"E\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":2}"),
		      NULL, "a 2000\n");
}

/*
 * Reads a file with @event, which has a fault, and with a right slice of 100 us. The samples must
 * add up to @us. @note is the only comment that must result; NULL: none.
 */
static void assert_odd_event(const char *event, int64_t us, const char *note)
{
	_cleanup_free_ char *text = NULL, *want = NULL;
	struct profile *p;

	assert_true(asprintf(&text, TRACE(EVENT("X", "a", "0", ",\"dur\":100") ",%s"), event) > 0);
	assert_true(asprintf(&want, "a %lld\n", (long long)us * 1000) > 0);
	assert_folded(text, NULL, want);
	p = read_text(text);
	assert_int_equal(profile_meta(p)->comments.list.n, note ? 1 : 0);
	if (note)
		assert_string_equal(profile_meta(p)->comments.list.v[0], note);
	profile_free(p);
}

static void test_odd_events(void **state)
{
	static const char no_time[] =
		"left out: 1 event without a time, or with one that doesn't fit";
	static const char no_length[] = "left out: 1 slice whose length is below 0 or doesn't fit";
	static const char no_end[] = "left out: 1 slice without a beginning or an end";

	assert_odd_event(EVENT("X", "a", "200", ",\"dur\":1,\"args\":{\"x\":NaN}"), 101, NULL);
	assert_odd_event(EVENT("X", "a", "200", ",\"dur\":1,\"args\":[Infinity,-Infinity]"), 101,
			 NULL);
	assert_odd_event(EVENT("X", "a", "200", ",\"dur\":1,\"args\":{\"s\":\"C:\\xa\\u12\t\"}"),
			 101, NULL);
	assert_odd_event(EVENT("X", "a", "\"200\"", ",\"dur\":\"50.0\""), 150, NULL);
	assert_odd_event(EVENT("X", "a", "200", ",\"dur\":-5"), 100, no_length);
	assert_odd_event(EVENT("X", "a", "200", ",\"dur\":NaN"), 100, no_end);
	assert_odd_event(EVENT("X", "a", "200", ""), 100, no_end);
	assert_odd_event(EVENT("X", "a", "null", ",\"dur\":5"), 100, no_time);
	assert_odd_event(EVENT("X", "a", "\"soon\"", ",\"dur\":5"), 100, no_time);
	assert_odd_event(EVENT("X", "a", "9e18", ",\"dur\":5"), 100, no_time);
	assert_odd_event(EVENT("B", "a", "1e999", ""), 100, no_time);
	assert_odd_event(EVENT("e", "m", "null", ""), 100, NULL);
	assert_odd_event("{\"ph\":7,\"name\":\"a\",\"ts\":1}", 100,
			 "left out: 1 event that doesn't say what it is (ph)");
	assert_odd_event("null", 100, "left out: 1 member of traceEvents that is no event");
	assert_odd_event("{}", 100, NULL);
}

/* PyTorch's functions have the line of their `def`. */
static void test_torch(void **state)
{
	static const char text[] = TRACE(EVENT(
		"X", "torch/nn/functional.py(2000): linear", "0",
		",\"cat\":\"python_function\",\"dur\":9") "," EVENT("X", "<built-in method linear>",
								    "1",
								    ",\"dur\":2") "," EVENT("X",
											    "f(int)"
											    ": g",
											    "4",
											    ",\"dur"
											    "\":"
											    "2"));
	struct profile *p;

	assert_folded(text, NULL,
		      "linear (torch/nn/functional.py:2000) 5000\n"
		      "linear (torch/nn/functional.py:2000);<built-in method linear> 2000\n"
		      "linear (torch/nn/functional.py:2000);f(int): g 2000\n");
	p = read_text(text);
	assert_int_equal(profile_get_function(p, 2)->start_line, 2000);
	assert_int_equal(profile_get_mapping(p, 1)->kind, KIND_PYTHON);
	profile_free(p);
}

static void test_cpuprofile(void **state)
{
	static const char text[] =
		"{" NODES "," SPAN "\"samples\":[4,2,4,3,1],\"timeDeltas\":[1,2,1,-1,3]}";
	struct profile *p;

	assert_folded(text, "samples",
		      "(anonymous) (a.js) 1\n(anonymous) (a.js);f (a.js) 2\n"
		      "(garbage collector) ([gc]) 1\n[no stack] 1\n");
	assert_folded(text, "time",
		      "(anonymous) (a.js) 1000\n(anonymous) (a.js);f (a.js) 2000\n"
		      "(garbage collector) ([gc]) 3000\n[no stack] 4000\n");
	p = read_text(text);
	assert_int_equal(profile_meta(p)->duration_ns, 10000);
	for (uint32_t id = 1; id <= profile_n_functions(p); id++) {
		const struct profile_function *f = profile_get_function(p, id);

		if (streq(profile_get_string(p, f->name), "(anonymous)") && f->start_line)
			assert_int_equal(f->start_line, 5);
	}
	profile_free(p);
}

/*
 * A V8 profile of thread 2, in several pieces that thread 3 wrote. The trace may have a slice
 * beside it.
 */
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
	/* samples from 110 to 115, from 115 to 117, from 117 back to 116, and from 116 to 130 */
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

static void assert_note(const char *text, const char *note)
{
	struct profile *p = read_text(text);

	assert_int_equal(profile_meta(p)->comments.list.n, 1);
	assert_string_equal(profile_meta(p)->comments.list.v[0], note);
	profile_free(p);
}

/*
 * When Chrome's trace buffer is full, pieces of a V8 profile get lost. A later piece then refers to
 * a missing piece, or contradicts it.
 */
static void test_odd_chunks(void **state)
{
	static const char contradicts[] =
		"left out: 1 piece of V8's profiles contradicting other pieces";
	static const char unknown[] = TRACE(
		CHUNK_A("1") "," CHUNK("1", "\"cpuProfile\":{\"samples\":[7,2]},"
					    "\"timeDeltas\":[1,1]") "," END("1") "," BEGIN("1"));
	static const char orphan[] = TRACE(CHUNK(
		"1", "\"cpuProfile\":{\"nodes\":[" NODE(
			     "9", ",\"parent\":8", "f") "],\"samples\":[9]},\"timeDeltas\":[1]"));

	/*
	 * samples from 110 to 115, 115 to 116, and 117 to 130; the time from 116 to 117 is that of
	 * node 7, which is missing
	 */
	assert_folded(unknown, "time", "f 19000\n");
	assert_note(unknown, "left out: 1 sample of V8's profiles whose stack isn't in the file");
	assert_folded(orphan, "samples", "f 1\n");
	assert_note(
		orphan,
		"mended: 1 frame of V8's profiles without its callers: they aren't in the file");
	assert_note(TRACE(CHUNK_A("1") "," CHUNK("1", "\"cpuProfile\":{\"samples\":[2]}")),
		    contradicts);
	assert_note(TRACE(CHUNK_A("1") "," CHUNK_A("1")), contradicts);
	assert_note(TRACE(CHUNK_A("1") "," CHUNK("1", "\"cpuProfile\":{\"samples\":[2,2]},"
						      "\"timeDeltas\":[1,9e18]")),
		    contradicts);
	assert_note(
		TRACE(CHUNK_A("1") "," PROFILE_EVENT("Profile", "2", "1", "\"startTime\":9e18")),
		contradicts);
	assert_folded(TRACE(CHUNK_A("1") "," CHUNK("1", "\"cpuProfile\":{\"samples\":[2,2]},"
							"\"timeDeltas\":[1,9e18]")),
		      "samples", "f 2\n");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"[{\"ph\":\"B\"", "trace: traceEvents: byte"},
		{"{" NODES "}", "cpuprofile: the file: byte"},
		{"{" NODES ",\"samples\":[9],\"timeDeltas\":[1]}", "no node has this id"},
		{"{" NODES ",\"samples\":[1,1],\"timeDeltas\":[1]}", "there are more samples"},
		{"{\"nodes\":[{\"id\":1," FRAME("a", "", "0") ",\"children\":[1]}],\"samples\":[1],"
							      "\"timeDeltas\":[1]}",
		 "stacks are far deeper"},
		{"{\"nodes\":[{\"id\":1," FRAME("a", "", "0") ",\"children\":[2]}]}",
		 "a child isn't in the list of nodes"},
		{"{\"nodes\":[{" FRAME("a", "", "0") "}]}", "a node needs an id of its own"},
		{"{\"nodes\":[{\"id\":2,\"parent\":1," FRAME("a", "", "0") "}]}",
		 "no earlier node has this id"},
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
		cmocka_unit_test(test_pairs),	   cmocka_unit_test(test_odd_events),
		cmocka_unit_test(test_torch),	   cmocka_unit_test(test_odd_chunks),
		cmocka_unit_test(test_cpuprofile), cmocka_unit_test(test_profile_chunks),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
