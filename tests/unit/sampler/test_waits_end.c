/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread did between its last task switch and the end of the recording. krait computes it
 * from times that it reads from /proc a little after the end.
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
 * The thread ran when the recording ended, after it had been ready to run for 3 ms. After the end
 * it was preempted for 40 ms.
 */
static void test_on_cpu(void **state)
{
	struct wait_entry e = {.cpu_ns = 100 * MS, .delay_ns = 20 * MS, .has_cpu = 1};

	e.came_delay_ns = 23 * MS;
	expect(&e, (struct counted){101 * MS, 63 * MS}, 50, 1, 3);
	e.came_delay_ns = 20 * MS;
	expect(&e, (struct counted){101 * MS, 60 * MS}, 50, 1, 0);
	/* as in kernels that don't say how long the thread was ready before it ran */
	e.came_delay_ns = 0;
	expect(&e, (struct counted){101 * MS, 23 * MS}, 50, 1, 3);
}

/*
 * The thread didn't run when the recording ended. What it did between the end and krait's reading
 * of /proc is subtracted.
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
