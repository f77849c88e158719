/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads another process's memory: in several pieces, at addresses without memory, and memory whose
 * page faults are never answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/system/clock.h"
#include "proc/read/reader.h"

#define BYTES ((size_t)1 << 20)

static uint32_t *numbers; /* BYTES bytes of numbers, the same in all processes of this test */
static char *held;	  /* a page that exists only once this process supplies it (userfaultfd) */

/* Starts a process that inherits `numbers` and the page `held`. */
static pid_t start_target(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

/*
 * Makes a page that never comes, as if a user's file system didn't answer: the kernel asks this
 * process for the page (userfaultfd), and this process doesn't supply it.
 */
static bool hold(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range = {(uintptr_t)held, 4096},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	return fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &range);
}

static pid_t start_held(void)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		byte = hold();
		(void)!write(ready[1], &byte, 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (byte)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static ssize_t read_one(pid_t pid, void *to, const void *from, size_t n)
{
	return reader_read(pid, &(struct iovec){to, n}, &(struct iovec){(void *)from, n}, 1);
}

static void test_pieces(void **state)
{
	uint32_t *got = calloc(1, BYTES);
	pid_t pid = start_target();
	struct iovec from[200];

	assert_int_equal(read_one(pid, got, numbers, BYTES), BYTES);
	assert_memory_equal(got, numbers, BYTES);
	/* Reads more pieces than fit in one request, in descending order. */
	for (size_t i = 0; i < 200; i++)
		from[i] = (struct iovec){numbers + 1000 - i, sizeof(*numbers)};
	assert_int_equal(reader_read(pid, &(struct iovec){got, 800}, from, 200), 800);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(got[i], 1000 - i);
	/* the read stops at the first piece that can't be read, as process_vm_readv() does */
	from[1].iov_base = NULL;
	assert_int_equal(reader_read(pid, &(struct iovec){got, 800}, from, 200), 4);
	assert_int_equal(read_one(pid, got, NULL, 8), -EFAULT);
	end(pid);
	assert_int_equal(read_one(pid, got, numbers, 8), -ESRCH);
	assert_int_equal(reader_stats().processes, 0);
	reader_close();
	free(got);
}

/*
 * A read of memory that hangs fails when its time limit is over. Later reads of the same process
 * fail at once; other processes are read as usual.
 */
static void test_memory_that_hangs(void **state)
{
	pid_t stuck = start_held(), other = start_target();
	uint64_t began = clock_ns(CLOCK_MONOTONIC), spent_ns = reader_spent_ns();
	uint32_t got[2];

	if (!stuck) {
		end(other);
		skip();
	}
	assert_int_equal(read_one(stuck, got, held, 8), -ETIMEDOUT);
	assert_in_range(clock_ns(CLOCK_MONOTONIC) - began, READER_MS * NSEC_PER_MSEC,
			20 * NSEC_PER_SEC);
	assert_true(reader_spent_ns() - spent_ns >= READER_MS * NSEC_PER_MSEC);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(read_one(stuck, got, numbers, 8), -ETIMEDOUT);
	assert_int_equal(read_one(other, got, numbers + 7, 8), 8);
	assert_int_equal(got[0], 7);
	assert_int_equal(reader_stats().processes, 1);
	assert_int_equal(reader_stats().first, stuck);
	end(stuck); /* releases krait's helper process, which waits for that memory */
	end(other);
	reader_close();
}

/* Returns the latest child of this process; 0 if the kernel doesn't tell. */
static pid_t latest_child(void)
{
	char path[64];
	int pid, latest = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		latest = pid;
	if (f)
		fclose(f);
	return latest;
}

/*
 * The helper process that reads for krait is killed from outside. One read fails, and the next one
 * works.
 */
static void test_child_is_killed(void **state)
{
	pid_t pid = start_target(), child;
	uint32_t got[2];

	assert_int_equal(read_one(pid, got, numbers, 8), 8);
	child = latest_child();
	if (!child) {
		end(pid);
		skip();
	}
	assert_int_not_equal(child, pid);
	kill(child, SIGKILL);
	assert_true(read_one(pid, got, numbers, 8) < 0);
	assert_int_equal(read_one(pid, got, numbers, 8), 8);
	end(pid);
	reader_close();
}

/*
 * Starts a process that stops this one for twice READER_MS, the time limit of a read, while this
 * one waits for @child to read. It then lets this process go on, and @child 20 ms later.
 */
static pid_t start_stopper(pid_t child)
{
	pid_t own = getpid(), pid = fork();

	if (pid)
		return pid;
	usleep(20000);
	kill(own, SIGSTOP);
	usleep(2 * READER_MS * 1000);
	kill(own, SIGCONT);
	usleep(20000);
	kill(child, SIGCONT);
	_exit(0);
}

/*
 * krait and its helper process are stopped for a while. That time doesn't count against the process
 * whose memory is read.
 */
static void test_stopped_meanwhile(void **state)
{
	pid_t pid = start_target(), child, stopper;
	size_t before = reader_stats().processes;
	uint32_t got[2];

	assert_int_equal(read_one(pid, got, numbers, 8), 8);
	child = latest_child();
	if (!child) {
		end(pid);
		skip();
	}
	kill(child, SIGSTOP);
	stopper = start_stopper(child);
	assert_int_equal(read_one(pid, got, numbers + 7, 8), 8);
	assert_int_equal(got[0], 7);
	assert_int_equal(reader_stats().processes, before);
	waitpid(stopper, NULL, 0);
	end(pid);
	reader_close();
}

static void pin(pid_t pid, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(pid, sizeof(one), &one), 0);
}

/*
 * Starts a process that occupies @cpu alone for longer than krait waits for a read. Returns 0 if
 * this test isn't permitted to start such a process.
 */
static pid_t start_hog(int cpu)
{
	const struct sched_param first = {.sched_priority = 1};
	pid_t pid = fork();

	if (pid == 0) {
		uint64_t until;

		pin(0, cpu);
		if (sched_setscheduler(0, SCHED_FIFO, &first))
			_exit(1);
		until = clock_ns(CLOCK_MONOTONIC) + 3 * READER_MS * NSEC_PER_MSEC;
		while (clock_ns(CLOCK_MONOTONIC) < until)
			;
		_exit(0);
	}
	usleep(20000);
	if (waitpid(pid, NULL, WNOHANG) == 0)
		return pid;
	return 0;
}

/*
 * krait's helper process gets no CPU for a read. The time of the wait isn't charged to the process
 * whose memory is read, and that process isn't marked as hanging.
 */
static void test_starved_child(void **state)
{
	pid_t pid = start_target(), child, hog;
	size_t before = reader_stats().processes;
	cpu_set_t all;
	uint32_t got[2];
	int cpus[2], n = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int cpu = 0; n < 2 && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			cpus[n++] = cpu;
	assert_int_equal(read_one(pid, got, numbers, 8), 8);
	child = latest_child();
	if (n < 2 || !child) {
		end(pid);
		skip();
	}
	pin(0, cpus[0]);
	pin(child, cpus[1]);
	hog = start_hog(cpus[1]);
	if (hog) {
		uint64_t began = clock_ns(CLOCK_MONOTONIC), spent_ns = reader_spent_ns();

		assert_int_equal(read_one(pid, got, numbers + 7, 8), 8);
		assert_true(reader_spent_ns() - spent_ns < READER_MS * NSEC_PER_MSEC / 4);
		assert_int_equal(got[0], 7);
		assert_true(clock_ns(CLOCK_MONOTONIC) - began > READER_MS * NSEC_PER_MSEC);
		assert_int_equal(reader_stats().processes, before);
		waitpid(hog, NULL, 0);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	end(pid);
	reader_close();
	if (!hog)
		skip();
}

/* Starts a process that lets the stopped process @child go on after @ms. */
static pid_t start_waker(pid_t child, unsigned ms)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	usleep(ms * 1000);
	kill(child, SIGCONT);
	_exit(0);
}

/*
 * krait's helper process gets no CPU at first, and then reads memory that hangs. Only the second
 * wait is charged.
 */
static void test_starved_then_hangs(void **state)
{
	pid_t stuck = start_held(), child, waker;
	uint64_t began, spent_ns;
	uint32_t got[2];

	if (!stuck)
		skip();
	assert_int_equal(read_one(stuck, got, numbers, 8), 8);
	child = latest_child();
	if (!child) {
		end(stuck);
		skip();
	}
	kill(child, SIGSTOP);
	waker = start_waker(child, 5 * READER_MS);
	began = clock_ns(CLOCK_MONOTONIC);
	spent_ns = reader_spent_ns();
	assert_int_equal(read_one(stuck, got, held, 8), -ETIMEDOUT);
	assert_true(clock_ns(CLOCK_MONOTONIC) - began > 5 * READER_MS * NSEC_PER_MSEC);
	assert_in_range(reader_spent_ns() - spent_ns, READER_MS * NSEC_PER_MSEC,
			3 * READER_MS * NSEC_PER_MSEC);
	waitpid(waker, NULL, 0);
	end(stuck); /* releases krait's helper process, which waits for that memory */
	reader_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),		cmocka_unit_test(test_memory_that_hangs),
		cmocka_unit_test(test_child_is_killed), cmocka_unit_test(test_stopped_meanwhile),
		cmocka_unit_test(test_starved_child),	cmocka_unit_test(test_starved_then_hangs),
	};

	numbers = malloc(BYTES);
	for (uint32_t i = 0; i < BYTES / sizeof(*numbers); i++)
		numbers[i] = i;
	held = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
