/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what krait says that a thread waited for, given the record of the wait. */
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "base/util.h"
#include "collect/thread/wait_state.h"

#define SLEEPS		0x1
#define UNINTERRUPTIBLE 0x2

static char text[64];

static const char *words_of(struct rec_wait wait)
{
	return wait_state_words(wait_state_of(&wait), text, sizeof(text));
}

static const char *in_call(long call, uint8_t fd, uint16_t state)
{
	return words_of(
		(struct rec_wait){.call = (int)call, .arg = {3, 1}, .fd = fd, .state = state});
}

static void test_calls(void **state)
{
	struct rec_wait futex = {.call = SYS_futex, .state = SLEEPS};

	(void)state;
	assert_string_equal(in_call(SYS_clock_nanosleep, 0, SLEEPS), "sleep");
	assert_string_equal(in_call(SYS_wait4, 0, SLEEPS), "child");
	assert_string_equal(in_call(SYS_epoll_pwait, 0, SLEEPS), "poll");
	assert_string_equal(in_call(SYS_ppoll, 0, SLEEPS), "poll");
	assert_string_equal(in_call(SYS_rt_sigtimedwait, 0, SLEEPS), "signal");
	assert_string_equal(words_of(futex), "lock");
	futex.sample.gil = GIL_WAITING;
	assert_string_equal(words_of(futex), "gil");
	futex.sample.gil = GIL_NONE_STOPPED;
	assert_string_equal(words_of(futex), "stop-the-world");
	futex.sample.gil = GIL_NONE_SECTION;
	assert_string_equal(words_of(futex), "critical-section");
}

/* Up to Python 3.10 time.sleep() is a select() or pselect() without descriptors. */
static void test_sleep_by_select(void **state)
{
	(void)state;
	assert_string_equal(words_of((struct rec_wait){.call = SYS_pselect6, .state = SLEEPS}),
			    "sleep");
	assert_string_equal(in_call(SYS_pselect6, 0, SLEEPS), "poll");
}

static void test_descriptors(void **state)
{
	(void)state;
	assert_string_equal(in_call(SYS_read, WAIT_FD_SOCKET, SLEEPS), "net");
	assert_string_equal(in_call(SYS_read, WAIT_FD_PIPE, SLEEPS), "pipe");
	assert_string_equal(in_call(SYS_read, WAIT_FD_FILE, SLEEPS), "disk");
	assert_string_equal(in_call(SYS_read, WAIT_FD_OTHER, SLEEPS), "other: read");
	assert_string_equal(in_call(SYS_read, WAIT_FD_OTHER, UNINTERRUPTIBLE), "disk");
	assert_string_equal(in_call(SYS_openat, WAIT_FD_NONE, UNINTERRUPTIBLE), "disk");
	assert_string_equal(in_call(SYS_openat, WAIT_FD_SOCKET, SLEEPS), "other: openat");
}

static void test_states(void **state)
{
	struct rec_wait frozen = {.call = SYS_nanosleep, .state = SLEEPS, .flags = WAIT_CGROUP};

	(void)state;
	assert_string_equal(in_call(-1, 0, UNINTERRUPTIBLE), "page-fault");
	assert_string_equal(in_call(-1, 0, SLEEPS), "other");
	assert_string_equal(in_call(SYS_read, WAIT_FD_PIPE, 0x4), "stopped");
	assert_string_equal(in_call(SYS_read, WAIT_FD_PIPE, 0x8), "traced");
	assert_string_equal(in_call(SYS_read, WAIT_FD_PIPE, 0x8001), "frozen");
	assert_string_equal(words_of(frozen), "frozen");
	frozen.state = 0x4; /* a stopped thread also has the flag of a frozen one */
	assert_string_equal(words_of(frozen), "stopped");
	assert_string_equal(in_call(SYS_restart_syscall, 0, SLEEPS), "other: restart_syscall");
}

/* A wait that isn't over has the same text as one that is, but its number has WAIT_STATE_OPEN. */
static void test_open(void **state)
{
	struct rec_wait wait = {.call = SYS_nanosleep, .state = SLEEPS};
	uint32_t over = wait_state_of(&wait);

	(void)state;
	assert_int_equal(over & WAIT_STATE_OPEN, 0);
	wait.flags = WAIT_OPEN;
	assert_int_equal(wait_state_of(&wait), over | WAIT_STATE_OPEN);
	assert_string_equal(words_of(wait), "sleep");
}

static void test_unknown(void **state)
{
	(void)state;
	assert_string_equal(in_call(SYS_mmap, 0, UNINTERRUPTIBLE), "other: mmap");
	assert_string_equal(in_call(4000, 0, SLEEPS), "other: system call 4000");
	assert_string_equal(in_call(INT_MAX, 255, SLEEPS), "other");
	assert_string_equal(in_call(INT_MIN, 255, SLEEPS), "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	    cmocka_unit_test(test_sleep_by_select),
		cmocka_unit_test(test_descriptors), cmocka_unit_test(test_states),
		cmocka_unit_test(test_unknown),	    cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
