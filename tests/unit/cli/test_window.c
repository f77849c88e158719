/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows of time that a user writes: their syntax, and what local times mean when clocks are set
 * forward or back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/error.h"
#include "cli/options/window.h"

/* 2025-10-26 00:00 UTC; at 01:00 UTC local clocks are set back by an hour */
#define MIDNIGHT 1761436800ll
#define NOON	 ((MIDNIGHT + 12 * 3600) * 1000)

/* Checks that the window @text goes from @since to @until, in seconds after MIDNIGHT. */
static void expect(const char *text, int64_t since, int64_t until)
{
	struct window w = {};

	assert_int_equal(window_parse(text, NOON, &w), 0);
	assert_int_equal(w.since_ms / 1000 - MIDNIGHT, since);
	assert_int_equal(w.until_ms / 1000 - MIDNIGHT, until);
}

static void expect_wrong(const char *text, const char *words)
{
	struct window w;

	assert_int_equal(window_parse(text, NOON, &w), -EINVAL);
	assert_non_null(strstr(err_msg(), words));
}

static void test_forms(void **state)
{
	const int64_t now = 12 * 3600;

	expect("10m", now - 600, now);
	expect("2h..30m", now - 7200, now - 1800);
	expect("1d", now - 86400, now);
	/* noon in UTC is 13:00 in the time zone of this test */
	expect("12:00", 11 * 3600, now);
	expect("12:00:30..12:10", 11 * 3600 + 30, 11 * 3600 + 600);
	expect("12:00..now", 11 * 3600, now);
	/*
	 * a time of day that is still to come today means yesterday's; yesterday local time was two
	 * hours ahead of UTC
	 */
	expect("23:00..23:10", -3 * 3600, -3 * 3600 + 600);
	expect("2025-10-25", -26 * 3600, now);
	expect("2025-10-26T09:00:00Z..2025-10-26 09:10+00:00", 9 * 3600, 9 * 3600 + 600);
	expect("10:00+01:00", 9 * 3600, now);
}

/* Local clocks are set back at 03:00, so the hour from 02:00 to 03:00 comes twice. */
static void test_twice(void **state)
{
	expect("02:00..03:00", 0, 7200);
	expect("02:30..02:40", 1800, 3600 + 2400);
	expect("2025-10-26 02:30+02:00..2025-10-26 02:40+02:00", 1800, 2400);
	expect("2025-10-26 02:30+01:00..2025-10-26 02:40+01:00", 5400, 6000);
}

static void test_wrong(void **state)
{
	expect_wrong("yesterday", "'yesterday' is not a time");
	expect_wrong("25:00", "is not a time");
	expect_wrong("12:00x", "is not a time");
	expect_wrong("", "is not a time");
	expect_wrong("1m..2m", "ends before it begins");
	expect_wrong("12:00..", "is not a time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_wrong),
	};

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
