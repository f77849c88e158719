/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests lives_gone(), which says whether a process has ended. The records of perf's side band,
 * which say when processes and threads begin and end, may come in any order. The answer is true
 * only if no thread of the process can run any more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/sideband/lives.h"

static void test_one_thread(void **state)
{
	struct lives l = {};

	lives_ended(&l, 7, 200);
	/* no record says that the process began, so it may have other threads */
	assert_false(lives_gone(&l, 7, 100));
	lives_began(&l, 7);
	assert_true(lives_gone(&l, 7, 100));
	assert_true(lives_gone(&l, 7, 200));
	/* later than at 200, the process number may belong to another process */
	assert_false(lives_gone(&l, 7, 201));
	assert_false(lives_gone(&l, 8, 100));
	lives_ended(&l, 7, 300);
	lives_ended(&l, 7, 250);
	assert_true(lives_gone(&l, 7, 300));
	lives_clear(&l);
	assert_false(lives_gone(&l, 7, 100));
	lives_fini(&l);
}

static void test_runs(void **state)
{
	struct lives l = {};

	lives_began(&l, 7);
	assert_false(lives_gone(&l, 7, 0));
	lives_fini(&l);
}

static void test_threads(void **state)
{
	struct lives l = {};

	lives_began(&l, 7);
	lives_ended(&l, 7, 200);
	lives_thread(&l, 7);
	assert_false(lives_gone(&l, 7, 100));
	lives_fini(&l);
}

/*
 * If memory ran out when a thread should have been noted (.unsure), that thread may still run. So
 * no process counts as ended until lives_clear().
 */
static void test_no_memory(void **state)
{
	struct lives l = {.unsure = true};

	lives_began(&l, 7);
	lives_ended(&l, 7, 200);
	assert_false(lives_gone(&l, 7, 100));
	lives_clear(&l);
	lives_began(&l, 7);
	lives_ended(&l, 7, 200);
	assert_true(lives_gone(&l, 7, 100));
	lives_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_thread),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
