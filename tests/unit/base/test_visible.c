/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests how krait replaces characters that it doesn't print as they are: in a text, and in a stream
 * that is written in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/text/visible.h"

static void assert_shown(const char *text, const char *want)
{
	char copy[128];

	strcpy(copy, text);
	visible_in_place(copy);
	assert_string_equal(copy, want);
}

static void test_in_place(void **state)
{
	assert_shown("", "");
	assert_shown("plain \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\x8d",
		     "plain \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\x8d");
	assert_shown("\033[2J\n\x7f", "?[2J??");
	assert_shown("\xc2\x9b"
		     "2J",
		     "?2J");
	assert_shown("a\xe2\x80\xae"
		     "b\xe2\x81\xa6"
		     "c\xd8\x9c"
		     "d\xe2\x80\x8f",
		     "a?b?c?d?");
	assert_shown("\xf3\xa0\x81\x81x\xef\xbb\xbf", "?x?");
	/* a combining accent and a joiner stay as they are */
	assert_shown("e\xcc\x81\xe2\x80\x8d", "e\xcc\x81\xe2\x80\x8d");
	/* Each byte that isn't UTF-8 gives a '?': ESC in two bytes, a surrogate, a text cut off. */
	assert_shown("\x9b\xff", "??");
	assert_shown("\xc0\x9b", "??");
	assert_shown("\xed\xa0\x80", "???");
	assert_shown("x\xe2\x80", "x??");
}

/* Writes @n bytes in pieces of @piece bytes, and checks that @want is shown. */
static void assert_written(const char *text, size_t n, size_t piece, const char *want)
{
	_cleanup_free_ char *got = NULL;
	size_t bytes;
	FILE *to = open_memstream(&got, &bytes), *f = visible_stream(to);

	assert_non_null(f);
	setvbuf(f, NULL, _IONBF, 0);
	for (size_t i = 0; i < n; i += piece)
		assert_int_equal(fwrite(text + i, 1, MIN(piece, n - i), f), MIN(piece, n - i));
	assert_int_equal(fclose(f), 0);
	fclose(to);
	assert_string_equal(got, want);
}

static void test_stream(void **state)
{
	static const char text[] = "a\tb\n\xf0\x9f\x90\x8d\0\xe2\x80\xae\x1b[m\xe2\x80\xe2\x82\xac"
				   "\xf3\xa0\x81\x81\xff\xe2\x80";

	for (size_t piece = 1; piece < sizeof(text); piece++)
		assert_written(text, sizeof(text) - 1, piece,
			       "a\tb\n\xf0\x9f\x90\x8d???[m??\xe2\x82\xac????");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
