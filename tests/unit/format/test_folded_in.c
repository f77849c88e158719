/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads folded stacks that several tools wrote: kinds of frames, files, lines, labels, and files
 * that are refused.
 */
#include "read_text.h"

#include <errno.h>
#include <zlib.h>
#include <zstd.h>
#include "format/common/folded_frame.h"
#include "format/folded/folded_in.h"

static void assert_frame(const char *text, enum frame_kind kind, const char *name,
			 const char *place, int32_t line)
{
	struct folded_frame f;
	const struct folded_text *at;

	folded_frame_parse(text, strlen(text), &f);
	assert_int_equal(f.kind, kind);
	assert_int_equal(f.line, line);
	assert_int_equal(f.name.n, strlen(name));
	assert_memory_equal(f.name.s ? f.name.s : "", name, f.name.n);
	at = f.file.n ? &f.file : &f.mapping;
	assert_int_equal(at->n, strlen(place));
	assert_memory_equal(at->s ? at->s : "", place, at->n);
}

static void test_frames(void **state)
{
	assert_frame("<module> (app.py:3)", KIND_PYTHON, "<module>", "app.py", 3);
	assert_frame("f (a (copy).py:12)", KIND_PYTHON, "f", "a (copy).py", 12);
	assert_frame("f (x) (<string>:1)", KIND_PYTHON, "f (x)", "<string>", 1);
	assert_frame("run (script:7)", KIND_PYTHON, "run", "script", 7);
	assert_frame("f (app.py)", KIND_PYTHON, "f", "app.py", 0);
	assert_frame("deflate (libz.so.1)", KIND_NATIVE, "deflate", "libz.so.1", 0);
	assert_frame("deflate (deflate.c:40)", KIND_NATIVE, "deflate", "deflate.c", 40);
	assert_frame("vfs_read ([kernel])", KIND_KERNEL, "vfs_read", "[kernel]", 0);
	assert_frame("vfs_read_[k]", KIND_KERNEL, "vfs_read", "", 0);
	assert_frame("py::f_[j]", KIND_JIT, "py::f", "", 0);
	assert_frame("gc ([gc])_[g]", KIND_GC, "gc", "[gc]", 0);
	assert_frame(":GC:", KIND_GC, "garbage collector", "", 0);
	assert_frame("~:<GC>:0", KIND_GC, "garbage collector", "", 0);
	assert_frame("~:<native>:0", KIND_NATIVE, "<native>", "", 0);
	assert_frame("[truncated]", KIND_MARK, "[truncated]", "", 0);
	assert_frame("[incomplete: not read]", KIND_MARK, "[incomplete: not read]", "", 0);
	assert_frame("[unknown]", KIND_NATIVE, "[unknown]", "", 0);
	assert_frame("[libz.so.1+0x12f0]", KIND_NATIVE, "", "libz.so.1", 0);
	assert_frame("[kernel+0xffffffff81000010]", KIND_KERNEL, "", "kernel", 0);
	assert_frame("std::sort<int>(int)", KIND_NATIVE, "std::sort<int>(int)", "", 0);
	assert_frame("f(int) (libfoo.so)", KIND_NATIVE, "f(int)", "libfoo.so", 0);
	assert_frame("thread (12)", KIND_NATIVE, "thread (12)", "", 0);
	assert_frame("/srv/a.py:Spam.eggs:12", KIND_PYTHON, "Spam.eggs", "/srv/a.py", 12);
	assert_frame("std::sort:12", KIND_NATIVE, "std::sort:12", "", 0);
	assert_frame("LazyCompile:*foo /srv/app.js:39", KIND_NATIVE, "foo", "/srv/app.js", 39);
	assert_frame("LazyCompile:~get x /srv/my app.js:39:7", KIND_NATIVE, "get x",
		     "/srv/my app.js", 39);
	assert_frame("Function:^run node:internal/main:8_[j]", KIND_JIT, "run",
		     "node:internal/main", 8);
	assert_frame("LazyCompile:* /srv/app.js:39", KIND_NATIVE, "(anonymous)", "/srv/app.js", 39);
	assert_frame("LazyCompile:foo app.js:3", KIND_NATIVE, "foo", "app.js", 3);
	assert_frame("Script:~foo", KIND_NATIVE, "foo", "", 0);
	assert_frame("Script:", KIND_NATIVE, "Script:", "", 0);
	assert_frame("Builtin:Add", KIND_NATIVE, "Builtin:Add", "", 0);
	assert_frame("f ([unknown]:12)", KIND_NATIVE, "f", "[unknown]", 12);
	assert_frame("f (/lib/libjvm.so:12)", KIND_NATIVE, "f", "/lib/libjvm.so", 12);
	assert_frame("f (/a/x.sock:12)", KIND_PYTHON, "f", "/a/x.sock", 12);
	assert_frame("java/lang/Thread.run (java/lang/Thread:7)", KIND_NATIVE,
		     "java/lang/Thread.run", "java/lang/Thread", 7);
	assert_frame("()", KIND_NATIVE, "()", "", 0);
	assert_frame("f ()", KIND_NATIVE, "f ()", "", 0);
	assert_frame("f (x.py:99999999999)", KIND_PYTHON, "f", "x.py", 0);
}

static void assert_root(const char *text, const char *const *want)
{
	struct folded_label labels[2];

	folded_root_parse(text, strlen(text), labels);
	for (size_t i = 0; i < 2; i++) {
		if (!want[0]) {
			assert_null(labels[i].key);
			break;
		}
		assert_string_equal(labels[i].key, want[0]);
		assert_int_equal(labels[i].value.n, strlen(want[1]));
		assert_memory_equal(labels[i].value.s, want[1], labels[i].value.n);
		want += 2;
	}
}

static void test_roots(void **state)
{
	assert_root("web (pid 12)", LABELS("process", "web", "pid", "12"));
	assert_root("Main (tid 3)", LABELS("thread", "Main", "tid", "3"));
	assert_root("process 7:\"python a.py\"", LABELS("pid", "7", "process", "python a.py"));
	assert_root("thread (22): Main", LABELS("tid", "22", "thread", "Main"));
	assert_root("thread (22): \"a b\"", LABELS("tid", "22", "thread", "a b"));
	assert_root("thread (22): \"", LABELS("tid", "22", "thread", "\""));
	assert_root("thread (0x7f1)", LABELS("tid", "0x7f1"));
	assert_root("P12", LABELS("pid", "12"));
	assert_root("T34", LABELS("tid", "34"));
	assert_root("T0:34", LABELS("tid", "34"));
	assert_root("tid:34", LABELS("tid", "34"));
	assert_root("pid 12", LABELS("pid", "12"));
	assert_root("tid 34", LABELS("tid", "34"));
	assert_root("Process", LABELS(NULL));
	assert_root("T", LABELS(NULL));
	assert_root("f (a.py:3)", LABELS(NULL));
}

static char *folded(struct profile *p)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(render_by_name("folded")->write(p, f, &(struct render_options){}), 0);
	fclose(f);
	profile_free(p);
	return text;
}

/* krait reads a file that it has written, and writes the same bytes again. */
static void test_round_trip(void **state)
{
	static const char want[] = "<module> (app.py:3);deflate (libz.so.1);[libz.so.1+0x12] 7\n"
				   "<module> (app.py:3);read ([kernel]);[kernel+0xff] 5\n"
				   "[no stack] 1\n"
				   "[truncated];f (<string>) 2\n";
	_cleanup_free_ char *got = folded(read_text(want));

	assert_string_equal(got, want);
}

/*
 * Tests odd lines: comments, blank lines, Windows line ends, counts with a fraction, no newline at
 * the end.
 */
static void test_lines(void **state)
{
	_cleanup_free_ char *got =
		folded(read_text("# a: b\n\nf (a.py:1);;g (a.py:2) 3\r\nf (a.py:1) 2.6\n"
				 " 5\ntail 12 (x.py:3) 4"));

	/* a line that is only a number is a stack without frames, as py-spy writes it */
	assert_string_equal(
		got, "[no stack] 5\nf (a.py:1) 2.6\nf (a.py:1);g (a.py:2) 3\ntail 12 (x.py:3) 4\n");
}

static size_t met;

static int same_values(void *arg, const struct profile_sample *s)
{
	const int64_t(*want)[4] = arg;

	assert_memory_equal(s->values, want[met], sizeof(*want));
	met++;
	return 0;
}

/* The values expected here are those that Metric.parse() of austin-python gives. */
static void test_austin_full(void **state)
{
	static const char text[] =
		"# austin: 3.6.0\n# mode: full\n\nP1;T0:2;a.py:f:3 7,0,4096\n"
		"P1;T0:2;a.py:g:3 5,1,-100\nP1;T0:2;a.py:g:3 5,1\nP1;T0:2;a.py:g:3 5\n"
		"P1;T0:2;a.py:g:3 1,2,3,4\n,,\n1,0,1\n\r\n";
	static const int64_t want[][4] = {
		{7000, 7000, 4096, 0}, {0, 5000, 0, 100}, {1000, 1000, 1, 0}};
	struct profile *p = read_text(text);

	assert_int_equal(profile_meta(p)->n_values, 4);
	assert_string_equal(profile_meta(p)->values[1].type, "wall");
	assert_int_equal(profile_n_samples(p), 3);
	assert_int_equal(profile_each(p, same_values, (void *)want), 0);
	profile_free(p);
	assert_true(folded_probe((const uint8_t *)text, sizeof(text) - 1));
}

/*
 * Austin's counts are microseconds, as README.md of Austin 3 says. The mode in the file's head says
 * which time they measure.
 */
static void test_austin(void **state)
{
	struct profile *p = read_text("# austin: 3.7.0\n# mode: cpu\n\nP1;T0:2;a.py:f:3 7\n");
	const struct profile_value_type *v = profile_meta(p)->values;
	_cleanup_free_ char *got = NULL;

	assert_string_equal(v->type, "cpu");
	assert_string_equal(v->unit, "nanoseconds");
	got = folded(p);
	assert_string_equal(got, "f (a.py:3) 7000\n");
}

static void refuse(const void *data, size_t n, const char *words)
{
	struct profile *p;

	assert_true(read_profile(data, n, &p) < 0);
	if (!strstr(err_msg(), words))
		fail_msg("'%s' isn't in '%s'", words, err_msg());
}

static void test_refused(void **state)
{
	static const char no_count[] = "f 1\nf;g\n", two[] = "f 1\n1\n",
			  big[] = "f 99999999999999999999", text[] = "hello\nworld\n",
			  html[] = "<html></html>";
	_cleanup_free_ char *long_line = malloc(20 << 20), *deep = malloc(200000);

	refuse(no_count, strlen(no_count), "folded stacks: byte 4: the line doesn't end with");
	refuse(two, strlen(two), "byte 4");
	refuse(big, strlen(big), "folded stacks: byte 0");
	refuse(text, strlen(text), "byte 0: this is no profile");
	refuse(html, strlen(html), "the file holds no recording");
	memset(long_line, 'a', 20 << 20);
	memcpy(long_line, "f 1\n;", 5);
	refuse(long_line, 20 << 20, "byte 4: the line is longer than 16 MiB");
	for (size_t i = 0; i < 200000; i += 2)
		memcpy(deep + i, i < 199998 ? "f;" : " 1", 2);
	refuse(deep, 200000, "more than 65536 frames");
}

static void assert_text(const char *text, const char *value, const char *want)
{
	assert_reads_as(text, &(struct render_options){.value = value}, want);
}

/* Counts with fractions are summed up without loss. Counts without fractions stay whole numbers. */
static void test_fractions(void **state)
{
	_cleanup_str_ struct str many = {};
	struct profile *p;

	assert_text("a;b 0.156\na;c 0.98\na;b 0.343\na;c 0.888\n", NULL, "a;b 0.499\na;c 1.868\n");
	for (int i = 0; i < 100; i++)
		str_addf(&many, "a 0.4\n");
	assert_text(str_cstr(&many), NULL, "a 40\n");
	assert_text("a 1e2\na 3.0\n", NULL, "a 103\n");
	assert_text("# mode: wall\na 0.5\na 1\n", NULL, "a 1500\n");
	assert_text("a -2.5\na 1\n", NULL, "a -1.5\n");
	p = read_text("a 1e2\na 3.0\n");
	assert_string_equal(profile_meta(p)->values[0].unit, "count");
	profile_free(p);
	p = read_text("a 0.6\nb 9000000000000000000\n");
	assert_string_equal(profile_meta(p)->values[0].unit, "count");
	assert_string_equal(profile_meta(p)->comments.list.v[0],
			    "mended: counts are rounded: some are too large for fractions");
	profile_free(p);
}

/*
 * Lines of difffolded.pl end with two counts. If any line of a file has only one, then in all lines
 * the number before the last one belongs to the frame's name.
 */
static void test_two_counts(void **state)
{
	static const char two[] = "a;b 10 20\na;c 0 5.5\n";
	struct profile *p = read_text(two);

	assert_int_equal(profile_meta(p)->n_values, 2);
	assert_string_equal(profile_meta(p)->values[profile_meta(p)->default_value].type, "after");
	profile_free(p);
	assert_text(two, "before", "a;b 10\n");
	assert_text(two, "after", "a;b 20\na;c 5.5\n");
	assert_text("a;b 10 20\na;c 5\n", NULL, "a;b 10 20\na;c 5\n");
	/* krait itself wrote this file, in which all frames end with a number */
	assert_text("# counts: 1\na;b 10 20\n", NULL, "# counts: 1\na;b 10 20\n");
}

/*
 * A few lines that aren't stacks are reported. If more lines aren't stacks than are, the file isn't
 * read as folded stacks.
 */
static void test_odd_lines(void **state)
{
	static const char some[] = "// from a tool\na;b 1\na;c 2\nnot a stack\na;b 4\n";
	struct profile *p = read_text(some);

	assert_string_equal(profile_meta(p)->comments.list.v[0],
			    "left out: 2 lines without a blank and a count at the end");
	profile_free(p);
	assert_text(some, NULL, "a;b 5\na;c 2\n");
}

static void test_packed(void **state)
{
	static const char text[] = "f (a.py:1) 12\n";
	uint8_t packed[256];
	size_t n = ZSTD_compress(packed, sizeof(packed), text, strlen(text), 3);
	struct profile *p;
	_cleanup_free_ char *got = NULL;
	z_stream z = {};

	assert_int_equal(read_profile(packed, n, &p), 0);
	got = folded(p);
	assert_string_equal(got, text);
	refuse(packed, n - 3, "the zstd data ends early");
	packed[6] ^= 0xff;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, 0), Z_OK);
	z.next_in = (uint8_t *)text;
	z.avail_in = strlen(text);
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n = z.total_out;
	deflateEnd(&z);
	assert_int_equal(read_profile(packed, n, &p), 0);
	free(got);
	got = folded(p);
	assert_string_equal(got, text);
	refuse(packed, n - 9, "the gzip data ends early");
}

static void test_empty(void **state)
{
	struct profile *p = read_text("");

	assert_int_equal(profile_n_samples(p), 0);
	profile_free(p);
}

/*
 * A function is inlined into two other functions, and its frame has the same text in both. It must
 * give two locations.
 */
static void test_inlined_again(void **state)
{
	struct profile *p =
		read_text("f (libx.so);i (libx.so)_[i] 1\ng (libx.so);i (libx.so)_[i] 2\n"
			  "f (libx.so);i (libx.so)_[i] 4\n");
	const char *const callers[] = {"f", "g"};
	size_t n;

	for (uint32_t id = 1; id <= 2; id++) {
		const uint32_t *stack = profile_get_stack(p, id, &n);
		const struct profile_location *l, *outer;

		assert_int_equal(n, 2);
		l = profile_get_location(p, stack[0]);
		assert_int_equal(l->outer, stack[1]);
		outer = profile_get_location(p, l->outer);
		assert_string_equal(
			profile_get_string(p, profile_get_function(p, outer->function)->name),
			callers[id - 1]);
	}
	assert_int_equal(profile_n_stacks(p), 2);
	profile_free(p);
}

/*
 * A text has the greatest number of nested inlined functions that one location of pprof can hold.
 */
static void test_inlined_deep(void **state)
{
	_cleanup_str_ struct str b = {};
	struct profile *p;

	str_add(&b, "f (libx.so)");
	for (unsigned i = 1; i < PROFILE_MAX_INLINED; i++)
		str_add(&b, ";i (libx.so)_[i]");
	str_add(&b, ";g (libx.so);i (libx.so)_[i] 1\n");
	profile_free(read_text(str_cstr(&b)));
	str_clear(&b);
	str_add(&b, "a 1\nf (libx.so)");
	for (unsigned i = 0; i < PROFILE_MAX_INLINED; i++)
		str_add(&b, ";i (libx.so)_[i]");
	str_add(&b, " 1\n");
	assert_int_equal(read_profile((const uint8_t *)str_cstr(&b), b.n, &p), -EINVAL);
	assert_string_equal(err_msg(), "folded stacks: byte 4: more than 256 inlined calls");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	      cmocka_unit_test(test_roots),
		cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_lines),
		cmocka_unit_test(test_austin_full),   cmocka_unit_test(test_austin),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_packed),
		cmocka_unit_test(test_inlined_again), cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_two_counts),    cmocka_unit_test(test_odd_lines),
		cmocka_unit_test(test_empty),	      cmocka_unit_test(test_inlined_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
