/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests whether krait knows that perf's side band (records of mappings, forks, execs and ends)
 * still has unread records of a process. When a child has been waited for, the records of its start
 * and its end have been written. Needs the right to open perf events on all CPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "sampler/sideband/sideband.h"

static struct sideband *band;
static uint32_t child;
static bool saw_end;

static void saw_exit(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	/* a record counts as unread until the reader has got it */
	if (tid == tgid)
		assert_true(sideband_has_more(band, tgid));
	saw_end |= tgid == child;
}

static const struct sideband_ops ops = {.exit = saw_exit};

static int setup(void **state)
{
	int r = sideband_open(&band, &(struct sideband_config){.ops = &ops});

	if (r == -EACCES || r == -EPERM || r == -ENOSYS)
		printf("SKIP sideband-more: %s\n", err_msg());
	else if (r)
		fail_msg("%s", err_msg());
	saw_end = false;
	return 0;
}

static int teardown(void **state)
{
	sideband_close(band);
	band = NULL;
	return 0;
}

static void run_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	child = (uint32_t)pid;
	waitpid(pid, NULL, 0);
}

static void test_one_process(void **state)
{
	uint32_t self = (uint32_t)getpid();

	if (!band)
		skip();
	assert_false(sideband_has_more(band, self));
	run_child();
	assert_true(sideband_has_more(band, child));
	assert_false(sideband_has_more(band, self));
	sideband_drain(band);
	assert_true(saw_end);
	assert_false(sideband_has_more(band, child));
}

#define THREADS 20

static void *end_at_once(void *arg)
{
	return arg;
}

/*
 * Records of threads that begin and end don't change what a process maps, so krait doesn't count
 * them as unread.
 */
static void test_threads(void **state)
{
	uint32_t self = (uint32_t)getpid();
	struct sideband_stats before, after;
	pthread_t thread;

	if (!band)
		skip();
	for (int i = 0; i < THREADS; i++) {
		assert_false(pthread_create(&thread, NULL, end_at_once, NULL));
		assert_false(pthread_join(thread, NULL));
	}
	assert_false(prctl(PR_SET_NAME, "renamed"));
	assert_false(sideband_has_more(band, self));
	sideband_stats(band, &before);
	sideband_drain(band);
	sideband_stats(band, &after);
	/* the record of a thread's end may come a little after pthread_join() has returned */
	assert_true(after.records > before.records + THREADS);
}

/*
 * If there are very many records, krait doesn't look through them: one of them may be of any
 * process.
 */
static void test_many_records(void **state)
{
	if (!band)
		skip();
	for (int i = 0; i < 200; i++)
		run_child();
	assert_true(sideband_has_more(band, (uint32_t)getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_records, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
