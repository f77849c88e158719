/* SPDX-License-Identifier: BSD-2-Clause */
/* What files of installed distributions say that came together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/clock.h"
#include "proc/distribution.h"

static const struct {
	const char *text, *file, *want; /* NULL: the file isn't of it */
} records[] = {
	{"jobs/__init__.py,sha256=x,1\njobs/sub/a.py,,\nhelpers/__init__.py,,\nhelpers/b.py,,\n",
	 "jobs/sub/a.py", "jobs helpers"},
	{"jobs/__init__.py,,\r\nhelpers.py,,\r\n", "jobs/__init__.py", "jobs helpers"},
	{"acme/jobs/__init__.py,,\nacme/jobs/a.py,,\nacme/tools/deep/b.py,,\n", "acme/jobs/a.py",
	 "acme.jobs acme.tools.deep"},
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

/* Each file in a folder of its own, and none has what makes it a package: each would be looked for in all of the text. */
static void test_very_many(void **state)
{
	_cleanup_str_ struct str text = {}, got = {};
	uint64_t began = clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < 100000; i++)
		str_addf(&text, "p%d/q/r/m.py,,\n", i);
	assert_true(distribution_from_record(str_cstr(&text), "p0/q/r/m.py", &got));
	assert_in_range(got.n, 100, 1024); /* a few of them are told */
	assert_in_range(clock_ns(CLOCK_MONOTONIC) - began, 0, 20 * NSEC_PER_SEC);
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
		cmocka_unit_test(test_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
