/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests jobs that worker threads do: the order of jobs, waiting for them, and taking them back. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/work/worker.h"

struct job {
	struct worker_job job;
	int number;
	pthread_t thread;
	bool blocked; /* whether signals were blocked in the worker's thread */
};

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void run(struct worker_job *w)
{
	struct job *j = (struct job *)w;
	sigset_t set;

	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	j->blocked = sigismember(&set, SIGINT);
	j->thread = pthread_self();
}

static bool is_readable(const struct worker *w)
{
	struct pollfd p = {.fd = worker_fd(w), .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static struct worker *new_worker(struct job *jobs, int n)
{
	struct worker *w = NULL;

	assert_int_equal(worker_open(&w), 0);
	for (int i = 0; i < n; i++)
		jobs[i] = (struct job){.job.run = run, .number = i};
	return w;
}

static int take(struct worker *w)
{
	struct job *j = (struct job *)worker_take(w);

	return j ? j->number : -1;
}

static void test_order(void **state)
{
	struct job jobs[4];
	struct worker *w = new_worker(jobs, 4);

	worker_wait(w, -1);
	assert_int_equal(take(w), -1);
	worker_give(w, &jobs[0].job, false);
	worker_wait(w, -1); /* waits for this job to be done, so that the worker's thread exists */
	pthread_mutex_lock(&gate);
	worker_give(w, &jobs[1].job, false);
	worker_give(w, &jobs[2].job, false);
	worker_give(w, &jobs[3].job, true);
	pthread_mutex_unlock(&gate);
	worker_wait(w, -1);
	assert_true(is_readable(w));
	assert_int_equal(take(w), 0);
	/* the urgent job may be done before the other jobs, between them or after them */
	for (int n = 1, next = 1; n <= 3; n++) {
		int got = take(w);

		assert_true(got == 3 || got == next);
		next += got == next;
	}
	assert_int_equal(take(w), -1);
	assert_false(is_readable(w));
	assert_false(pthread_equal(jobs[0].thread, jobs[3].thread));
	for (size_t i = 0; i < 4; i++) {
		assert_false(pthread_equal(jobs[i].thread, pthread_self()));
		assert_true(jobs[i].blocked);
	}
	worker_close(w);
}

static void test_drop(void **state)
{
	struct job jobs[3];
	struct worker *w = new_worker(jobs, 3);
	int done = 0, dropped = 0;

	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < 3; i++)
		worker_give(w, &jobs[i].job, true);
	while (worker_drop(w))
		dropped++;
	pthread_mutex_unlock(&gate);
	worker_wait(w, -1);
	while (worker_take(w))
		done++;
	assert_true(dropped >= 2);
	assert_int_equal(done + dropped, 3);
	worker_close(w);
}

static void test_many(void **state)
{
	struct job jobs[1000];
	struct worker *w = new_worker(jobs, 1000);
	int n = 0;

	for (int i = 0; i < 1000; i++) {
		worker_give(w, &jobs[i].job, false);
		for (int got; (got = take(w)) >= 0; n++)
			assert_int_equal(got, n);
	}
	worker_wait(w, -1);
	for (int got; (got = take(w)) >= 0; n++)
		assert_int_equal(got, n);
	assert_int_equal(n, 1000);
	worker_close(w);
}

struct slow {
	struct worker_job job;
	_Atomic bool go, entered, cancelled, done;
};

/* Hangs like a job that reads from a file system that doesn't answer. */
static void hang(struct worker_job *job)
{
	struct slow *s = (struct slow *)job;

	worker_step("waiting");
	while (!s->go)
		usleep(1000);
	s->cancelled = worker_cancelled();
	s->entered = worker_enter();
	if (s->entered)
		worker_leave();
	s->done = true;
}

static void test_wait_has_a_limit(void **state)
{
	struct slow s = {.job.run = hang};
	const char *step = NULL;
	struct worker *w = NULL;

	assert_int_equal(worker_open(&w), 0);
	assert_true(worker_wait(w, 0));
	assert_null(worker_running(w, &step));
	worker_give(w, &s.job, false);
	assert_false(worker_wait(w, 20));
	assert_ptr_equal(worker_running(w, &step), &s.job);
	assert_string_equal(step, "waiting");
	s.go = true;
	assert_true(worker_wait(w, -1));
	assert_false(s.cancelled);
	assert_true(s.entered);
	assert_ptr_equal(worker_take(w), &s.job);
	assert_true(worker_abandon(w));
}

/* If a job hangs, no other job of its group is begun, but jobs of other groups are done. */
static void test_others_go_on(void **state)
{
	struct slow hangs = {.job = {.run = hang, .group = 7}};
	struct job jobs[2], *same = &jobs[0], *other = &jobs[1];
	struct worker *w = new_worker(jobs, 2);

	same->job.group = 7;
	worker_give(w, &hangs.job, true);
	while (worker_wait(w, 1100))
		;
	worker_give(w, &same->job, true);
	worker_give(w, &other->job, true);
	for (int i = 0; i < 200 && take(w) != 1; i++)
		assert_false(worker_wait(w, 50));
	assert_false(hangs.done);
	assert_int_equal(take(w), -1);
	hangs.go = true;
	assert_true(worker_wait(w, -1));
	assert_ptr_equal(worker_take(w), &hangs.job);
	assert_ptr_equal(worker_take(w), &same->job);
	worker_close(w);
}

/*
 * The worker is abandoned while a job hangs. The job is told to stop, and must not touch memory
 * that was freed while it hung.
 */
static void test_abandon(void **state)
{
	static struct slow s = {.job.run = hang};
	/* static, because the hanging thread still uses the worker after the test has ended */
	static struct worker *w;

	assert_int_equal(worker_open(&w), 0);
	worker_give(w, &s.job, false);
	assert_false(worker_wait(w, 20));
	assert_false(worker_abandon(w));
	s.go = true;
	while (!s.done)
		usleep(1000);
	assert_true(s.cancelled);
	assert_false(s.entered);
	assert_false(worker_cancelled());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	     cmocka_unit_test(test_drop),
		cmocka_unit_test(test_many),	     cmocka_unit_test(test_wait_has_a_limit),
		cmocka_unit_test(test_others_go_on), cmocka_unit_test(test_abandon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
