/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors that other folders of src/ report. The command line adds to an error the name of the
 * option and the option's advice, once.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "cli/advice.h"

static void test_option(void **state)
{
	assert_int_equal(err_of("value", "50 %", -EINVAL, "there is no %s", "such"), -EINVAL);
	assert_string_equal(err_msg(), "there is no such");
	assert_string_equal(error_words(), "--value 50 %: there is no such");
	assert_string_equal(error_words(), "--value 50 %: there is no such");
}

static void test_advice(void **state)
{
	(void)err_of("turning around", NULL, -E2BIG, "too deep");
	assert_int_equal(err_wrap(-E2BIG, "a.svg"), -E2BIG);
	assert_string_equal(error_words(), "--invert: a.svg: too deep; --focus, --hide or "
					   "--functions makes them smaller");
}

/* An error gets no option's name if it isn't about a setting, or if no option sets the setting. */
static void test_alone(void **state)
{
	(void)err_of("value", "cpu", -EINVAL, "first");
	(void)err_set(-EIO, "second");
	assert_string_equal(error_words(), "second");
	(void)err_of("value", "cpu", -EINVAL, "first");
	(void)err_sys(-ENOENT, "third");
	assert_string_equal(error_words(), "third: No such file or directory");
	(void)err_of("nobody knows", "x", -EINVAL, "fourth");
	assert_string_equal(error_words(), "fourth");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_option),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
