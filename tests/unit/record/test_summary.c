/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests when the closing lines of a recording report that samples are missing, or that the sampling
 * rate wasn't the one asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/figures/summary.h"

static void test_missing(void **state)
{
	assert_int_equal(summary_missing(0, 0), 0);
	assert_int_equal(summary_missing(1000, 1200), 0);
	/* up to three times the square root of the expected number may be missing by chance */
	assert_int_equal(summary_missing(27, 24), 0);
	assert_int_equal(summary_missing(10000, 9700), 0);
	assert_int_equal(summary_missing(10000, 9699), 301);
	/* of very many samples, up to 1 % may be missing */
	assert_int_equal(summary_missing(1000000, 990000), 0);
	assert_int_equal(summary_missing(1000000, 989000), 11000);
}

static void test_rate(void **state)
{
	assert_false(summary_rate_is_off(0, 0));
	/* up to three times the square root of the expected number may be chance */
	assert_false(summary_rate_is_off(185, 196));
	assert_false(summary_rate_is_off(100, 130));
	assert_true(summary_rate_is_off(100, 131));
	assert_true(summary_rate_is_off(100, 69));
	/* with very many samples, the rate may be off by up to 5 % */
	assert_false(summary_rate_is_off(1000000, 1050000));
	assert_true(summary_rate_is_off(1000000, 1050001));
	assert_true(summary_rate_is_off(1000000, 949999));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests_name("cli_summary", tests, NULL, NULL);
}
