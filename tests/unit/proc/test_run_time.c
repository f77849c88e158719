/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares krait's measurement of how long a process ran with the process's own clocks and with
 * wait4().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/system/clock.h"
#include "proc/run_time.h"

/* CPU time of a running thread that the kernel's tick may not have counted yet */
#define TICK_NS (10 * NSEC_PER_MSEC)

static void burn(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		continue;
}

static void *thread(void *arg)
{
	burn(50 * NSEC_PER_MSEC);
	return NULL;
}

static void test_parse(void **state)
{
	struct run_time t = {};
	uint64_t ticks;

	assert_true(run_time_parse("123 45 6\n", &t));
	assert_int_equal(t.ran_ns, 123);
	assert_int_equal(t.queued_ns, 45);
	assert_int_equal(t.runs, 6);
	assert_false(run_time_parse("", &t));
	assert_false(run_time_parse("1 2", &t));
	assert_true(run_time_parse_taken("cpu  1 2 3 4 5 60 7 800 9 10\ncpu0 1 2\n", &ticks));
	assert_int_equal(ticks, 867);
	/* kernels before 2.6.11 write such a line, with fewer columns */
	assert_false(run_time_parse_taken("cpu  1 2 3 4\n", &ticks));
	assert_false(run_time_parse_taken("", &ticks));
}

static void test_own(void **state)
{
	struct run_time before, after;
	pthread_t other;

	assert_int_equal(run_time_read(getpid(), &before), 0);
	burn(50 * NSEC_PER_MSEC);
	assert_int_equal(pthread_create(&other, NULL, thread, NULL), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(run_time_read(getpid(), &after), 0);
	if (!after.runs)
		skip(); /* this kernel doesn't count the running time of threads */
	assert_in_range(after.ran_ns - before.ran_ns, 40 * NSEC_PER_MSEC,
			clock_ns(CLOCK_THREAD_CPUTIME_ID));
	/* the CPU time includes that of the thread that has ended */
	assert_in_range(after.cpu_ns - before.cpu_ns, 100 * NSEC_PER_MSEC - 2 * TICK_NS,
			clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	assert_int_equal(after.threads, 1);
	assert_int_equal(after.start_ns, before.start_ns);
}

/* The process has ended, and its parent hasn't waited for it. */
static void test_zombie(void **state)
{
	struct run_time t;
	struct rusage usage;
	siginfo_t info;
	uint64_t ran;
	pid_t pid = fork();

	if (!pid) {
		burn(60 * NSEC_PER_MSEC);
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(run_time_read(pid, &t), 0);
	assert_int_equal(t.state, 'Z');
	assert_true(t.whole);
	assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
	ran = ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NSEC_PER_SEC +
	      ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
	if (t.runs)
		assert_in_range(t.ran_ns, 60 * NSEC_PER_MSEC, ran + TICK_NS);
	assert_in_range(t.cpu_ns, 60 * NSEC_PER_MSEC, ran + TICK_NS);
	assert_int_equal(run_time_read(pid, &t), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_zombie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
