/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what perf's side band (records of mappings, forks, execs and ends) says of children of this
 * test. The right answers come from fork(), gettid(), stat() and waitpid(). Needs the right to open
 * perf events on all CPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "proc/files/files.h"
#include "sampler/sideband/sideband.h"

struct seen {
	char kind; /* kind of record: 'm' mmap, 'c' comm, 'x' comm by exec, 'f' fork, 'e' exit */
	uint32_t tgid, tid, parent_tgid, parent_tid;
	struct sideband_mmap m;
	char text[300];
	uint64_t time_ns;
};

static VEC(struct seen) seen;
static uint64_t lost;
static bool maybe_lost;
static struct sideband *band;

static void saw_mmap(void *ctx, const struct sideband_mmap *m)
{
	struct seen e = {
		.kind = 'm', .tgid = m->tgid, .tid = m->tid, .m = *m, .time_ns = m->time_ns};

	snprintf(e.text, sizeof(e.text), "%s", m->path);
	assert_int_equal(vec_push(&seen, e), 0);
}

static void saw_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, bool exec,
		     uint64_t time_ns)
{
	struct seen e = {.kind = exec ? 'x' : 'c', .tgid = tgid, .tid = tid, .time_ns = time_ns};

	snprintf(e.text, sizeof(e.text), "%s", comm);
	assert_int_equal(vec_push(&seen, e), 0);
}

static void saw_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent_tgid,
		     uint32_t parent_tid, uint64_t time_ns)
{
	struct seen e = {.kind = 'f',
			 .tgid = tgid,
			 .tid = tid,
			 .parent_tgid = parent_tgid,
			 .parent_tid = parent_tid,
			 .time_ns = time_ns};

	assert_int_equal(vec_push(&seen, e), 0);
}

static void saw_exit(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct seen e = {.kind = 'e', .tgid = tgid, .tid = tid, .time_ns = time_ns};

	assert_int_equal(vec_push(&seen, e), 0);
}

static void saw_lost(void *ctx, uint64_t n)
{
	lost += n;
	maybe_lost = true;
}

static const struct sideband_ops ops = {
	.mmap = saw_mmap, .comm = saw_comm, .fork = saw_fork, .exit = saw_exit, .lost = saw_lost};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void start_with(const struct sideband_config *config)
{
	int r = sideband_open(&band, config);

	if (r == -EACCES || r == -EPERM || r == -ENOSYS) {
		printf("SKIP sideband: %s\n", err_msg());
		skip();
	}
	if (r)
		fail_msg("%s", err_msg());
}

static void start(size_t ring_bytes)
{
	start_with(&(struct sideband_config){.ops = &ops, .ring_bytes = ring_bytes});
}

static int teardown(void **state)
{
	sideband_close(band);
	band = NULL;
	vec_fini(&seen);
	lost = 0;
	maybe_lost = false;
	return 0;
}

static const struct seen *find(char kind, uint32_t tgid, uint32_t tid, const char *text)
{
	vec_foreach(e, &seen)
		if (e->kind == kind && e->tgid == tgid && (!tid || e->tid == tid) &&
		    (!text || streq(e->text, text)))
			return e;
	return NULL;
}

static const struct seen *must_find(char kind, uint32_t tgid, uint32_t tid, const char *text)
{
	const struct seen *e = find(kind, tgid, tid, text);

	if (!e)
		fail_msg("no event %c of %u/%u %s", kind, tgid, tid, text ? text : "");
	return e;
}

static void copy_file(const char *from, const char *to)
{
	static char buf[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, (size_t)n), n);
	close(in);
	close(out);
}

static void test_life_of_a_process(void **state)
{
	char dir[] = "/tmp/krait-sb-XXXXXX", exe[64], *argv[] = {exe, NULL};
	const struct seen *fork_e, *exec_e, *map_e, *exit_e;
	uint64_t before, after;
	struct stat st;
	pid_t child;
	int status;

	start(0);
	assert_non_null(mkdtemp(dir));
	snprintf(exe, sizeof(exe), "%s/odd\nname (x)", dir);
	copy_file("/bin/true", exe);
	assert_int_equal(stat(exe, &st), 0);
	before = now_ns();
	child = fork();
	if (!child) {
		execv(exe, argv);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	after = now_ns();
	sideband_drain(band);
	unlink(exe);
	rmdir(dir);

	fork_e = must_find('f', (uint32_t)child, (uint32_t)child, NULL);
	assert_int_equal(fork_e->parent_tgid, getpid());
	assert_int_equal(fork_e->parent_tid, gettid());
	exec_e = must_find('x', (uint32_t)child, (uint32_t)child, "odd\nname (x)");
	map_e = must_find('m', (uint32_t)child, (uint32_t)child, exe);
	assert_int_equal(map_e->m.ino, st.st_ino);
	assert_int_equal(map_e->m.dev, file_dev(st.st_dev));
	assert_true(map_e->m.prot & PROT_EXEC);
	assert_true(map_e->m.len > 0 && map_e->m.len % 4096 == 0);
	exit_e = must_find('e', (uint32_t)child, (uint32_t)child, NULL);
	/* the records' times are in this order, by the clock that this test reads */
	assert_true(before <= fork_e->time_ns && fork_e->time_ns <= exec_e->time_ns &&
		    exec_e->time_ns <= map_e->time_ns && map_e->time_ns <= exit_e->time_ns &&
		    exit_e->time_ns <= after);
	assert_true(fork_e < exec_e && exec_e < map_e && map_e < exit_e);
	assert_int_equal(lost, 0);
}

static void *thread_main(void *arg)
{
	*(pid_t *)arg = gettid();
	pthread_setname_np(pthread_self(), "krait-thread");
	return NULL;
}

static void test_thread(void **state)
{
	const struct seen *e;
	pthread_t thread;
	pid_t tid = 0;

	start(0);
	assert_int_equal(pthread_create(&thread, NULL, thread_main, &tid), 0);
	pthread_join(thread, NULL);
	for (int i = 0; i < 100 && !find('e', (uint32_t)getpid(), (uint32_t)tid, NULL); i++) {
		usleep(1000); /* join() may return just before the kernel writes the exit record */
		sideband_drain(band);
	}
	e = must_find('f', (uint32_t)getpid(), (uint32_t)tid, NULL);
	assert_int_equal(e->parent_tgid, getpid());
	must_find('c', (uint32_t)getpid(), (uint32_t)tid, "krait-thread");
	must_find('e', (uint32_t)getpid(), (uint32_t)tid, NULL);
}

static void *run_on(void *arg)
{
	int *fds = arg;
	char byte;

	_exit(read(fds[0], &byte, 1) < 0);
}

/* Ends the main thread of a program while another thread goes on. */
static _Noreturn void end_first_thread(int *fds)
{
	pthread_t thread;

	close(fds[1]);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED ||
	    pthread_create(&thread, NULL, run_on, fds))
		_exit(1);
	syscall(SYS_exit, 0); /* ends this thread only */
	__builtin_unreachable();
}

/*
 * The record of a mapping has .gone set only if the process has certainly ended: not if only its
 * first thread has ended, or if the process runs.
 */
static void test_gone(void **state)
{
	pid_t ended, half_ended, runs;
	int fds[2];

	start(0);
	assert_int_equal(pipe(fds), 0);
	ended = fork();
	if (!ended) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(ended, NULL, 0), ended);
	half_ended = fork();
	if (!half_ended)
		end_first_thread(fds);
	runs = fork();
	if (!runs) {
		close(fds[1]);
		dup2(fds[0], 0);
		execl("/bin/cat", "cat", NULL);
		_exit(127);
	}
	usleep(50000); /* waits until all records of ends can be read and cat has begun */
	sideband_drain(band);
	assert_true(must_find('m', (uint32_t)ended, 0, NULL)->m.gone);
	must_find('e', (uint32_t)half_ended, (uint32_t)half_ended, NULL);
	assert_false(must_find('m', (uint32_t)half_ended, 0, NULL)->m.gone);
	assert_false(must_find('m', (uint32_t)runs, 0, NULL)->m.gone);
	close(fds[1]);
	waitpid(half_ended, NULL, 0);
	waitpid(runs, NULL, 0);
	close(fds[0]);
}

static void test_wakes_the_reader(void **state)
{
	struct pollfd p = {.events = POLLIN};
	struct sideband_stats stats;
	pid_t child;

	start(0);
	p.fd = sideband_fd(band);
	sideband_drain(band);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(poll(&p, 1, 2000), 1);
	assert_true(sideband_drain(band) >= 2);
	must_find('e', (uint32_t)child, (uint32_t)child, NULL);
	sideband_stats(band, &stats);
	assert_int_equal(stats.cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(stats.ring_bytes, stats.cpus * SIDEBAND_RING_BYTES);
	assert_int_equal(stats.malformed, 0);
}

/*
 * The reader is usually woken after many records. A new mapping of a watched thread wakes it at
 * once. The reader gets the record of that mapping once.
 */
static void test_watch(void **state)
{
	struct pollfd p = {.events = POLLIN};
	int go[2];
	pid_t child;

	start_with(&(struct sideband_config){.ops = &ops, .wakeup_bytes = SIDEBAND_RING_BYTES / 2});
	p.fd = sideband_fd(band);
	assert_int_equal(pipe(go), 0);
	child = fork();
	if (!child) {
		char byte;

		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			execl("/bin/true", "true", NULL);
		_exit(1);
	}
	assert_int_equal(sideband_watch(band, child), 0);
	sideband_drain(band);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_int_equal(poll(&p, 1, 2000), 1);
	waitpid(child, NULL, 0);
	sideband_drain(band);
	must_find('x', (uint32_t)child, (uint32_t)child, "true");
	/*
	 * the watched thread has ended: after a reading of the rings that finds nothing more,
	 * poll() doesn't wake the reader again
	 */
	sideband_drain(band);
	sideband_drain(band);
	assert_int_equal(poll(&p, 1, 0), 0);
	sideband_unwatch(band);
	close(go[0]);
	close(go[1]);
}

/*
 * Records about a child in another PID namespace have the numbers that the child has in this test's
 * namespace.
 */
static void test_pid_namespace(void **state)
{
	pid_t child, inner;
	int up[2];

	start(0);
	assert_int_equal(pipe(up), 0);
	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWPID))
			_exit(2);
		inner = fork();
		if (!inner)
			_exit(getpid() == 1 ? 0 : 3);
		if (write(up[1], &inner, sizeof(inner)) != sizeof(inner))
			_exit(4);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	close(up[1]);
	waitpid(child, NULL, 0);
	if (read(up[0], &inner, sizeof(inner)) != sizeof(inner)) {
		close(up[0]);
		printf("SKIP sideband in a PID namespace: unshare() isn't permitted\n");
		skip();
	}
	close(up[0]);
	sideband_drain(band);
	assert_int_equal(must_find('f', (uint32_t)inner, (uint32_t)inner, NULL)->parent_tgid,
			 child);
	must_find('e', (uint32_t)inner, (uint32_t)inner, NULL);
	assert_null(find('e', 1, 1, NULL));
}

/*
 * Records that don't fit into the ring are counted as lost and reported. The records after them are
 * read again.
 */
static void test_lost(void **state)
{
	struct sideband_stats stats;
	cpu_set_t all, one;
	pid_t child = 0;

	/*
	 * All children run on one CPU, because a loss is reported in the next record of the same
	 * CPU's ring.
	 */
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	start(1); /* the ring of each CPU has one page */
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (int i = 0; i < 300; i++) {
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	sideband_drain(band);
	/* the report of the loss comes with the first record that fits again */
	for (int i = 0; i < 20; i++) {
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		sideband_drain(band);
	}
	sched_setaffinity(0, sizeof(all), &all);
	must_find('e', (uint32_t)child, (uint32_t)child, NULL);
	sideband_stats(band, &stats);
	assert_true(lost > 0 && maybe_lost);
	assert_int_equal(stats.lost, lost);
	assert_int_equal(stats.malformed, 0);
	/*
	 * each of the 320 forks and 320 exits was either read or counted as lost; other programs
	 * may add more
	 */
	assert_true(stats.records + lost >= 640);
}

/* Records come in order of time over all CPUs, even if they fill the rings many times. */
static void test_order(void **state)
{
	uint64_t last = 0;
	size_t late = 0;

	start(32768);
	for (int round = 0; round < 50; round++) {
		pid_t child[8];

		for (int i = 0; i < 8; i++) {
			child[i] = fork();
			if (!child[i]) {
				execl("/bin/true", "true", NULL);
				_exit(127);
			}
		}
		for (int i = 0; i < 8; i++)
			waitpid(child[i], NULL, 0);
		sideband_drain(band);
		for (int i = 0; i < 8; i++) {
			const struct seen *f, *x;

			f = find('f', (uint32_t)child[i], (uint32_t)child[i], NULL);
			x = find('x', (uint32_t)child[i], (uint32_t)child[i], "true");
			if (!maybe_lost)
				assert_true(f && x && f < x);
		}
		vec_foreach(e, &seen) {
			late += e->time_ns < last;
			last = MAX(last, e->time_ns);
		}
		seen.n = 0;
	}
	/* records that were still being written while the rings were read may come late */
	assert_true(late <= 5);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_leaves_nothing(void **state)
{
	int before = count_fds();

	for (int i = 0; i < 50; i++) {
		start(0);
		sideband_close(band);
		band = NULL;
	}
	assert_int_equal(count_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_life_of_a_process, teardown),
		cmocka_unit_test_teardown(test_thread, teardown),
		cmocka_unit_test_teardown(test_gone, teardown),
		cmocka_unit_test_teardown(test_wakes_the_reader, teardown),
		cmocka_unit_test_teardown(test_watch, teardown),
		cmocka_unit_test_teardown(test_pid_namespace, teardown),
		cmocka_unit_test_teardown(test_lost, teardown),
		cmocka_unit_test_teardown(test_order, teardown),
		cmocka_unit_test_teardown(test_leaves_nothing, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
