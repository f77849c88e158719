/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the text that says what a thread waited for: the other end of a socket, files, child
 * processes. Only a limited number of names is remembered.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/thread/internal.h"

static struct collect collect;

static int setup(void **state)
{
	collect = (struct collect){.config.waits = true, .flushes = 1};
	return threads_init(&collect) ? 0 : -1;
}

static int teardown(void **state)
{
	threads_fini(&collect);
	return 0;
}

static const char *find(const struct rec_wait *wait)
{
	return on_text(&collect.threads->on, on_find(&collect, (uint32_t)getpid(), wait));
}

static struct rec_wait at_socket(uint8_t kind, uint16_t port, const char *address)
{
	struct rec_wait wait = {.call = SYS_recvfrom, .on = {.kind = kind, .port = port}};

	assert_int_equal(
		inet_pton(kind == WAIT_ON_IPV6 ? AF_INET6 : AF_INET, address, wait.on.text), 1);
	return wait;
}

static void test_sockets(void **state)
{
	struct rec_wait wait = at_socket(WAIT_ON_IPV4, 5432, "10.0.0.5");

	assert_string_equal(find(&wait), "10.0.0.5:5432");
	wait.on.listens = 1;
	assert_string_equal(find(&wait), "listening on 10.0.0.5:5432");
	wait = at_socket(WAIT_ON_IPV6, 80, "fe80::1");
	assert_string_equal(find(&wait), "[fe80::1]:80");
	wait = at_socket(WAIT_ON_IPV6, 80, "::ffff:10.0.0.5");
	assert_string_equal(find(&wait), "10.0.0.5:80");
	wait = (struct rec_wait){.call = SYS_read, .on.kind = WAIT_ON_UNIX};
	assert_null(find(&wait));
	/* only a broken record has a text without a NUL */
	memset(wait.on.text, 'a', sizeof(wait.on.text));
	assert_int_equal(strlen(find(&wait)), WAIT_ON_BYTES);
	wait.on.kind = 200;
	assert_null(find(&wait));
}

/*
 * Not every system call has a descriptor as its first argument: that of clock_nanosleep() is a
 * clock.
 */
static void test_other_calls(void **state)
{
	struct rec_wait wait = at_socket(WAIT_ON_IPV4, 1, "10.0.0.5");

	wait.call = SYS_clock_nanosleep;
	assert_null(find(&wait));
	wait.call = SYS_futex;
	assert_null(find(&wait));
	wait.call = SYS_ppoll;
	assert_string_equal(find(&wait), "10.0.0.5:1");
	wait.call = -1;
	assert_null(find(&wait));
}

static struct rec_wait at_file(int fd, const char *name)
{
	struct rec_wait wait = {.call = SYS_read, .on = {.kind = WAIT_ON_FILE, .fd = fd}};

	snprintf((char *)wait.on.text, sizeof(wait.on.text), "%s", name);
	return wait;
}

/* krait finds the whole path of a file as long as the descriptor refers to the file. */
static void test_files(void **state)
{
	char path[] = "/tmp/krait-on.XXXXXX", gone[64];
	int fd = mkstemp(path);
	struct rec_wait wait = at_file(fd, strrchr(path, '/') + 1), odd = at_file(fd, "other.log");

	assert_string_equal(find(&wait), path);
	assert_string_equal(find(&odd), "other.log");
	unlink(path);
	collect.flushes++;
	snprintf(gone, sizeof(gone), "%s (deleted)", path);
	assert_string_equal(find(&wait), gone);
	close(fd);
	/* krait keeps its old answer until the next collect_flush() */
	assert_string_equal(find(&wait), gone);
	collect.flushes++;
	assert_string_equal(find(&wait), strrchr(path, '/') + 1);
}

/* Once the budget for reading /proc is used up, krait knows only the last part of a path. */
static void test_budget(void **state)
{
	char path[] = "/tmp/krait-on.XXXXXX";
	int fd = mkstemp(path);
	struct rec_wait wait = at_file(fd, strrchr(path, '/') + 1);

	collect.asked_ns = UINT64_MAX / 2;
	assert_string_equal(find(&wait), strrchr(path, '/') + 1);
	unlink(path);
	close(fd);
}

static void test_children(void **state)
{
	struct rec_wait wait = {.call = SYS_wait4, .arg = {4000}, .flags = WAIT_NUMBERS};

	assert_null(find(&wait));
	on_command(&collect, 4000, "make");
	assert_string_equal(find(&wait), "make");
	on_command(&collect, 4000 + ON_COMMANDS, "other");
	assert_null(find(&wait));
	on_command(&collect, 4000, "make");
	/* the descriptor's process is in another PID namespace, so its number is of no use */
	wait.flags = 0;
	assert_null(find(&wait));
	wait.flags = WAIT_NUMBERS;
	wait.arg[0] = (uint64_t)-1;
	assert_null(find(&wait));
	wait = (struct rec_wait){.call = SYS_waitid, .arg = {P_PID, 4000}, .flags = WAIT_NUMBERS};
	assert_string_equal(find(&wait), "make");
	wait.arg[0] = P_ALL;
	assert_null(find(&wait));
}

static void test_many(void **state)
{
	for (unsigned i = 0; i < 2 * ON_VALUES; i++) {
		struct rec_wait wait = at_socket(WAIT_ON_IPV4, (uint16_t)i, "10.0.0.5");
		char text[32];

		snprintf(text, sizeof(text), "10.0.0.5:%u", i);
		assert_string_equal(find(&wait), i < ON_VALUES ? text : "[other]");
	}
	assert_int_equal(collect.threads->on.texts.n, ON_VALUES + 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sockets), TEST(test_other_calls), TEST(test_files),
		TEST(test_budget),  TEST(test_children),    TEST(test_many),
	};

	return cmocka_run_group_tests_name("on", tests, NULL, NULL);
}
