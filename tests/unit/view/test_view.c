/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the expressions of filters: each is applied to a small profile, which is then written as
 * folded stacks.
 */
#include "render_profile.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "format/pprof/pprof.h"
#include "format/common/options.h"
#include "format/format.h"
#include "view/names/names.h"
#include "view/view.h"

static struct profile *made(void)
{
	struct profile *p = test_profile();
	const struct test_frame main = {"<module>", "/srv/app.py", 3};
	const struct test_frame run = {"Spam.run", "/usr/lib/python3.12/json/decoder.py", 12};
	const struct test_frame zip = {"deflate", NULL, 0, KIND_NATIVE};
	const struct test_frame kernel = {"vfs_read", NULL, 0, KIND_KERNEL};

	test_sample(p, FRAMES(main, run, zip),
		    LABELS("pid", "7", "process", "web", "tid", "8", "thread", "w-1"), 1);
	test_sample(p, FRAMES(main, run, run, kernel),
		    LABELS("pid", "7", "process", "web", "tid", "9", "thread", "w-2"), 2);
	test_sample(p, FRAMES(main), LABELS("pid", "7", "process", "web", "v", "1"), 4);
	test_sample(p, NO_FRAMES, LABELS("pid", "7", "process", "web", "v", "2"), 8);
	return p;
}

static void assert_view(const struct view_options *o, const char *want)
{
	struct profile *p = made();
	struct view_totals t;
	char *text = NULL;
	size_t n;
	FILE *f;

	assert_int_equal(view_apply(&p, o, &t), 0);
	assert_int_equal(t.all[0], 15);
	f = open_memstream(&text, &n);
	assert_int_equal(render_by_name("folded")->write(p, f, &(struct render_options){}), 0);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
	profile_free(p);
}

#define TEXTS(...)                                                                                 \
	{                                                                                          \
		.v = (const char *[]){__VA_ARGS__},                                                \
		.n = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)                        \
	}
#define VIEW(...) (&(struct view_options){__VA_ARGS__})

#define MAIN	  "<module> (/srv/app.py:3)"
#define RUN	  "Spam.run (json/decoder.py:12)"
#define ZIP	  "deflate (libz.so.1)"
#define READ	  "vfs_read ([kernel])"
#define ALL                                                                                        \
	MAIN " 4\n" MAIN ";" RUN ";" RUN ";" READ " 2\n" MAIN ";" RUN ";" ZIP " 1\n[no stack] "    \
	     "8\n"

static void test_samples(void **state)
{
	assert_view(VIEW(.processes = TEXTS("nobody", "web")), ALL);
	assert_view(VIEW(.processes = TEXTS("7")), ALL);
	assert_view(VIEW(.processes = TEXTS("web (pid 7)")), ALL);
	assert_view(VIEW(.threads = TEXTS("w-*")),
		    MAIN ";" RUN ";" RUN ";" READ " 2\n" MAIN ";" RUN ";" ZIP " 1\n");
	assert_view(VIEW(.threads = TEXTS("/-2$/")), MAIN ";" RUN ";" RUN ";" READ " 2\n");
	assert_view(VIEW(.threads = TEXTS("8")), MAIN ";" RUN ";" ZIP " 1\n");
	assert_view(VIEW(.labels = TEXTS("v=1", "v=3", "process=w*")), MAIN " 4\n");
	assert_view(VIEW(.kinds = 1 << KIND_KERNEL), MAIN ";" RUN ";" RUN ";" READ " 2\n");
	assert_view(VIEW(.kinds = 1 << KIND_KERNEL | 1 << KIND_PYTHON),
		    MAIN " 4\n" MAIN ";" RUN ";" RUN ";" READ " 2\n");
	assert_view(VIEW(.modules = TEXTS("json")),
		    MAIN ";" RUN ";" RUN ";" READ " 2\n" MAIN ";" RUN ";" ZIP " 1\n");
	assert_view(VIEW(.modules = TEXTS("libz.so.1")), MAIN ";" RUN ";" ZIP " 1\n");
	assert_view(VIEW(.modules = TEXTS("[kernel]")), MAIN ";" RUN ";" RUN ";" READ " 2\n");
	assert_view(VIEW(.modules = TEXTS("jso")), "");
}

static void test_stacks(void **state)
{
	static const char run[] = MAIN ";" RUN ";" RUN ";" READ " 2\n" MAIN ";" RUN ";" ZIP " 1\n";
	static const char *const names[] = {"Spam.run",
					    "json.decoder.Spam.run",
					    "json.decoder",
					    "json/decoder.py",
					    "json/decoder.py:12",
					    "Spam.*",
					    "/run .json/",
					    "/usr/lib/python3.12/json/decoder.py",
					    RUN,
					    "/^json.*run$/"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_view(VIEW(.focus = TEXTS(names[i])), run);
	assert_view(VIEW(.ignore = TEXTS("Spam.run")), MAIN " 4\n[no stack] 8\n");
	assert_view(VIEW(.focus = TEXTS("Spam.run"), .ignore = TEXTS("deflate")),
		    MAIN ";" RUN ";" RUN ";" READ " 2\n");
}

static void test_frames(void **state)
{
	assert_view(VIEW(.hide = TEXTS("Spam.run")),
		    MAIN " 4\n" MAIN ";" ZIP " 1\n" MAIN ";" READ " 2\n[no stack] 8\n");
	assert_view(VIEW(.show = TEXTS("Spam.run")), RUN " 1\n" RUN ";" RUN " 2\n[no stack] 12\n");
	assert_view(VIEW(.invert = true), MAIN " 4\n[no stack] 8\n" ZIP ";" RUN ";" MAIN " 1\n" READ
					       ";" RUN ";" RUN ";" MAIN " 2\n");
	assert_view(VIEW(.grain = VIEW_MODULES),
		    "[no stack] 8\napp (/srv/app.py) 4\n"
		    "app (/srv/app.py);json.decoder (json/decoder.py);[kernel] 2\n"
		    "app (/srv/app.py);json.decoder (json/decoder.py);libz.so.1 1\n");
	assert_view(VIEW(.grain = VIEW_FUNCTIONS, .focus = TEXTS("deflate")),
		    "<module> (/srv/app.py);Spam.run (json/decoder.py);" ZIP " 1\n");
}

/*
 * Modules in archives (.zip, .egg) have the names that Python gives them, wherever the archive is.
 */
static void test_archives(void **state)
{
	static const struct {
		const char *file, *module;
	} cases[] = {{"/srv/app.pyz/pkg/core.py", "pkg.core"},
		     {"app.pyz/__main__.py", "__main__"},
		     {"/usr/lib/python3.12/site-packages/spam-1-py3.egg/spam/__init__.py", "spam"},
		     {"/usr/lib/python312.zip/json/decoder.py", "json.decoder"},
		     {"/srv/zip/core.py", "core"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = test_profile();
		uint32_t id = test_location(p, &(struct test_frame){"f", cases[i].file, 1});
		struct render_names *names = render_names_new(p);
		_cleanup_str_ struct str module = {};

		assert_non_null(names);
		view_module(p, names, id, &module);
		assert_string_equal(str_cstr(&module), cases[i].module);
		render_names_free(names);
		profile_free(p);
	}
}

/*
 * A library's module counts as one module, even if two Pythons or two virtual environments have it
 * installed. Two scripts with the same name are two modules.
 */
static void test_installed_twice(void **state)
{
	static const struct {
		const char *files[2], *modules[2];
	} cases[] = {
		{{"/opt/a/lib/python3.13/json/encoder.py", "/opt/b/lib/python3.9/json/encoder.py"},
		 {"json.encoder", "json.encoder"}},
		{{"/a/lib/python3.9/site-packages/pkg/core.py",
		  "/b/lib/python3.9/site-packages/pkg/core.py"},
		 {"pkg.core", "pkg.core"}},
		{{"/srv/old/app.py", "old/app.py"}, {"app", "old.app"}}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = test_profile();
		uint32_t id[2];
		struct render_names *names;

		for (size_t k = 0; k < 2; k++)
			id[k] = test_location(p, &(struct test_frame){"f", cases[i].files[k], 1});
		names = render_names_new(p);
		assert_non_null(names);
		for (size_t k = 0; k < 2; k++) {
			_cleanup_str_ struct str module = {};

			view_module(p, names, id[k], &module);
			assert_string_equal(str_cstr(&module), cases[i].modules[k]);
		}
		render_names_free(names);
		profile_free(p);
	}
}

static void test_native(void **state)
{
	static const struct {
		enum view_native native;
		const char *want;
	} cases[] = {{VIEW_NATIVE_FULL, ZIP " 2\n" ZIP ";" MAIN ";" ZIP ";" RUN ";" READ " 1\n"},
		     {VIEW_NATIVE_LEAF, MAIN ";" RUN ";" READ " 1\n" ZIP " 2\n"},
		     {VIEW_NATIVE_NONE, MAIN ";" RUN " 1\n[no stack] 2\n"}};
	const struct test_frame main = {"<module>", "/srv/app.py", 3};
	const struct test_frame run = {"Spam.run", "/usr/lib/python3.12/json/decoder.py", 12};
	const struct test_frame zip = {"deflate", NULL, 0, KIND_NATIVE};
	const struct test_frame kernel = {"vfs_read", NULL, 0, KIND_KERNEL};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = test_profile();
		_cleanup_free_ char *text = NULL;
		size_t n;
		FILE *f = open_memstream(&text, &n);

		test_sample(p, FRAMES(zip, main, zip, run, kernel), NULL, 1);
		test_sample(p, FRAMES(zip), NULL, 2);
		assert_int_equal(view_apply(&p, VIEW(.native = cases[i].native), NULL), 0);
		assert_int_equal(render_by_name("folded")->write(p, f, &(struct render_options){}),
				 0);
		fclose(f);
		assert_string_equal(text, cases[i].want);
		profile_free(p);
	}
}

static void assert_dotted(struct profile *p, const char *file, const char *want)
{
	const struct test_frame work = {"work", file, 1};
	uint32_t location = test_location(p, &work);
	struct render_names *names = render_names_new(p);
	_cleanup_str_ struct str name = {};

	assert_non_null(names);
	view_dotted(p, names, location, &name);
	assert_string_equal(str_cstr(&name), want);
	render_names_free(names);
}

/*
 * Modules have the names that Python gives them when it is started as `python old/app.py`, so that
 * sys.path begins with old.
 */
static void test_modules(void **state)
{
	static const char *const files[] = {"/srv/old/app.py", "/srv/old/util.py",
					    "/srv/old/pkg/part.py", "/srv/lib/part.py",
					    "/opt/tool.py"};
	static const char *const names[] = {"app.work", "util.work", "pkg.part.work",
					    "lib.part.work", "tool.work"};
	struct profile *p = test_profile();

	assert_int_equal(comments_add(&profile_meta(p)->comments, "cwd: /srv"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		test_sample(p, FRAMES({"work", files[i], 1}), LABELS("process", "app.py"), 1);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_dotted(p, files[i], names[i]);
	/* if two scripts ran, names that both have keep their directory */
	test_sample(p, FRAMES({"work", "/srv/new/app.py", 1}), LABELS("process", "app.py"), 1);
	assert_dotted(p, "/srv/new/app.py", "new.app.work");
	assert_dotted(p, files[0], "old.app.work");
	assert_dotted(p, files[1], names[1]);
	profile_free(p);
}

static int sum_times(void *arg, const struct profile_sample *s)
{
	int64_t *sum = arg;

	*sum += s->time_ns + s->values[0] * 1000;
	return 0;
}

static void test_times(void **state)
{
	struct profile *p = test_profile();
	int64_t sum = 0;

	for (int64_t i = 0; i < 5; i++)
		assert_int_equal(
			profile_add(p, &(struct profile_sample){.time_ns = i * 10, .values = {1}}),
			0);
	profile_meta(p)->duration_ns = 50;
	profile_meta(p)->time_ns = 1000;
	assert_int_equal(view_apply(&p, VIEW(.since_ns = 10, .until_ns = 30), NULL), 0);
	assert_int_equal(profile_n_samples(p), 2);
	assert_int_equal(profile_meta(p)->duration_ns, 20);
	assert_int_equal(profile_meta(p)->time_ns, 1010);
	assert_int_equal(profile_each(p, sum_times, &sum), 0);
	assert_int_equal(sum, 0 + 10 + 2000);
	profile_free(p);
	p = made();
	assert_int_equal(view_apply(&p, VIEW(.since_ns = 1), NULL), -EINVAL);
	assert_non_null(strstr(err_msg(), "the profile has no times"));
	profile_free(p);
}

/*
 * Makes a profile of waits. Its values: samples, time waited, time waited for the GIL, and time
 * that other threads waited for this one.
 */
static struct profile *made_of_waits(void)
{
	struct profile *p = test_profile();
	struct profile_meta *m = profile_meta(p);

	m->values[1] = (struct profile_value_type){"off_cpu", "nanoseconds"};
	m->values[2] = (struct profile_value_type){"gil_wait", "nanoseconds"};
	m->values[3] = (struct profile_value_type){"gil_blame", "nanoseconds"};
	m->n_values = 4;
	m->duration_ns = 1000;
	return p;
}

static void add_wait(struct profile *p, const char *state, int64_t time_ns, int64_t off,
		     int64_t gil, int64_t blame)
{
	struct profile_label label = {profile_string(p, "state"), profile_string(p, state)};
	struct profile_sample s = {.time_ns = time_ns, .values = {1, off, gil, blame}};

	s.stack = profile_stack(p, NULL, 0);
	s.labels = profile_labels(p, &label, 1);
	assert_int_equal(profile_add(p, &s), 0);
}

static int sum_values(void *arg, const struct profile_sample *s)
{
	int64_t *sums = arg;

	for (int i = 0; i < 4; i++)
		sums[i] += s->values[i];
	sums[4] += s->time_ns;
	return 0;
}

/*
 * A thread ended a wait of @ns at time 500. Asserts what the view (the part of the profile that is
 * shown) leaves of the sample that blames the thread: its count, its time (@left) and the wait's
 * end.
 */
static void assert_cut_ended(int64_t ns, const struct view_options *o, int64_t count, int64_t left,
			     int64_t end)
{
	struct profile *p = made_of_waits();
	struct profile_sample s = {.time_ns = 500, .values = {[3] = ns}};
	int64_t sums[5] = {};

	profile_meta(p)->values[3].type = "lock_blame";
	s.stack = profile_stack(p, NULL, 0);
	assert_int_equal(profile_add(p, &s), 0);
	assert_int_equal(view_apply(&p, o, NULL), 0);
	assert_int_equal(profile_n_samples(p), count);
	assert_int_equal(profile_each(p, sum_values, sums), 0);
	assert_int_equal(sums[3], left);
	assert_int_equal(sums[4], end);
	profile_free(p);
}

/*
 * Asserts what a view (the part of the profile that is shown) leaves of one wait: its values and
 * its time.
 */
static void assert_cut(const char *state, int64_t off, int64_t gil, int64_t blame,
		       const struct view_options *o, const int64_t want[static 5])
{
	struct profile *p = made_of_waits();
	struct view_totals totals;
	int64_t sums[5] = {};

	add_wait(p, state, 100, off, gil, blame);
	assert_int_equal(view_apply(&p, o, &totals), 0);
	assert_int_equal(profile_each(p, sum_values, sums), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(sums[i], want[i]);
	assert_int_equal(totals.shown[1], want[1]);
	assert_int_equal(totals.all[1], off);
	profile_free(p);
}

#define LEFT(...) ((const int64_t[5]){__VA_ARGS__})

/* A wait counts with the part of it that lies in the time shown. */
static void test_cut_waits(void **state)
{
	assert_cut("net", 400, 0, 80, VIEW(.since_ns = 200), LEFT(1, 300, 0, 60, 0));
	assert_cut("net", 400, 0, 80, VIEW(.until_ns = 200), LEFT(1, 100, 0, 20, 100));
	assert_cut("net", 400, 0, 80, VIEW(.since_ns = 200, .until_ns = 300), LEFT(1, 100, 0, 20));
	assert_cut("net", 400, 0, 80, VIEW(.since_ns = 50, .until_ns = 900),
		   LEFT(1, 400, 0, 80, 50));
	assert_cut("net", 400, 0, 80, VIEW(.since_ns = 500), LEFT(0));
	assert_cut("net", 400, 0, 80, VIEW(.until_ns = 100), LEFT(0));
	/*
	 * the wait for the GIL lasts until the thread gets a CPU, so it may be longer than off_cpu
	 */
	assert_cut("gil", 400, 500, 0, VIEW(.since_ns = 450), LEFT(1, 50, 150));
	assert_cut("gil", 400, 500, 0, VIEW(.since_ns = 550), LEFT(1, 0, 50));
	assert_cut("gil", 0, 500, 0, VIEW(.until_ns = 150), LEFT(1, 0, 50, 0, 100));
	/* a sum of several short times counts completely if the sample's own time is shown */
	assert_cut("runnable", 400, 0, 0, VIEW(.since_ns = 200), LEFT(0));
	assert_cut("stolen", 400, 0, 0, VIEW(.until_ns = 200), LEFT(1, 400, 0, 0, 100));
	assert_cut("net", INT64_MAX - 100, 0, INT64_MAX, VIEW(.since_ns = 101),
		   LEFT(1, INT64_MAX - 101, 0, INT64_MAX));
}

/*
 * The sample that blames the thread which ended a wait is cut like the wait. Its time is the wait's
 * end.
 */
static void test_cut_ended(void **state)
{
	assert_cut_ended(400, VIEW(.since_ns = 200), 1, 300, 300);
	assert_cut_ended(400, VIEW(.until_ns = 200), 1, 100, 200);
	assert_cut_ended(400, VIEW(.since_ns = 200, .until_ns = 300), 1, 100, 100);
	assert_cut_ended(400, VIEW(.since_ns = 50, .until_ns = 900), 1, 400, 450);
	assert_cut_ended(400, VIEW(.since_ns = 500), 0, 0, 0);
	assert_cut_ended(400, VIEW(.until_ns = 100), 0, 0, 0);
	/*
	 * the sample also stands for other waits, so its time is spread evenly from the recording's
	 * start
	 */
	assert_cut_ended(5000, VIEW(.until_ns = 100), 1, 1000, 100);
}

/*
 * An inlined frame stays inlined if the view (the part that is shown) still has the function around
 * it. The view can be written as pprof.
 */
static void test_inlined(void **state)
{
	const struct view_options *const views[] = {
		VIEW(.hide = TEXTS("nothing")), VIEW(.hide = TEXTS("outer")),
		VIEW(.hide = TEXTS("inner")),	VIEW(.invert = true),
		VIEW(.grain = VIEW_LINES),	VIEW(.grain = VIEW_FUNCTIONS),
		VIEW(.grain = VIEW_MODULES),	VIEW(.show = TEXTS("in*"))};

	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		struct profile *p = test_profile();
		uint32_t stack[3];
		struct profile_location l;
		FILE *null = fopen("/dev/null", "w");

		stack[2] = test_location(
			p, &(struct test_frame){"outer", "o.c", 1, KIND_NATIVE, .address = 64});
		stack[0] = test_location(
			p, &(struct test_frame){"inner", "i.c", 1, KIND_NATIVE, .address = 64});
		l = *profile_get_location(p, stack[0]);
		l.outer = stack[2];
		stack[1] = profile_location(p, &l);
		l.outer = stack[1];
		stack[0] = profile_location(p, &l);
		assert_int_equal(
			profile_add(p, &(struct profile_sample){.stack = profile_stack(p, stack, 3),
								.time_ns = -1,
								.values = {1, 1}}),
			0);
		assert_int_equal(view_apply(&p, views[i], NULL), 0);
		assert_int_equal(pprof_write(p, null, PROFILE_TIMES_EXACT), 0);
		fclose(null);
		profile_free(p);
	}
}

/*
 * n calls are nested, each with a sample. That takes n frames, but n * n / 2 frames with --invert,
 * which krait refuses.
 */
static void test_deeply_nested(void **state)
{
	enum { DEPTH = 12000 };
	uint32_t *stack = calloc(DEPTH, sizeof(*stack));
	struct profile *p = test_profile();

	assert_non_null(stack);
	for (int i = 0; i < DEPTH; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		stack[DEPTH - 1 - i] =
			test_location(p, &(struct test_frame){name, "f.c", 1, KIND_NATIVE});
		assert_int_equal(
			profile_add(p, &(struct profile_sample){.stack = profile_stack(
									p, stack + DEPTH - 1 - i,
									(size_t)i + 1),
								.time_ns = -1,
								.values = {1, 1}}),
			0);
	}
	assert_int_equal(view_apply(&p, VIEW(.invert = true), NULL), -E2BIG);
	assert_non_null(strstr(err_msg(), "the profile with inverted stacks would need more than"));
	assert_int_equal(profile_n_samples(p), DEPTH); /* the profile is as it was before */
	assert_int_equal(view_apply(&p,
				    VIEW(.invert = true, .focus = TEXTS("f99"),
					 .hide = TEXTS("/f[0-9]{4}/")),
				    NULL),
			 0);
	profile_free(p);
	free(stack);
}

static void test_bad(void **state)
{
	assert_int_equal(pattern_check("/(/"), -EINVAL);
	assert_non_null(strstr(err_msg(), "'/(/' is not a regular expression"));
	assert_int_equal(pattern_check("/usr/lib"), 0);
	assert_int_equal(view_kind_by_word("pythn"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_archives),
		cmocka_unit_test(test_installed_twice),
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_cut_waits),
		cmocka_unit_test(test_cut_ended),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_deeply_nested),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
