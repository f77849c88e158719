/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For how long control groups were throttled, read from the files of a cgroup tree that is made by
 * hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text/str.h"
#include "base/cleanup.h"
#include "proc/machine/throttled.h"

static char root[] = "/tmp/krait-throttled-XXXXXX";

static void make_group(const char *path, const char *stat)
{
	_cleanup_str_ struct str dir = {}, file = {}, procs = {};
	FILE *f;

	str_addf(&dir, "%s%s", root, path);
	assert_int_equal(mkdir(str_cstr(&dir), 0700), 0);
	str_addf(&procs, "%s/cgroup.procs", str_cstr(&dir));
	f = fopen(str_cstr(&procs), "w");
	assert_non_null(f);
	fclose(f);
	str_addf(&file, "%s/cpu.stat", str_cstr(&dir));
	f = fopen(str_cstr(&file), "w");
	assert_non_null(f);
	fputs(stat, f);
	fclose(f);
}

static int setup(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	_cleanup_str_ struct str command = {};

	str_addf(&command, "rm -r %s", root);
	return system(str_cstr(&command));
}

static uint64_t ns_of(const throttled_vec *v, const char *path)
{
	vec_foreach(t, v)
		if (streq(t->path, path))
			return t->ns;
	return 0;
}

static void test_list(void **state)
{
	throttled_vec now = {}, before = {};

	make_group("/cpu", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
	make_group("/cpu/a", "nr_periods 9\nnr_throttled 3\nthrottled_time 5000\n");
	make_group("/cpu/a/b", "usage_usec 9\nthrottled_usec 7\n");
	make_group("/cpu/c", "throttled_usec 99999999999999999999999\n");
	throttled_list(root, &now);
	assert_int_equal(ns_of(&now, "/a"), 5000);
	assert_int_equal(ns_of(&now, "/a/b"), 7000);
	assert_int_equal(now.n, 2);
	assert_int_equal(vec_push(&before, (struct throttled){.path = strdup("/a"), .ns = 4000}),
			 0);
	assert_int_equal(vec_push(&before, (struct throttled){.path = strdup("/a/b"), .ns = 7000}),
			 0);
	throttled_since(&now, &before);
	assert_int_equal(now.n, 1);
	assert_int_equal(ns_of(&now, "/a"), 1000);
	throttled_fini(&now);
	throttled_fini(&before);
}

static void test_holds(void **state)
{
	assert_true(throttled_holds("/a", "/a"));
	assert_true(throttled_holds("/a", "/a/b"));
	assert_true(throttled_holds("/", "/a/b"));
	assert_false(throttled_holds("/a", "/ab"));
	assert_false(throttled_holds("/a/b", "/a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_list, setup, teardown),
		cmocka_unit_test(test_holds),
	};

	return cmocka_run_group_tests_name("throttled", tests, NULL, NULL);
}
