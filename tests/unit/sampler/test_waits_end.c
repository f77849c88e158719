/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread did between its last task switch and the end of the recording. krait computes it
 * from times that it reads in /proc somewhat later.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/internal.h"

#define MS 1000000ull

static void expect(const struct wait_entry *e, struct counted now, uint64_t after_ms,
		   uint64_t cpu_ms, uint64_t delay_ms)
{
	struct counted c = waits_since_left(e, &now, after_ms * MS);

	assert_int_equal(c.cpu_ns, cpu_ms * MS);
	assert_int_equal(c.delay_ns, delay_ms * MS);
}

/*
 * The thread had a CPU when the recording ended. It was ready to run for 3 ms before it got the
 * CPU. After the recording's end it was preempted for 40 ms.
 */
static void test_on_cpu(void **state)
{
	struct wait_entry e = {.cpu_ns = 100 * MS, .delay_ns = 20 * MS, .has_cpu = 1};

	e.came_delay_ns = 23 * MS;
	expect(&e, (struct counted){101 * MS, 63 * MS}, 50, 1, 3);
	e.came_delay_ns = 20 * MS;
	expect(&e, (struct counted){101 * MS, 60 * MS}, 50, 1, 0);
	/* a kernel that doesn't say how long the thread was ready before it got the CPU */
	e.came_delay_ns = 0;
	expect(&e, (struct counted){101 * MS, 23 * MS}, 50, 1, 3);
}

/*
 * The thread had no CPU when the recording ended. What it may have done between the end and the
 * reading of /proc is subtracted.
 */
static void test_off_cpu(void **state)
{
	const struct wait_entry e = {.cpu_ns = 100 * MS, .delay_ns = 20 * MS};

	expect(&e, (struct counted){130 * MS, 70 * MS}, 40, 0, 10);
	expect(&e, (struct counted){100 * MS, 20 * MS}, 40, 0, 0);
	expect(&e, (struct counted){1 * MS, 2 * MS}, 40, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_on_cpu),
					   cmocka_unit_test(test_off_cpu)};

	return cmocka_run_group_tests_name("waits-end", tests, NULL, NULL);
}
