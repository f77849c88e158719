/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comments of a profile: none is lost without a note, warnings come first, and their memory is
 * bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/comments.h"

static void add(struct comments *c, const char *text)
{
	assert_int_equal(comments_add(c, text), 0);
}

static void assert_at(const struct comments *c, size_t i, const char *text)
{
	assert_true(i < c->list.n);
	assert_string_equal(c->list.v[i], text);
}

static void test_all_are_kept(void **state)
{
	_cleanup_(comments_fini) struct comments c = {};
	char text[32];

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "note: %d", i);
		add(&c, text);
	}
	assert_int_equal(c.list.n, 100);
	assert_at(&c, 99, "note: 99");
}

static void test_warnings_come_first(void **state)
{
	_cleanup_(comments_fini) struct comments c = {};

	add(&c, "cwd: /srv");
	add(&c, "warning: 1 lost");
	add(&c, "note: x");
	add(&c, "warning: 2 lost");
	assert_int_equal(c.list.n, 4);
	assert_at(&c, 0, "warning: 1 lost");
	assert_at(&c, 1, "warning: 2 lost");
	assert_at(&c, 2, "cwd: /srv");
	assert_at(&c, 3, "note: x");
}

/* Adds a million comments, and at last a warning. */
static void test_too_many(void **state)
{
	_cleanup_(comments_fini) struct comments c = {};

	for (int i = 0; i < 1000000; i++)
		add(&c, "note: x");
	add(&c, "warning: all is lost");
	assert_int_equal(c.list.n, COMMENTS_MAX);
	assert_at(&c, 0, "warning: all is lost");
	assert_at(&c, COMMENTS_MAX - 1, "krait: 995906 more comments were left out");
	for (int i = 0; i < COMMENTS_MAX; i++)
		add(&c, "warning: x");
	assert_int_equal(c.list.n, COMMENTS_MAX);
	assert_at(&c, COMMENTS_MAX - 2, "warning: x");
	assert_at(&c, COMMENTS_MAX - 1, "krait: 1000002 more comments were left out");
}

static void test_too_long(void **state)
{
	_cleanup_(comments_fini) struct comments c = {};
	_cleanup_free_ char *half = malloc(COMMENTS_MAX_BYTES / 2 + 1);
	_cleanup_free_ char *more = malloc(COMMENTS_MAX_BYTES + 2);

	assert_true(half && more);
	memset(half, 'x', COMMENTS_MAX_BYTES / 2);
	half[COMMENTS_MAX_BYTES / 2] = '\0';
	memset(more, 'x', COMMENTS_MAX_BYTES + 1);
	more[COMMENTS_MAX_BYTES + 1] = '\0';
	memcpy(more, "warning: ", strlen("warning: "));
	add(&c, half);
	add(&c, half);
	add(&c, half);
	add(&c, more); /* a comment that alone exceeds the limit displaces no other comment */
	assert_int_equal(c.list.n, 3);
	assert_at(&c, 2, "krait: 2 more comments were left out");
	more[COMMENTS_MAX_BYTES / 2] = '\0';
	add(&c, more);
	assert_int_equal(c.list.n, 3);
	assert_memory_equal(c.list.v[0], "warning: ", strlen("warning: "));
	assert_at(&c, 2, "krait: 3 more comments were left out");
}

static uint64_t runs_in(const char *const *lines, size_t n)
{
	_cleanup_(comments_fini) struct comments c = {};

	for (size_t i = 0; i < n; i++)
		add(&c, lines[i]);
	return comments_runs(&c);
}

/*
 * The comment "ended: 0" says that the command ran to its end with exit code 0. "ended: 0, 5 runs"
 * says that of five runs. "ended: 0" with any other text behind it says nothing.
 */
static void test_runs(void **state)
{
	static const struct {
		const char *line;
		uint64_t runs;
	} of[] = {
		{"ended: 0", 1},       {"ended: 0, 12 runs", 12},
		{"ended: 1", 0},       {"ended: 137", 0},
		{"ended: by -d", 0},   {"ended: 0, 0 runs", 0},
		{"ended: 0, runs", 0}, {"ended: 0, -1 runs", 0},
		{"ended: 00", 0},      {"ended: ", 0},
		{"ended:0", 0},	       {"note: ended: 0", 0},
		{"ended: 0 ", 0},      {"ended: 0, 99999999999999999999999 runs", 0},
	};
	const char *two[] = {"ended: 0", "command: x", "ended: what it started goes on"};

	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		assert_int_equal(runs_in(&of[i].line, 1), of[i].runs);
	assert_int_equal(runs_in(two, 2), 1);
	assert_int_equal(runs_in(two, 3), 0);
	assert_int_equal(runs_in(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_kept), cmocka_unit_test(test_warnings_come_first),
		cmocka_unit_test(test_too_many),     cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
