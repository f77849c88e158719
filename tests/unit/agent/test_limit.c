/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests when the agent lowers and raises its sampling rate, window by window. The test makes up the
 * CPU time that the agent took; tests/e2e/agent/limit.py (full tier) loads a real agent.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

static uint32_t set_hz, set_budget; /* the rate and the budget that the agent set last */

/* stands in for the session's function, which needs a kernel that samples */
#define session_set_effort set_effort
#include "agent/limit.c"

int set_effort(struct session *s, uint32_t hz, uint32_t wait_budget_ppm)
{
	(void)s;
	set_hz = hz;
	set_budget = wait_budget_ppm;
	return 0;
}

#define SECOND	 NSEC_PER_SEC
#define PERCENT	 10000000ULL /* 1 % of a CPU, in ns of CPU time per second */
#define HZ	 800
#define BUDGET	 8000
#define MOST_PPM 10000 /* the agent's limit: 1 % of a CPU, in parts per million */

static struct session session;
static struct limit limit;
static uint64_t now, cpu;

/*
 * Begins an agent and lets its first window pass with half a CPU used. The agent doesn't judge that
 * window.
 */
static void begin(void)
{
	const struct effort asked = {HZ, BUDGET, MOST_PPM};

	now = 100 * SECOND;
	cpu = 0;
	set_hz = set_budget = 0;
	limit_begin(&limit, &session, &asked, now - SECOND / 2);
	for (int i = 0; i < 10; i++) {
		now += SECOND;
		cpu += 50 * PERCENT;
		assert_int_equal(limit_turn(&limit, now, cpu), 0);
	}
}

/*
 * Lets the agent use @tenths tenths of a percent of a CPU for some seconds. Returns how often the
 * agent changed its rate.
 */
static int run(int seconds, uint64_t tenths)
{
	int changes = 0;

	while (seconds--) {
		int r;

		now += SECOND;
		cpu += tenths * PERCENT / 10;
		r = limit_turn(&limit, now, cpu);
		assert_true(r >= 0);
		changes += r;
	}
	return changes;
}

static int set_up(void **state)
{
	(void)state;
	session.profile = profile_new();
	assert_non_null(session.profile);
	begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	profile_free(session.profile);
	return 0;
}

/*
 * One window (10 s) above the limit changes nothing: the agent may have sealed a segment of its
 * store (turned batches of samples into blocks). A second such window does.
 */
static void test_two_windows(void **state)
{
	(void)state;
	assert_int_equal(run(10, 15), 0);
	assert_int_equal(run(10, 5), 0);
	assert_int_equal(run(10, 15), 0);
	assert_int_equal(run(10, 15), 1);
	assert_int_equal(set_hz, HZ / 2);
	assert_int_equal(set_budget, BUDGET / 2);
	assert_int_equal(limit_hz(&limit), HZ / 2);
}

/* The agent reacts to a cost of 30 times the limit before its window of 10 s is over. */
static void test_at_once(void **state)
{
	(void)state;
	assert_int_equal(run(1, 300), 0);
	assert_int_equal(run(1, 300), 1);
	assert_int_equal(set_hz, HZ / 2);
}

/*
 * The sampling rate is halved at most five times: if the cost is still too high after that, samples
 * don't cause it.
 */
static void test_five_halvings(void **state)
{
	(void)state;
	assert_int_equal(run(100, 300), 5);
	assert_int_equal(set_hz, HZ / 32);
	assert_int_equal(limit.lowered, 5);
}

/*
 * The rate that was halved is raised step by step again: a step after each three calm windows in a
 * row.
 */
static void test_raised(void **state)
{
	(void)state;
	assert_int_equal(run(4, 300), 2);
	assert_int_equal(set_hz, HZ / 4);
	assert_int_equal(run(20, 3), 0);
	/* the cost is within the limit, but at twice the rate it wouldn't be */
	assert_int_equal(run(10, 5), 0);
	assert_int_equal(run(20, 3), 0);
	assert_int_equal(run(10, 3), 1);
	assert_int_equal(set_hz, HZ / 2);
	assert_int_equal(run(30, 3), 1);
	assert_int_equal(set_hz, HZ);
	assert_int_equal(run(100, 3), 0);
}

/* When the limit is removed, the cost isn't judged any more, and the full rate is set again. */
static void test_no_limit(void **state)
{
	const struct effort free_ = {HZ / 2, BUDGET, 0};

	(void)state;
	assert_int_equal(run(2, 300), 1);
	assert_int_equal(limit_ask(&limit, &free_), 0);
	assert_int_equal(set_hz, HZ / 2);
	assert_int_equal(run(100, 900), 0);
}

/* While a trigger's condition is met, the sampling rate is higher, as far as the limit allows. */
static void test_trigger(void **state)
{
	(void)state;
	assert_int_equal(limit_raise(&limit, true), 1);
	assert_int_equal(set_hz, 999); /* four times the usual rate, but at most 999 Hz */
	assert_int_equal(set_budget, BUDGET);
	assert_int_equal(limit_raise(&limit, true), 0);
	assert_int_equal(run(10, 15), 0);
	assert_int_equal(run(10, 15), 1);
	assert_int_equal(set_hz, HZ);
	assert_int_equal(limit.lowered, 0);
	assert_int_equal(limit_raise(&limit, true), 0);
	assert_int_equal(run(2, 300), 1);
	assert_int_equal(run(2, 300), 1);
	assert_int_equal(set_hz, HZ / 4);
	assert_int_equal(limit_raise(&limit, false), 0);
	assert_int_equal(limit_raise(&limit, true), 1);
	assert_int_equal(set_hz, HZ);
	assert_int_equal(limit_raise(&limit, false), 1);
	assert_int_equal(set_hz, HZ / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two_windows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_five_halvings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_raised, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_trigger, set_up, tear_down),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
