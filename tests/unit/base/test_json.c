/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the JSON that krait writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/text/json.h"

static void assert_string(const char *s, const char *want)
{
	_cleanup_str_ struct str b = {};
	_cleanup_free_ char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	json_string(&b, s);
	assert_string_equal(str_cstr(&b), want);
	json_put_string(f, s);
	fclose(f);
	assert_string_equal(text, want);
}

static void test_strings(void **state)
{
	assert_string("", "\"\"");
	assert_string("a\"b\\c\n\x01\xff\xc3\xa9",
		      "\"a\\\"b\\\\c\\u000a\\u0001\xef\xbf\xbd\xc3\xa9\"");
	assert_string("\x7f\xc2\x80\xc2\x9f\xc2\xa0", "\"\\u007f\\u0080\\u009f\xc2\xa0\"");
	assert_string("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
		      "\"\xe2\x80\xa7\\u2028\\u2029\\u202a\"");
	assert_string("\xf3\xa0\x81\x81", "\"\\udb40\\udc41\"");
	assert_string("\xed\xa0\x80\xe2\x80",
		      "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void assert_decimal(int64_t v, unsigned places, const char *want)
{
	_cleanup_free_ char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	json_put_decimal(f, v, places);
	fclose(f);
	assert_string_equal(text, want);
}

static void test_decimals(void **state)
{
	assert_decimal(0, 3, "0");
	assert_decimal(1500, 3, "1.5");
	assert_decimal(-1, 6, "-0.000001");
	assert_decimal(1001001, 6, "1.001001");
	assert_decimal(7, 0, "7");
	assert_decimal(INT64_MIN, 9, "-9223372036.854775808");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
