/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests whose code a function is (the user's, a package's, the standard library's): krait decides
 * by the function's file and by the other functions in that file. The paths are those of real
 * recordings.
 */
#include "render_profile.h"
#include "view/names/names.h"

/* files and functions of processes with the current directory /srv/app */
static const struct {
	const char *file, *name;
	enum render_origin want;
} table[] = {
	{"/srv/app/pkg/a.py", "f", ORIGIN_OWN},
	{"/srv/app/manage.py", "<module>", ORIGIN_OWN},
	{"relative.py", "f", ORIGIN_OWN},
	/* from a package that was installed as editable */
	{"/home/me/src/lib/util.py", "f", ORIGIN_OWN},
	{"/tmp/ipykernel_7/1234.py", "<module>", ORIGIN_OWN},
	{"/srv/app/venv/lib/python3.12/site-packages/django/http.py", "f", ORIGIN_PACKAGE},
	{"/usr/lib/python3/dist-packages/yaml/__init__.py", "f", ORIGIN_PACKAGE},
	{"/home/me/.local/lib/python3.11/site-packages/shop/a.py", "f", ORIGIN_PACKAGE},
	{"/usr/lib/python3.11/json/decoder.py", "f", ORIGIN_STDLIB},
	{"/opt/lib64/python3.13t/zipfile.py", "f", ORIGIN_STDLIB},
	{"<frozen importlib._bootstrap>", "f", ORIGIN_STDLIB},
	{"<frozen runpy>", "_run_code", ORIGIN_STDLIB},
	/* scripts that start an installed package */
	{"/srv/app/venv/bin/gunicorn", "<module>", ORIGIN_PACKAGE},
	{"/usr/local/bin/pip3.11", "<module>", ORIGIN_PACKAGE},
	{"/usr/sbin/tool", "<module>", ORIGIN_PACKAGE},
	{"bin/scrapy", "<module>", ORIGIN_PACKAGE},
	{"/srv/app/bin/run.py", "<module>", ORIGIN_OWN},
	{"/srv/app/cabin/run", "<module>", ORIGIN_OWN},
	/* the user's script: it has a function of its own, in the next row */
	{"/srv/app/bin/crunch", "<module>", ORIGIN_OWN},
	{"/srv/app/bin/crunch", "work", ORIGIN_OWN},
	/* code without a file */
	{"<string>", "__init__", ORIGIN_PACKAGE},
	{"<attrs generated init shop.Order>", "__init__", ORIGIN_PACKAGE},
	{"<__array_function__ internals>", "dot", ORIGIN_PACKAGE},
	{"<stdin>", "<module>", ORIGIN_OWN},
	{"<python-input-3>", "f", ORIGIN_OWN},
	{"<ipython-input-1-abc>", "f", ORIGIN_OWN},
	{"<doctest a[0]>", "<module>", ORIGIN_OWN},
};

static uint32_t function_at(struct profile *p, size_t i)
{
	uint32_t location = test_location(p, &(struct test_frame){table[i].name, table[i].file, 1});

	return profile_get_location(p, location)->function;
}

static void test_table(void **state)
{
	struct profile *p = test_profile();
	uint32_t of[ARRAY_SIZE(table)];
	struct render_names *names;

	test_sample(p, NO_FRAMES, LABELS("cwd", "/srv/app", "process", "gunicorn"), 1);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		of[i] = function_at(p, i);
	names = render_names_new(p);
	assert_non_null(names);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (render_names_origin(names, of[i]) != table[i].want)
			fail_msg("%s in %s: %d", table[i].name, table[i].file,
				 (int)render_names_origin(names, of[i]));
	render_names_free(names);
	profile_free(p);
}

/*
 * In a process named `python -c`, code of <string> is the user's. In processes with other names,
 * such as workers of multiprocessing, it isn't.
 */
static void test_command(void **state)
{
	static const struct {
		const char *process;
		enum render_origin want;
	} cases[] = {{"python3 -c", ORIGIN_OWN}, {"multiprocessing.forkserver", ORIGIN_PACKAGE}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = test_profile();
		struct test_frame f = {"<module>", "<string>", 1};
		struct render_names *names;

		test_sample(p, FRAMES({"<module>", "<string>", 1}),
			    LABELS("process", cases[i].process), 1);
		names = render_names_new(p);
		assert_non_null(names);
		assert_int_equal(
			render_names_origin(
				names, profile_get_location(p, test_location(p, &f))->function),
			cases[i].want);
		render_names_free(names);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
