/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads strings of a target: all kinds of CPython's strings, invalid code points, control
 * characters, texts that were cut off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "python/heap/text.h"

#define ELLIPSIS "\xe2\x80\xa6"

static void assert_text(unsigned kind, uint32_t len, const void *raw, size_t n, const char *want)
{
	struct wire_text w = {.len = len, .bytes = (uint32_t)n, .kind = (uint8_t)kind};
	_cleanup_str_ struct str s = {};

	assert_int_equal(text_to_utf8(&w, raw, n, &s), 0);
	assert_string_equal(str_cstr(&s), want);
}

static void test_kinds(void **state)
{
	const uint16_t two[] = {'d', 0x44f, 0x4e2d, 0xffff};
	const uint32_t four[] = {0x1f40d, 'x', 0x10ffff};

	assert_text(1, 5, "na\xefve", 5, "na\xc3\xafve");
	assert_text(2, 4, two, sizeof(two), "d\xd1\x8f\xe4\xb8\xad\xef\xbf\xbf");
	assert_text(4, 3, four, sizeof(four), "\xf0\x9f\x90\x8dx\xf4\x8f\xbf\xbf");
	assert_text(1, 0, "", 0, "");
}

static void test_not_code_points(void **state)
{
	const uint16_t two[] = {0xd800, 'a', 0xdfff};
	const uint32_t four[] = {0x110000, 0xffffffff, 0xdc80};

	assert_text(2, 3, two, sizeof(two),
		    "\xef\xbf\xbd"
		    "a"
		    "\xef\xbf\xbd");
	assert_text(4, 3, four, sizeof(four), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void test_byte_strings(void **state)
{
	assert_text(0, 4, "caf\xe9", 4, "caf\xc3\xa9");
	assert_text(0, 5, "caf\xc3\xa9", 5, "caf\xc3\xa9");
	assert_text(0, 4, "\xf0\x9f\x90\x8d", 4, "\xf0\x9f\x90\x8d");
	/*
	 * bytes that aren't valid UTF-8 are read as latin-1: an overlong sequence, a surrogate, a
	 * code point above U+10FFFF, a lone continuation byte
	 */
	assert_text(0, 2, "\xc0\xaf", 2, "\xc3\x80\xc2\xaf");
	assert_text(0, 3, "\xe0\xa0", 2, ELLIPSIS);
	assert_text(0, 3, "\xed\xa0\x80", 3, "\xc3\xad\xc2\xa0\\x80");
	assert_text(0, 4, "\xf4\x90\x80\x80", 4, "\xc3\xb4\\x90\\x80\\x80");
	assert_text(0, 1, "\xa9", 1, "\xc2\xa9");
	assert_text(0, 2, "a\xc3", 2, "a\xc3\x83");
}

static void test_control_characters(void **state)
{
	const uint16_t two[] = {0x2028, 0x2029};

	assert_text(1, 5, "a\nb\r\t", 5, "a\\nb\\r\\t");
	assert_text(1, 4, "\x1b[\0\x7f", 4, "\\x1b[\\x00\\x7f");
	assert_text(1, 1, "\x85", 1, "\\x85");
	assert_text(2, 2, two, sizeof(two), "\\u2028\\u2029");
	assert_text(0, 2, "\n\xff", 2, "\\n\xc3\xbf");
}

static size_t cut_length(unsigned kind, const void *raw, size_t n, struct str *s)
{
	struct wire_text w = {.len = (uint32_t)(n / (kind ? kind : 1)), .kind = (uint8_t)kind};

	assert_int_equal(text_to_utf8(&w, raw, n, s), 0);
	return s->n;
}

static void test_cut(void **state)
{
	_cleanup_str_ struct str s = {};
	uint16_t two[3000];
	char one[5000];

	memset(one, 'x', sizeof(one));
	assert_int_equal(cut_length(1, one, TEXT_MAX_BYTES, &s), TEXT_MAX_BYTES);
	assert_false(str_ends(s.s, ELLIPSIS));
	str_clear(&s);
	assert_int_equal(cut_length(1, one, TEXT_MAX_BYTES + 1, &s), TEXT_MAX_BYTES);
	assert_true(str_ends(s.s, "x" ELLIPSIS));
	str_clear(&s);
	/*
	 * 1,364 characters of three bytes fit before the "..." of a text that is cut: fewer than
	 * 4,096 bytes, which isn't a multiple of three
	 */
	for (size_t i = 0; i < ARRAY_SIZE(two); i++)
		two[i] = 0x4e2d;
	assert_int_equal(cut_length(2, two, sizeof(two), &s), 1364 * 3 + 3);
	assert_true(str_ends(s.s, "\xe4\xb8\xad" ELLIPSIS));
	/* only the beginning of the text was copied; it may end within a code point */
	assert_text(1, 100, "abc", 3, "abc" ELLIPSIS);
	assert_text(2, 9, two, 3, "\xe4\xb8\xad" ELLIPSIS);
	assert_text(0, 9, "ab\xc3", 3, "ab" ELLIPSIS);
	assert_text(4, 1, one, 3, ELLIPSIS);
}

static void test_impossible(void **state)
{
	_cleanup_str_ struct str s = {};

	for (unsigned kind = 0; kind < 256; kind++) {
		struct wire_text w = {.len = 1, .kind = (uint8_t)kind};
		bool ok = kind == 0 || kind == 1 || kind == 2 || kind == 4;

		assert_int_equal(text_to_utf8(&w, (const uint8_t *)"abcd", 4, &s),
				 ok ? 0 : -EINVAL);
	}
}

static void assert_line(unsigned kind, const void *raw, size_t n, const char *want)
{
	struct wire_text w = {.len = (uint32_t)(n / (kind ? kind : 1)), .kind = (uint8_t)kind};
	_cleanup_str_ struct str s = {};

	assert_int_equal(text_add_line(&w, raw, n, &s), want ? 0 : -EINVAL);
	if (want)
		assert_string_equal(str_cstr(&s), want);
}

static void test_lines(void **state)
{
	const uint16_t two[] = {'\t', 0x4e2d, '\n'};

	assert_line(1, "\ta\xe9 \x1b", 5, "\ta\xc3\xa9 \x1b\n");
	assert_line(1, "a\n", 2, "a\n");
	assert_line(1, "", 0, "\n");
	assert_line(2, two, sizeof(two), "\t\xe4\xb8\xad\n");
	assert_line(0, "caf\xc3\xa9\n", 6, "caf\xc3\xa9\n");
	assert_line(0, "caf\xe9\n", 5, "caf\xc3\xa9\n");
	assert_line(1, "a\nb", 3, NULL);
	assert_line(1, "\n\n", 2, NULL);
	assert_line(1, "a\0\n", 3, NULL);
	assert_line(3, "abc", 3, NULL);
	/* the record says that the text has 3 bytes, but contains only 2 of them */
	assert_int_equal(text_add_line(&(struct wire_text){.len = 3, .kind = 1},
				       (const uint8_t *)"ab", 2, &(struct str){}),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	     cmocka_unit_test(test_not_code_points),
		cmocka_unit_test(test_byte_strings), cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_cut),	     cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
