/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the HTML pages: their contents, and the recording that krait reads back from them. If
 * KRAIT_PICTURES=DIR is set, the pages are left in DIR for tests/golden/page/page.sh, which opens
 * them in a browser.
 */
#include "render_draw.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/embedded.h"
#include "picture/html/html_diff.h"

static struct bytes draw(struct profile *p, const struct render_options *opt, const char *name)
{
	return draw_as("html", p, opt, name);
}

static void test_recording_comes_back(void **state)
{
	struct profile *p = shares();
	struct bytes b = draw(p, &(struct render_options){0}, "shares.html");

	assert_comes_back(&b, p);
	profile_free(p);
	free(b.s);
}

/*
 * The recorded program chooses names. No name may end an element or a script of the page, or appear
 * anywhere in the page unencoded.
 */
static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"</title><script>alert(1)</script>",
		"</script><img src=x onerror=alert(1)>",
		"\"onload=\"alert(1)",
		"&amp;&#60;&lt;",
		"<script type=\"application/octet-stream\" id=\"krait-recording\">AAAA</script>",
		"tab\tnewline\nescape\x1b[31m del\x7f",
		"\xff\xfe broken \xc3( \xed\xa0\x80 \xf4\x90\x80\x80",
		("\xf0\x9f\x90\x8d snake \xe8\x9b\x87 \xd7\xa0\xd7\x97\xd7\xa9 \xe2\x80\xaeright "
		 "to left"),
		"\\u003cb\\\\\"",
		"__proto__",
		"constructor",
		"",
	};
	struct profile *p = test_profile();
	const struct render_options opt = {.title = "\xff</title><script>alert(2)</script>"};
	struct bytes b;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		test_sample(p, FRAMES({names[i], names[i], 1}),
			    LABELS("process", names[i], "pid", names[i], "__proto__", names[i]),
			    10);
	}
	b = draw(p, &opt, "hostile.html");
	assert_null(strstr(b.s, "alert(1)"));
	assert_null(strstr(b.s, "<script>alert"));
	assert_int_equal(occurrences(b.s, "<script>"), 1);
	assert_int_equal(occurrences(b.s, "</script>"), 5);
	free(b.s);
	profile_free(p);
}

/* Thread one runs function a for 8 of 10 s. Thread two runs function b from 6 s to 8 s. */
static void test_timed(void **state)
{
	static const struct test_frame a = {"a", "/srv/a.py", 1}, b = {"b", "/srv/b.py", 1};
	struct profile *p = test_profile();
	struct profile_label one[] = {{profile_string(p, "tid"), profile_string(p, "1")},
				      {profile_string(p, "thread"), profile_string(p, "one")}};
	struct profile_label two[] = {{profile_string(p, "tid"), profile_string(p, "2")},
				      {profile_string(p, "thread"), profile_string(p, "two")}};
	struct bytes page;

	for (int i = 0; i < 1000; i++) {
		uint32_t at_a = test_location(p, &a), at_b = test_location(p, &b);
		struct profile_sample s = {.time_ns = i * 10000000ll, .values = {1, 1001001}};

		if (i < 800) {
			s.stack = profile_stack(p, &at_a, 1);
			s.labels = profile_labels(p, one, 2);
			assert_int_equal(profile_add(p, &s), 0);
		}
		if (i >= 600 && i < 800) {
			s.stack = profile_stack(p, &at_b, 1);
			s.labels = profile_labels(p, two, 2);
			assert_int_equal(profile_add(p, &s), 0);
		}
	}
	page = draw(p, &(struct render_options){0}, "timed.html");
	free(page.s);
	profile_free(p);
}

static void test_library(void **state)
{
	struct profile *p = test_profile();
	struct bytes b;

	test_sample(
		p,
		FRAMES(MAIN, {"f", "/usr/lib/python3.12/f.py", 3}, {"callback", "/srv/app.py", 7}),
		APP, 20);
	test_sample(p, FRAMES(MAIN, {"f", "/usr/lib/python3.12/f.py", 3}), APP, 30);
	test_sample(p,
		    FRAMES(MAIN, {"f", "/usr/lib/python3.12/f.py", 3},
			   {"deflate", NULL, 0, KIND_NATIVE}),
		    APP, 40);
	test_sample(p, FRAMES(MAIN), APP, 10);
	b = draw(p, &(struct render_options){0}, "library.html");
	free(b.s);
	profile_free(p);
}

#define F                                                                                          \
	{                                                                                          \
		"f", "/srv/app.py", 20                                                             \
	}

static void test_recursion(void **state)
{
	struct profile *p = test_profile();
	struct bytes b;

	test_sample(p, FRAMES(MAIN, F, F, F), APP, 60);
	test_sample(p, FRAMES(MAIN, F, F, {"g", "/srv/app.py", 30}), APP, 40);
	b = draw(p, &(struct render_options){0}, "recursion.html");
	free(b.s);
	profile_free(p);
}

/* The profile has two threads, two modules, and every state of the GIL. */
static void test_gil(void **state)
{
	static const char *const states[] = {"held", "waiting", "released", "none"};
	struct profile *p = test_profile();
	struct bytes b;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		test_sample(p, FRAMES(MAIN, {states[i], "/srv/app.py", 30}),
			    LABELS("gil", states[i], "tid", i % 2 ? "1" : "2"), 10);
		test_sample(p, FRAMES(MAIN, {states[i], "/srv/app.py", 30}, A, B(4)),
			    LABELS("gil", states[i], "tid", "1"), 3);
	}
	b = draw(p, &(struct render_options){0}, "gil.html");
	free(b.s);
	profile_free(p);
}

#define THREAD(tid, thread, gil, version)                                                          \
	LABELS("pid", "7", "process", "app.py", "cwd", "/srv", "tid", tid, "thread", thread,       \
	       "gil", gil, "version", version)
#define HANDLE                                                                                     \
	{                                                                                          \
		"App.handle", "/srv/app.py", 31                                                    \
	}

/*
 * Makes the page of which tests/golden/page/pictures.py compares screenshots. The profile has code
 * of every kind, a label of the user's, and two threads. The second thread runs from 3 s to 7 s,
 * and waits for the GIL for two thirds of that time.
 */
static void test_picture(void **state)
{
	static const int of[] = {0, 0, 1, 1, 2, 2, 3, 4, 5, 6};
	const struct test_frame *const stacks[] = {
		FRAMES(MAIN, HANDLE, {"loads", "/usr/lib/python3.12/json/__init__.py", 299},
		       {"scan_once", NULL, 0, KIND_NATIVE}),
		FRAMES(MAIN, HANDLE, {"loads", "/usr/lib/python3.12/json/__init__.py", 335}),
		FRAMES(MAIN, HANDLE, {"get", "/usr/lib/python3/site-packages/requests/api.py", 62},
		       {"tcp_sendmsg", NULL, 0, KIND_KERNEL}),
		FRAMES(MAIN, HANDLE, F, F, F),
		FRAMES(MAIN, HANDLE, {"[gc]", NULL, 0, KIND_GC}),
		FRAMES(MAIN, {"py::trace_7", NULL, 0, KIND_JIT}),
		FRAMES(MAIN, A, {"[truncated]", NULL, 0, KIND_MARK}),
	};
	struct profile *p = test_profile();
	struct bytes b;

	for (int i = 0; i < 1000; i++) {
		const char *version = i < 600 ? "1" : "2";
		const char *const *held = THREAD("1", "MainThread", "held", version);
		const char *const *released = THREAD("1", "MainThread", "released", version);
		int64_t now = i * 10 * NSEC_PER_MSEC;

		test_sample_at(p, stacks[of[i % 10]], of[i % 10] == 2 ? released : held, 1, now);
		if (i >= 300 && i < 700)
			test_sample_at(p, FRAMES({"run", "/srv/worker.py", 5}, B(i % 4 ? 4 : 5)),
				       THREAD("2", "worker", i % 3 ? "waiting" : "held", version),
				       1, now);
	}
	b = draw(p, &(struct render_options){0}, "picture.html");
	free(b.s);
	profile_free(p);
}

/*
 * Makes a second page for tests/golden/page/pictures.py: a page that compares two recordings. Some
 * functions take more time in the second recording, some as much, some less; one is gone, and one
 * is new. Only the change of f may be noise.
 */
static void test_diff_picture(void **state)
{
	static const char *const sides[] = {HTML_DIFF_BEFORE, HTML_DIFF_AFTER};
	static const int counts[][2] = {{200, 300}, {100, 150}, {200, 210},
					{150, 0},   {0, 90},	{50, 40}};
	const struct test_frame *const stacks[] = {
		FRAMES(MAIN, HANDLE),
		FRAMES(MAIN, HANDLE, {"scan_once", NULL, 0, KIND_NATIVE}),
		FRAMES(MAIN, F),
		FRAMES(MAIN, {"gone", "/srv/app.py", 70}),
		FRAMES(MAIN, {"new", "/srv/app.py", 90}),
		FRAMES({"run", "/srv/worker.py", 5}, A),
	};
	struct profile *p = test_profile();
	uint8_t changed[16] = {};
	const struct html_diff d = {.name = {"old.pb.gz", "new.pb.gz"},
				    .verdict = "App.handle changed most.",
				    .sum = "70 ms/s before, 99 ms/s after",
				    .counts = {10e9, 8e9},
				    .duration_ns = {10000000000, 8000000000},
				    .timed = true,
				    .changed = changed,
				    .recording = {p, p}};
	const struct render_options opt = {.title = "old.pb.gz \u2192 new.pb.gz", .diff = &d};
	struct bytes b;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
			for (int k = 0; k < counts[i][side]; k++)
				test_sample_at(p, stacks[i],
					       LABELS("thread", i == 5 ? "worker" : "MainThread",
						      HTML_DIFF_LABEL, sides[side]),
					       1, d.duration_ns[side] / counts[i][side] * k);
	assert_true(profile_n_locations(p) < ARRAY_SIZE(changed));
	for (uint32_t id = 1; id <= profile_n_locations(p); id++) {
		uint32_t f = profile_get_location(p, id)->function;

		if (!streq(profile_get_string(p, profile_get_function(p, f)->name), "f"))
			changed[id] = HTML_DIFF_SELF | HTML_DIFF_TOTAL;
	}
	b = draw(p, &opt, "diff-picture.html");
	free(b.s);
	profile_free(p);
}

static int open_any(void *arg, const char *path, int64_t *since_ns)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_none(void *arg, const char *path, int64_t *since_ns)
{
	return -EPERM;
}

/*
 * The page shows the source of a file that exists. The sample is on its line 2, in a call that
 * begins at column 9.
 */
static void test_source(void **state)
{
	static const char text[] =
		"def work(n):\n\treturn call(n, </script>)  # \xc3\xa9\n\n\ndef other(): pass\n";
	char path[] = "/tmp/krait-source-XXXXXX.py";
	int fd = mkstemps(path, 3);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	for (int changed = 0; changed < 2; changed++) {
		struct profile *p = test_profile();
		struct render_options opt = {.open_source = open_any};
		struct profile_mapping m = {.name = profile_string(p, "[python 3.12]")};
		struct profile_function f = {.name = profile_string(p, "work"),
					     .file = profile_string(p, path),
					     .start_line = 1};
		struct profile_location l = {
			.line = 2, .column = 9, .end_line = 2, .end_column = 27};
		struct profile_sample s = {.time_ns = -1, .values = {1, 1001001}};
		uint32_t at;
		struct bytes b;

		profile_meta(p)->time_ns = (time(NULL) + (changed ? -100 : 100)) * 1000000000ll;
		l.mapping = profile_mapping(p, &m);
		l.function = profile_function(p, &f);
		at = profile_location(p, &l);
		s.stack = profile_stack(p, &at, 1);
		assert_int_equal(profile_add(p, &s), 0);
		b = draw(p, &opt, changed ? "changed.html" : "source.html");
		assert_int_equal(occurrences(b.s, "krait-source\""), 1);
		free(b.s);
		opt.open_source = open_none;
		b = draw(p, &opt, changed ? NULL : "foreign.html");
		free(b.s);
		profile_free(p);
	}
	unlink(path);
}

static void test_empty(void **state)
{
	struct profile *p = test_profile();
	struct bytes b = draw(p, &(struct render_options){0}, "empty.html");

	free(b.s);
	profile_free(p);
}

static void test_unwritable(void **state)
{
	struct profile *p = shares();
	FILE *full = fopen("/dev/full", "w");

	assert_int_equal(render_by_name("html")->write(p, full, &(struct render_options){0}),
			 -ENOSPC);
	fclose(full);
	profile_free(p);
}

static void test_unknown_value(void **state)
{
	struct profile *p = shares();
	FILE *out = fopen("/dev/null", "w");
	const struct render_options opt = {.value = "walrus"};

	assert_int_equal(render_by_name("html")->write(p, out, &opt), -EINVAL);
	fclose(out);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recording_comes_back),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_timed),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_gil),
		cmocka_unit_test(test_picture),
		cmocka_unit_test(test_diff_picture),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_unwritable),
		cmocka_unit_test(test_unknown_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
