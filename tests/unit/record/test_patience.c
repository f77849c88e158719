/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long krait waits for results: as long as new results come, up to a limit. The test takes 8 s
 * of real time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "base/system/clock.h"
#include "record/patience.h"

#define STEP_NS (100 * NSEC_PER_MSEC)

/*
 * Waits while results come, again and again, for @coming seconds. Returns how many seconds the wait
 * took.
 */
static double waited(double coming)
{
	struct patience p = {.seconds = 1};
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	double seconds = 0;
	unsigned done = 0;

	while (patience_has(&p, "names", done)) {
		nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
		seconds = (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / NSEC_PER_SEC;
		done += seconds < coming;
	}
	assert_false(patience_has(&p, "names", done + 1));
	return seconds;
}

static void test_nothing_comes(void **state)
{
	double seconds = waited(0);

	assert_true(seconds > 0.8 && seconds < 1.8);
}

/* Each result that comes starts the time limit again. */
static void test_something_comes(void **state)
{
	double seconds = waited(2);

	assert_true(seconds > 2.7 && seconds < 4.2);
}

static void test_comes_for_ever(void **state)
{
	double seconds = waited(1000);

	assert_true(seconds > PATIENCE_LIMIT - 0.3 && seconds < PATIENCE_LIMIT + 1.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_comes),
		cmocka_unit_test(test_something_comes),
		cmocka_unit_test(test_comes_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
