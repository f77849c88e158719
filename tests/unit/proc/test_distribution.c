/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests which Python packages belong together, because one distribution (such as a wheel) installed
 * them. krait learns that from the distribution's list of files, called RECORD.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/system/clock.h"
#include "proc/distribution.h"

static const struct {
	/*
	 * the text of a RECORD, a file to look up, and the folders expected; NULL: the RECORD
	 * doesn't have that file
	 */
	const char *text, *file, *want;
} records[] = {
	{"jobs/__init__.py,sha256=x,1\njobs/sub/a.py,,\nhelpers/__init__.py,,\nhelpers/b.py,,\n",
	 "jobs/sub/a.py", "jobs helpers"},
	{"jobs/__init__.py,,\r\nhelpers.py,,\r\n", "jobs/__init__.py", "jobs helpers"},
	{"acme/jobs/__init__.py,,\nacme/jobs/a.py,,\nacme/tools/deep/b.py,,\n", "acme/jobs/a.py",
	 "acme.jobs acme.tools.deep"},
	{"acme/jobs/__init__.py,,\nacme/tools/__init__.py,,\nacme/jobs/b.py,,\nacme/tools/c.py,,\n",
	 "acme/jobs/b.py", "acme.jobs acme.tools"},
	{"jobs/deep/__init__.py,,\njobs/__init__.py,,\njob/a.py,,\n", "job/a.py", "jobs job"},
	{"jobs/a.py,,\n", "jobs/b.py", NULL},
	{"jobs/a.py.txt,,\n", "jobs/a.py", NULL},
	{"jobs/a.py,,\n../../bin/x.py,,\na-1.dist-info/b.py,,\n1/a.py,,\nx/data.txt,,\n/y/a.py,,\n",
	 "jobs/a.py", "jobs"},
	{"jobs/a.py", "jobs/a.py", ""},
	{"", "a.py", NULL},
};

static void test_records(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		_cleanup_str_ struct str got = {};
		bool found = distribution_from_record(records[i].text, records[i].file, &got);

		assert_int_equal(found, records[i].want != NULL);
		assert_string_equal(str_cstr(&got), records[i].want ?: "");
	}
}

static void test_top_level(void **state)
{
	_cleanup_str_ struct str got = {}, none = {};

	assert_true(distribution_from_top_level("helpers\njobs\nnot a name\n", "jobs/a.py", &got));
	assert_string_equal(str_cstr(&got), "helpers jobs");
	assert_false(distribution_from_top_level("helpers\n", "jobs/a.py", &none));
	assert_false(distribution_from_top_level("jobs\n", "", &none));
}

static void test_scripts(void **state)
{
	static const char *const scripts[][2] = {
		{"#!/usr/bin/python3\nimport sys\nfrom shop.cli import main\n", "shop"},
		{"from shop import main", "shop"},
		{"#!/bin/sh\nexec python3 \"$@\"\n", ""},
		{"x = 1\nfrom ", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		_cleanup_str_ struct str got = {};

		distribution_from_script(scripts[i][0], &got);
		assert_string_equal(str_cstr(&got), scripts[i][1]);
	}
}

static uint64_t spent_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

#define LIMIT_NS (NSEC_PER_SEC / 2)

/* A RECORD has very many files, each in a folder of its own, and no __init__.py. */
static void test_very_many(void **state)
{
	_cleanup_str_ struct str text = {}, got = {};
	uint64_t began;

	for (int i = 0; i < 100000; i++)
		str_addf(&text, "p%d/q/r/m.py,,\n", i);
	began = spent_ns();
	assert_true(distribution_from_record(str_cstr(&text), "p0/q/r/m.py", &got));
	assert_in_range(spent_ns() - began, 0, LIMIT_NS);
	assert_in_range(got.n, 100, 1024); /* krait returns only some of the folders */
}

/*
 * Checks that krait needs little CPU time for the longest RECORD that it reads: @head and many
 * copies of @line. It looks up the file of the first line.
 */
static void assert_quick(const char *head, const char *line)
{
	_cleanup_str_ struct str text = {}, got = {}, file = {};
	size_t n = strlen(line);
	uint64_t began;

	str_add(&text, head);
	str_add_n(&file, head, strcspn(head, ",\n"));
	while (text.n + n <= 4u << 20)
		str_add_n(&text, line, n);
	began = spent_ns();
	(void)distribution_from_record(str_cstr(&text), str_cstr(&file), &got);
	assert_in_range(spent_ns() - began, 0, LIMIT_NS);
	began = spent_ns();
	(void)distribution_from_top_level(str_cstr(&text), str_cstr(&file), &got);
	assert_in_range(spent_ns() - began, 0, LIMIT_NS);
}

static void test_hostile(void **state)
{
	_cleanup_str_ struct str folders = {}, names = {};

	for (int i = 0; i < 32; i++)
		str_addf(&folders, "p%d/b/c/d/e/f/g/h/m.py,,\n", i);
	for (int i = 0; i < 500; i++)
		str_addf(&names, "%c\n", 'a' + i % 26);
	assert_quick(str_cstr(&folders), "\n");
	assert_quick(str_cstr(&folders), "a\n");
	assert_quick(str_cstr(&folders), "x/__init__.py,,\n");
	assert_quick(str_cstr(&folders), "x/b/c/d/e/f/g/h/m.py,,\ny/m.py,,\n");
	assert_quick(str_cstr(&names), "z\n");
}

static void test_sites(void **state)
{
	assert_int_equal(distribution_site("/v/lib/site-packages/a.py"), 21);
	assert_int_equal(distribution_site("/site-packages/dist-packages/site-packages/a.py"), 43);
	assert_int_equal(distribution_site("/srv/app/a.py"), 0);
	assert_int_equal(distribution_site("site-packages/a.py"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records), cmocka_unit_test(test_top_level),
		cmocka_unit_test(test_scripts), cmocka_unit_test(test_very_many),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
