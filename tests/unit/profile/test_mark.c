/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks are frames in brackets that stand for what isn't known. Tests that krait recognizes them
 * when it reads a profile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "profile/mark.h"

static void assert_mark(const char *text, bool is)
{
	if (mark_is(text, strlen(text)) != is)
		fail_msg("%s", text);
}

static void test_reread(void **state)
{
	for (int i = 0; i < MARK_MAX; i++) {
		_cleanup_str_ struct str text = {};

		mark_add(&text, i, "its [own] reason: 100 %s");
		assert_false(text.failed);
		assert_mark(str_cstr(&text), true);
	}
}

static void test_added(void **state)
{
	_cleanup_str_ struct str text = {};

	mark_add(&text, MARK_TRUNCATED, NULL);
	mark_add(&text, MARK_INCOMPLETE, walk_words[WALK_FRAME_FAULT].words);
	mark_add(&text, mark_of_walk(WALK_UNSUPPORTED), "PyPy 3.11");
	assert_string_equal(str_cstr(&text), "[truncated][incomplete: frame not readable]"
					     "[unsupported: PyPy 3.11]");
	assert_int_equal(mark_of_walk(WALK_TLS_FAULT), MARK_INCOMPLETE);
}

/*
 * Texts in brackets that other tools write aren't marks, nor are names that only begin like a mark.
 */
static void test_others(void **state)
{
	assert_mark("[no Python: it starts]", true); /* an older krait wrote this text */
	assert_mark("[truncated", false);
	assert_mark("[truncated]x", false);
	assert_mark("[truncated]x]", false);
	assert_mark("[no Pythons]", false);
	assert_mark("[unknown]", false);
	assert_mark("[no]", false);
	assert_mark("[", false);
	assert_mark("]", false);
	assert_mark("", false);
}

/*
 * Checks that each kind of mark (frame in brackets) has its own words, and a sentence that explains
 * it in the manual page.
 */
static void assert_sentences(const struct mark_words *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(rows[i].sentence);

		assert_true(*rows[i].words && length > 20);
		assert_int_equal(rows[i].sentence[length - 1], '.');
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(rows[i].words, rows[j].words);
	}
}

static void test_sentences(void **state)
{
	assert_sentences(mark_rows, MARK_MAX);
	assert_sentences(walk_words, WALK_OUTCOME_MAX);
	assert_sentences(native_words, NATIVE_OUTCOME_MAX);
	assert_sentences(naming_words, NAMING_OUTCOME_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reread),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_sentences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
