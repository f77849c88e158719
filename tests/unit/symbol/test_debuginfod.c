/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debuginfod servers accept connections but never answer. All files together must keep within one
 * time limit.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/system/clock.h"
#include "base/work/worker.h"
#include "symbol/elf/debuginfod.h"

#define FILES 6

/* Listens on a port: the kernel accepts connections, but no program answers. */
static int listen_silently(char *cache)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	char url[64];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(at.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	strcpy(cache, "/tmp/krait-debuginfod.XXXXXX");
	assert_non_null(mkdtemp(cache));
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	return fd;
}

static void stop(int fd, const char *cache)
{
	char command[128];

	close(fd);
	snprintf(command, sizeof(command), "rm -r %s", cache);
	assert_int_equal(system(command), 0);
}

static bool is_installed(void)
{
	return dlopen("libdebuginfod.so.1", RTLD_NOW) != NULL;
}

static double fetch_all(void)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC);

	for (uint8_t i = 0; i < FILES; i++) {
		uint8_t id[20] = {i};

		assert_int_equal(debuginfod_fetch(id, sizeof(id)), -ETIME);
	}
	return (double)(clock_ns(CLOCK_MONOTONIC) - began) / NSEC_PER_SEC;
}

/* All files together take one time limit. (libdebuginfod checks its limit once a second.) */
static void test_one_budget(void **state)
{
	char cache[64];
	int fd;

	if (!is_installed())
		skip();
	fd = listen_silently(cache);
	debuginfod_reset(1500 * NSEC_PER_MSEC);
	assert_true(fetch_all() < 6);
	assert_int_equal(debuginfod_unfetched(), FILES);
	stop(fd, cache);
}

/*
 * The user has set a time-out for servers that is shorter than krait's limit. After the first
 * time-out krait fetches nothing more.
 */
static void test_first_timeout_is_the_last(void **state)
{
	char cache[64];
	int fd;

	if (!is_installed())
		skip();
	fd = listen_silently(cache);
	setenv("DEBUGINFOD_TIMEOUT", "1", 1);
	debuginfod_reset(60 * NSEC_PER_SEC);
	assert_true(fetch_all() < 10);
	assert_int_equal(debuginfod_unfetched(), FILES);
	unsetenv("DEBUGINFOD_TIMEOUT");
	stop(fd, cache);
}

struct job {
	struct worker_job job;
	int r;
};

static void fetch(struct worker_job *job)
{
	((struct job *)job)->r = debuginfod_fetch((const uint8_t[20]){1}, 20);
}

static void test_nobody_waits(void **state)
{
	struct job job = {.job.run = fetch};
	const char *step = NULL;
	struct worker *w;
	char cache[64];
	int fd;

	if (!is_installed())
		skip();
	fd = listen_silently(cache);
	debuginfod_reset(60 * NSEC_PER_SEC);
	assert_int_equal(worker_open(&w), 0);
	worker_give(w, &job.job, false);
	assert_false(worker_wait(w, 300));
	assert_ptr_equal(worker_running(w, &step), &job.job);
	assert_non_null(strstr(step, "DEBUGINFOD_URLS"));
	worker_cancel(w);
	assert_true(worker_wait(w, 10000));
	assert_int_equal(job.r, -ETIME);
	assert_ptr_equal(worker_take(w), &job.job);
	worker_close(w);
	stop(fd, cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_budget),
		cmocka_unit_test(test_first_timeout_is_the_last),
		cmocka_unit_test(test_nobody_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
