/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the folded stacks that krait writes, and the names of frames in them, byte by byte. */
#include "render_profile.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/options.h"
#include "format/format.h"
#include "view/names/names.h"

static char *folded(struct profile *p, const struct render_options *opt, int want)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(render_by_name("folded")->write(p, f, opt), want);
	fclose(f);
	return text;
}

static void assert_folded(struct profile *p, const struct render_options *opt, const char *want)
{
	_cleanup_free_ char *text = folded(p, opt, 0);

	assert_string_equal(text, want);
	profile_free(p);
}

static void test_frames(void **state)
{
	struct profile *p = test_profile();

	test_sample(p,
		    FRAMES({"<module>", "/srv/app/main.py", 3},
			   {"Spam.eggs", "/srv/app/spam.py", 12}, {"deflate", NULL, 0, KIND_NATIVE},
			   {"do_syscall_64", NULL, 0, KIND_KERNEL}),
		    LABELS("cwd", "/srv/app"), 7);
	test_sample(p, FRAMES({"[truncated]", NULL, 0, KIND_MARK}, {"f", "<string>", 0}),
		    LABELS("cwd", "/srv/app"), 2);
	test_sample(p, NO_FRAMES, NULL, 1);
	assert_folded(p, &(struct render_options){0},
		      "<module> (main.py:3);Spam.eggs (spam.py:12);deflate (libz.so.1);"
		      "do_syscall_64 ([kernel]) 7\n"
		      "[no stack] 1\n"
		      "[truncated];f (<string>) 2\n");
}

/* Tests names that a reading program could take for a comment, a separator or a count. */
static void test_taken_for_else(void **state)
{
	struct profile *p = test_profile();

	test_sample(p, FRAMES({"#f", "", 0}, {"#g", "a;b", 1}, {"h 7", "", 0}), NULL, 3);
	test_sample(p, FRAMES({"\r\n\xc2\x85\xe2\x80\xa8", "", 0}), NULL, 2);
	assert_folded(p, &(struct render_options){0},
		      "     ([python 3.12]) 2\n"
		      " #f ([python 3.12]);#g (a:b:1);h 7 ([python 3.12]) 3\n");
}

static void test_annotate(void **state)
{
	struct profile *p = test_profile();
	struct test_frame f = {"inlined", NULL, 0, KIND_NATIVE};
	uint32_t stack[2] = {0, test_location(p, &f)};
	struct profile_location l = *profile_get_location(p, stack[1]);
	struct profile_sample s = {.time_ns = -1, .values = {1, 1}};

	test_sample(p,
		    FRAMES({"f", "f.py", 1}, {"deflate", NULL, 0, KIND_NATIVE},
			   {"", NULL, 0, KIND_NATIVE, .address = 0x1234},
			   {"py::g", NULL, 0, KIND_JIT}, {"gc_collect_main", NULL, 0, KIND_GC},
			   {"do_syscall_64", NULL, 0, KIND_KERNEL},
			   {"", NULL, 0, KIND_KERNEL, .address = 0xffffffff81000010},
			   {"[truncated]", NULL, 0, KIND_MARK}),
		    NULL, 1);
	l.outer = stack[1];
	stack[0] = profile_location(p, &l);
	s.stack = profile_stack(p, stack, 2);
	assert_int_equal(profile_add(p, &s), 0);
	assert_folded(p, &(struct render_options){.annotate = true},
		      "f (f.py:1);deflate (libz.so.1)_[n];[libz.so.1+0x1234]_[n];py::g ([jit])_[j];"
		      "gc_collect_main ([gc])_[g];do_syscall_64 ([kernel])_[k];"
		      "[kernel+0xffffffff81000010]_[k];[truncated] 1\n"
		      "inlined (libz.so.1)_[n];inlined (libz.so.1)_[i] 1\n");
}

static void check_address(uint64_t start, uint64_t offset, uint64_t address, const char *want)
{
	struct profile *p = test_profile();
	struct profile_mapping m = {.name = profile_string(p, "/opt/lib/libfoo.so"),
				    .kind = KIND_NATIVE,
				    .start = start,
				    .limit = start + 0x10000,
				    .offset = offset};
	struct profile_location l = {.mapping = profile_mapping(p, &m), .address = address};
	uint32_t id = profile_location(p, &l);
	struct render_names *names = render_names_new(p);
	_cleanup_str_ struct str b = {};

	render_names_frame(names, id, &b);
	assert_string_equal(str_cstr(&b), want);
	render_names_free(names);
	profile_free(p);
}

/*
 * A frame without a symbol is named by the address in its file, even if the recording has the
 * address in the process.
 */
static void test_addresses(void **state)
{
	check_address(0, 0, 0x1234, "[libfoo.so+0x1234]");
	/* a library linked by lld, where p_vaddr > p_offset */
	check_address(0x3000, 0x2000, 0x3210, "[libfoo.so+0x3210]");
	/* a program that isn't PIE */
	check_address(0x401000, 0x1000, 0x401234, "[libfoo.so+0x401234]");
	check_address(0x7f1234501000, 0x1000, 0x7f1234501234, "[libfoo.so+0x1234]");
	check_address(0x7f1234501000, 0x1000, 0x7f1234599999, "[libfoo.so+0x7f1234599999]");
}

static void test_languages(void **state)
{
	static const struct {
		const char *name, *symbol, *want;
	} cases[] = {
		{"deflate", "deflate", "C"},
		{"deflate", "deflate.part.0", "C"},
		{"deflate.avx2.0", "deflate.avx2.0", "C"},
		{"ns::f", "_ZN2ns1fEv", "C++"},
		{"ns::f", "_ZN2ns1fEv.cold", "C++"},
		{"core::f", "_ZN4core1f17h0123456789abcdefE", "Rust"},
		{"core::f", "_ZN4core1f17h0123456789abcdefE.llvm.123", "Rust"},
		{"n17h::f", "_ZN4n17h1fEv", "C++"},
		{"core::f", "_RNvC4core1f", "Rust"},
		{"runtime.mallocgc", "runtime.mallocgc", "Go"},
		{"github.com/a/b.(*T).Run", "github.com/a/b.(*T).Run", "Go"},
		{"", "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(render_language(cases[i].name, cases[i].symbol), cases[i].want);
}

static void test_values(void **state)
{
	struct profile *p = test_profile();

	test_sample(p, FRAMES({"f", "f.py", 1}), NULL, 3);
	assert_folded(p, &(struct render_options){.value = "cpu"}, "f (f.py:1) 3003003\n");

	p = test_profile();
	free(folded(p, &(struct render_options){.value = "off_cpu"}, -EINVAL));
	assert_string_equal(err_msg(), "the profile has no such values; it has samples, cpu");
	profile_free(p);
}

/* Only those characters are replaced that would break a line or a stack in two. */
static void test_odd_names(void **state)
{
	struct profile *p = test_profile();

	test_sample(p,
		    FRAMES({"a;b\nc\td", "x y.py", 1},
			   {"\xe2\x80\xa8\xc2\x9b|\xf0\x9f\x90\x8d é", "z.py", 2},
			   {"tail 12", "<f;g>", 3}),
		    NULL, 1);
	assert_folded(p, &(struct render_options){0},
		      "a:b c d (x y.py:1);  |\xf0\x9f\x90\x8d é (z.py:2);tail 12 (<f:g>:3) 1\n");
}

/*
 * Frames with the same text count as the same frame. Stacks are sorted by text, not by the time
 * when they first came.
 */
static void test_merge_and_sort(void **state)
{
	struct profile *p = test_profile();
	struct profile_location l =
		*profile_get_location(p, test_location(p, &(struct test_frame){"g", "g.py", 4}));
	struct profile_sample s = {.time_ns = -1, .values = {1, 1}};
	uint32_t at;

	test_sample(p, FRAMES({"z", "z.py", 1}), NULL, 1);
	for (l.column = 1; l.column < 4; l.column++) {
		at = profile_location(p, &l);
		s.stack = profile_stack(p, &at, 1);
		assert_int_equal(profile_add(p, &s), 0);
	}
	test_sample(p, FRAMES({"a", "a.py", 2}), NULL, 1);
	test_sample(p, FRAMES({"a", "a.py", 1}, {"b", "b.py", 1}), NULL, 5);
	test_sample(p, FRAMES({"a", "a.py", 1}), NULL, 2);
	assert_folded(p, &(struct render_options){0},
		      "a (a.py:1) 2\na (a.py:1);b (b.py:1) 5\na (a.py:2) 1\ng (g.py:4) 3\n"
		      "z (z.py:1) 1\n");
}

static struct profile *three_workers(void)
{
	struct profile *p = test_profile();
	const struct test_frame *f = FRAMES({"f", "f.py", 1});

	test_sample(p, f, LABELS("pid", "1", "process", "web", "tid", "1", "thread", "Main"), 1);
	test_sample(p, f, LABELS("pid", "2", "process", "web", "tid", "2", "thread", "Main"), 2);
	test_sample(p, f, LABELS("pid", "3", "process", "cron", "cgroup", "/c"), 4);
	test_sample(p, NO_FRAMES, LABELS("pid", "3", "process", "cron"), 8);
	return p;
}

static void test_roots(void **state)
{
	struct profile *p;

	assert_folded(three_workers(), &(struct render_options){0},
		      "cron 8\ncron;f (f.py:1) 4\nweb;f (f.py:1) 3\n");
	assert_folded(three_workers(), &(struct render_options){.by = "process"},
		      "cron (pid 3) 8\ncron (pid 3);f (f.py:1) 4\nweb (pid 1);f (f.py:1) 1\n"
		      "web (pid 2);f (f.py:1) 2\n");
	assert_folded(three_workers(), &(struct render_options){.by = "thread"},
		      "cron;[no thread] 8\ncron;[no thread];f (f.py:1) 4\n"
		      "web;Main (tid 1);f (f.py:1) 1\nweb;Main (tid 2);f (f.py:1) 2\n");
	assert_folded(three_workers(), &(struct render_options){.by = "cgroup"},
		      "cron;/c;f (f.py:1) 4\ncron;[no cgroup] 8\nweb;[no cgroup];f (f.py:1) 3\n");

	p = three_workers();
	free(folded(p, &(struct render_options){.by = "job"}, -EINVAL));
	assert_string_equal(err_msg(), "no sample has the label 'job'");
	profile_free(p);
}

/* If the profile has only one process, no outermost frame names the process. */
static void test_one_process(void **state)
{
	struct profile *p = test_profile();

	test_sample(p, FRAMES({"f", "f.py", 1}),
		    LABELS("pid", "1", "process", "web", "gil", "held"), 1);
	test_sample(p, FRAMES({"f", "f.py", 1}), LABELS("pid", "1", "process", "web"), 1);
	assert_folded(p, &(struct render_options){0}, "f (f.py:1) 2\n");
}

static void test_no_samples(void **state)
{
	assert_folded(test_profile(), &(struct render_options){0}, "");
}

static void check_file(struct profile *p, const char *path, const char *want, enum render_origin o)
{
	struct render_names *names;
	uint32_t location = test_location(p, &(struct test_frame){"f", path, 1});
	uint32_t function = profile_get_location(p, location)->function;

	names = render_names_new(p);
	assert_non_null(names);
	assert_string_equal(render_names_file(names, function), want);
	assert_int_equal(render_names_origin(names, function), o);
	render_names_free(names);
}

static void test_files(void **state)
{
	struct profile *p = test_profile();

	test_sample(p, NO_FRAMES, LABELS("cwd", "/srv/app/"), 1);
	check_file(p, "/srv/app/pkg/a.py", "pkg/a.py", ORIGIN_OWN);
	check_file(p, "/srv/application/b.py", "/srv/application/b.py", ORIGIN_OWN);
	check_file(p, "/srv/app/venv/lib/python3.12/site-packages/numpy/a.py", "numpy/a.py",
		   ORIGIN_PACKAGE);
	check_file(p, "/usr/lib/python3/dist-packages/yaml/__init__.py", "yaml/__init__.py",
		   ORIGIN_PACKAGE);
	check_file(p, "/usr/lib/python3.11/json/decoder.py", "json/decoder.py", ORIGIN_STDLIB);
	check_file(p, "/opt/lib64/python3.13t/zipfile.py", "zipfile.py", ORIGIN_STDLIB);
	check_file(p, "/opt/lib/python3/zipfile.py", "/opt/lib/python3/zipfile.py", ORIGIN_OWN);
	check_file(p, "/opt/lib/python3.9/", "/opt/lib/python3.9/", ORIGIN_STDLIB);
	check_file(p, "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>",
		   ORIGIN_STDLIB);
	check_file(p, "relative.py", "relative.py", ORIGIN_OWN);
	profile_free(p);
}

/*
 * Two files never get the same name, even if the full path of one is the short name of the other.
 */
static void test_files_differ(void **state)
{
	struct profile *p = test_profile();

	test_sample(p,
		    FRAMES({"f", "/a/site-packages/m.py", 1}, {"f", "/b/site-packages/m.py", 1},
			   {"f", "/b/site-packages/n.py", 1}, {"f", "/c/site-packages/r.py", 1},
			   {"f", "r.py", 1}),
		    NULL, 1);
	assert_folded(p, &(struct render_options){0},
		      "f (/a/site-packages/m.py:1);f (/b/site-packages/m.py:1);f (n.py:1);"
		      "f (/c/site-packages/r.py:1);f (r.py:1) 1\n");
}

static void test_formats(void **state)
{
	assert_string_equal(render_by_file("x.pb.gz")->name, "pprof");
	assert_string_equal(render_by_file("/tmp/x.folded")->name, "folded");
	assert_string_equal(render_by_file("x.txt")->name, "folded");
	assert_null(render_by_file("x.gz"));
	assert_non_null(
		strstr(err_msg(), "x.gz: the file's extension names no format; use one of"));
	assert_null(render_by_name("fold"));
	assert_non_null(strstr(err_msg(), "no such format; there are "));
}

/* A stack is 50,000 frames deep, so krait must not recurse over it. */
static void test_deep(void **state)
{
	enum { DEPTH = 50000 };
	struct profile *p = test_profile();
	struct profile_sample s = {.time_ns = -1, .values = {1, 1}};
	uint32_t location = test_location(p, &(struct test_frame){"f", "f.py", 1});
	_cleanup_free_ uint32_t *stack = calloc(DEPTH, sizeof(*stack));
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < DEPTH; i++)
		stack[i] = location;
	s.stack = profile_stack(p, stack, DEPTH);
	assert_int_equal(profile_add(p, &s), 0);
	text = folded(p, &(struct render_options){0}, 0);
	assert_int_equal(strlen(text), DEPTH * strlen("f (f.py:1);") + 2);
	profile_free(p);
}

static void test_unwritable(void **state)
{
	struct profile *p = test_profile();
	FILE *full = fopen("/dev/full", "w");

	test_sample(p, FRAMES({"f", "f.py", 1}), NULL, 1);
	assert_int_equal(render_by_name("folded")->write(p, full, &(struct render_options){0}),
			 -ENOSPC);
	fclose(full);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken_for_else), cmocka_unit_test(test_annotate),
		cmocka_unit_test(test_addresses),      cmocka_unit_test(test_languages),
		cmocka_unit_test(test_frames),	       cmocka_unit_test(test_values),
		cmocka_unit_test(test_odd_names),      cmocka_unit_test(test_merge_and_sort),
		cmocka_unit_test(test_roots),	       cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_no_samples),     cmocka_unit_test(test_files),
		cmocka_unit_test(test_files_differ),   cmocka_unit_test(test_formats),
		cmocka_unit_test(test_deep),	       cmocka_unit_test(test_unwritable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
