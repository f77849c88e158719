/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of each program that tests stack walks: runs every function of the program's list X(NAME)
 * for every release, and defines main(). Include this header after cmocka.h.
 */
#ifndef TESTS_HOST_WALK_WALK_TESTS_H
#define TESTS_HOST_WALK_WALK_TESTS_H

#include "walk_host.h"

#define RELEASE_TEST(name)                                                                         \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		each_release(name);                                                                \
	}
#define RELEASE_ENTRY(name) cmocka_unit_test(test_##name),

static int walk_setup(void **state)
{
	host_init();
	return 0;
}

static int walk_teardown(void **state)
{
	host_fini();
	return 0;
}

/* Defines main(). The arguments after @group are structs CMUnitTest. */
#define WALK_MAIN(group, ...)                                                                      \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = {__VA_ARGS__};                                   \
                                                                                                   \
		return cmocka_run_group_tests_name(group, tests, walk_setup, walk_teardown);       \
	}

#endif
