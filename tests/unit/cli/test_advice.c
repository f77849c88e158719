/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When another room of src/ reports an error about a setting, the command line adds the option's
 * name and advice to the message, once.
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
					   "--functions makes it smaller");
}

/*
 * No option's name is added to an error that isn't about a setting, or about a setting that no
 * option sets.
 */
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
