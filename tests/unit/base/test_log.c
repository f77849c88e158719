/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of each kind are limited in number per time span. The next message of that kind that is
 * shown says how many weren't shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/system/log.h"

#define MOST	10
#define TIME_MS 200

static unsigned shown;
static char newest[256];

static void say(enum log_level level, const char *text)
{
	shown++;
	strncpy(newest, text, sizeof(newest) - 1);
}

static void complain(int i)
{
	log_warn("number %d", i);
}

static void test_limit(void **state)
{
	static const struct log_sink sink = {.say = say};
	uint64_t began = clock_ns(CLOCK_MONOTONIC);

	log_set_sink(&sink);
	log_limit(MOST, TIME_MS * NSEC_PER_MSEC);
	for (int i = 0; i < 3 * MOST; i++)
		complain(i);
	if (clock_ns(CLOCK_MONOTONIC) - began >= TIME_MS * NSEC_PER_MSEC)
		skip(); /* the machine was so busy that the time span is over already */
	assert_int_equal(shown, MOST);
	assert_string_equal(newest, "number 9");
	log_warn("another kind");
	assert_int_equal(shown, MOST + 1);
	assert_string_equal(newest, "another kind");
	usleep(2 * TIME_MS * 1000);
	complain(30);
	assert_string_equal(newest, "number 30 (and 20 more that weren't shown)");
	usleep(2 * TIME_MS * 1000);
	complain(31);
	assert_string_equal(newest, "number 31");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_limit)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
