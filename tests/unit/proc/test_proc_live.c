/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about real processes, their trees and their files. The processes are children of this test,
 * so the test knows their pids, times and files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "proc/files/files.h"
#include "proc/libc.h"
#include "proc/read/maps.h"
#include "proc/match.h"
#include "proc/read/owner.h"
#include "proc/proc.h"
#include "proc/read/stat.h"

static char dir[64];

/*
 * A FIFO that the copies of cat(1) read. Opening its other end waits until a copy runs and reads.
 */
static char fifo[100];
static int fifo_fd = -1;

static int group_setup(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/krait-live-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(fifo, sizeof(fifo), "%s/app.py", dir);
	return mkfifo(fifo, 0600);
}

static int group_teardown(void **state)
{
	unlink(fifo);
	return rmdir(dir);
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

/*
 * Starts a copy of cat(1) at the path @exe, and waits until it runs with all its libraries mapped.
 */
static pid_t start_cat(const char *exe)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(exe, "python3", fifo, NULL);
		_exit(127);
	}
	fifo_fd = open(fifo, O_WRONLY | O_CLOEXEC);
	return child;
}

static void stop(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (fifo_fd >= 0)
		close(fifo_fd);
	fifo_fd = -1;
}

static void test_facts(void **state)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	_cleanup_proc_facts_ struct proc_facts f = {};
	struct timespec t;
	uint64_t now_ns;
	char exe[100];
	pid_t child;

	snprintf(exe, sizeof(exe), "%s/python3.11", dir);
	copy_file("/bin/cat", exe);
	child = start_cat(exe);
	clock_gettime(CLOCK_BOOTTIME, &t);
	now_ns = (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
	assert_int_equal(proc_open(&p, child), 0);
	assert_int_equal(proc_facts_read(&p, NULL, &f), 0);
	assert_int_equal(f.tgid, child);
	assert_false(f.kernel_thread);
	assert_string_equal(f.comm, "python3.11");
	assert_string_equal(f.name, "app.py");
	assert_int_equal(f.cgroup[0], '/');
	assert_true(f.start_boot_ns <= now_ns && now_ns - f.start_boot_ns < 10 * NSEC_PER_SEC);
	stop(child);
	unlink(exe);
}

enum { KNOWN, UNKNOWN, NO_NAMESPACE };

/*
 * Tells whether proc_stat_start_of() returns a start time within a new time namespace: KNOWN,
 * UNKNOWN or NO_NAMESPACE. A child calls the function, because a process and its forks remember the
 * first answer.
 */
static int shifted_start(void)
{
	static const char offset[] = "boottime 100 0";
	int fd, ok = -1;
	pid_t child = fork();

	if (child) {
		assert_int_equal(waitpid(child, &ok, 0), child);
		assert_true(WIFEXITED(ok));
		return WEXITSTATUS(ok);
	}
	if (unshare(CLONE_NEWTIME))
		_exit(NO_NAMESPACE);
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	if (fd < 0 || write(fd, offset, sizeof(offset) - 1) < 0)
		_exit(NO_NAMESPACE);
	child = fork(); /* unshare() puts only later children into the new namespace */
	if (!child)
		_exit(proc_stat_start_of(1234567890123) ? KNOWN : UNKNOWN);
	waitpid(child, &ok, 0);
	_exit(WEXITSTATUS(ok));
}

/*
 * Returns whether this process is in the machine's first time namespace. Before Linux 5.6 there is
 * no other.
 */
static bool in_first_time_namespace(void)
{
	char name[32] = "";

	return readlink("/proc/self/ns/time", name, sizeof(name) - 1) < 0 ||
	       streq(name, "time:[4026531834]");
}

static void test_start(void **state)
{
	struct proc_stat stat;
	_cleanup_close_ int fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	uint64_t start_ns;
	int shifted = shifted_start();

	(void)state;
	if (shifted == NO_NAMESPACE)
		printf("SKIP time namespace: none can be made here\n");
	else
		assert_int_equal(shifted, UNKNOWN);
	if (!in_first_time_namespace())
		skip();
	assert_int_equal(proc_stat_read(fd, &stat), 0);
	start_ns = proc_stat_start_ns(&stat);
	assert_int_equal(proc_stat_start_of(start_ns), start_ns);
	assert_int_equal(proc_stat_start_of(start_ns + 10 * NSEC_PER_MSEC - 1), start_ns);
	assert_int_equal(proc_stat_start_of(start_ns - 1), start_ns - 10 * NSEC_PER_MSEC);
	assert_int_equal(proc_stat_start_of(0), 0);
}

static void test_gone(void **state)
{
	_cleanup_proc_ struct proc p = PROC_INIT, none = PROC_INIT;
	_cleanup_proc_facts_ struct proc_facts f = {};
	_cleanup_maps_ struct maps m = {};
	char comm[PROC_COMM_BYTES];
	pid_t child = fork();

	if (!child)
		_exit(0);
	siginfo_t info;

	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	assert_int_equal(proc_open(&p, child), 0);
	assert_int_equal(proc_facts_read(&p, NULL, &f), 0);
	assert_int_equal(maps_read(p.dirfd, MAPS_ALL, &m), 0);
	assert_int_equal(m.list.n, 0);
	waitpid(child, NULL, 0);
	proc_facts_fini(&f);
	maps_fini(&m);
	assert_int_equal(proc_facts_read(&p, NULL, &f), -ESRCH);
	assert_non_null(strstr(err_msg(), "has ended"));
	assert_int_equal(maps_read(p.dirfd, MAPS_ALL, &m), -ESRCH);
	assert_int_equal(proc_comm(&p, child, comm), -ESRCH);
	assert_int_equal(proc_open(&none, child), -ESRCH);
	assert_int_equal(proc_open(&none, 0), -ESRCH);
	assert_int_equal(proc_open(&none, -1), -ESRCH);
}

/*
 * The first process of a new PID namespace is number 1 in it, and has another number in this test's
 * namespace.
 */
static void test_pid_namespace(void **state)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	_cleanup_proc_facts_ struct proc_facts f = {};
	struct proc_status status;
	pid_t outer, inner = 0;
	int up[2];

	assert_int_equal(pipe(up), 0);
	outer = fork();
	if (!outer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID))
			_exit(2);
		inner = fork();
		if (!inner) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
		}
		if (write(up[1], &inner, sizeof(inner)) < 0)
			_exit(3);
		pause();
	}
	close(up[1]);
	if (read(up[0], &inner, sizeof(inner)) != sizeof(inner)) {
		printf("SKIP PID namespace: unshare() isn't permitted\n");
		waitpid(outer, NULL, 0);
		close(up[0]);
		skip();
	}
	close(up[0]);
	assert_int_equal(proc_open(&p, inner), 0);
	assert_int_equal(proc_facts_read(&p, NULL, &f), 0);
	assert_int_equal(f.tgid, inner);
	assert_int_equal(proc_status_read(p.dirfd, "status", &status), 0);
	assert_int_equal(status.ns_tgid, 1);
	assert_int_equal(status.ns_level, 1);
	assert_int_not_equal(proc_ns(&p, "pid"), 0);
	stop(inner);
	stop(outer);
}

static void *sleeper(void *arg)
{
	pthread_setname_np(pthread_self(), "krait sleeper");
	*(pid_t *)arg = gettid();
	sleep(60);
	return NULL;
}

static void test_threads(void **state)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	volatile pid_t tid = 0;
	char comm[PROC_COMM_BYTES];
	pid_vec all = {};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, sleeper, (void *)&tid), 0);
	while (!tid)
		usleep(100);
	assert_int_equal(proc_open(&p, getpid()), 0);
	assert_int_equal(proc_threads(&p, &all), 0);
	assert_true(all.n >= 2); /* at least two, because a sanitizer may add a thread */
	assert_int_equal(proc_comm(&p, tid, comm), 0);
	assert_string_equal(comm, "krait sleeper");
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	vec_fini(&all);
}

static bool has(const pid_vec *v, pid_t pid)
{
	vec_foreach(one, v)
		if (*one == pid)
			return true;
	return false;
}

/*
 * Starts three descendants of this program: a child, the child's child, and a child that another
 * thread forked.
 */
static void test_tree_and_match(void **state)
{
	pid_t child, grandchild, other = fork();
	struct proc_match match;
	pid_vec tree = {}, all = {};
	int up[2], n = 0;

	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	assert_int_equal(pipe(up), 0);
	child = fork();
	if (!child) {
		grandchild = fork();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (grandchild && write(up[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		pause();
	}
	assert_int_equal(read(up[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_int_equal(proc_tree(child, &tree), 0);
	assert_int_equal(tree.n, 2);
	assert_int_equal(tree.v[0], child);
	assert_int_equal(tree.v[1], grandchild);
	assert_int_equal(proc_tree(getpid(), &tree), 0);
	assert_true(has(&tree, child) && has(&tree, grandchild) && has(&tree, other));
	assert_int_equal(proc_list(&all), 0);
	vec_foreach(pid, &tree)
		assert_true(has(&all, *pid));
	for (size_t i = 1; i < all.n; i++)
		assert_true(all.v[i - 1] < all.v[i]);

	proc_match_init(&match);
	assert_int_equal(proc_match_add_pid(&match, child), 0);
	assert_int_equal(proc_match_add_pid(&match, grandchild), 0);
	vec_foreach(pid, &tree)
		n += proc_match(&match,
				&(struct proc_facts){
					.tgid = *pid, .name = "", .cgroup = "", .container = ""});
	assert_int_equal(n, 2);
	assert_int_equal(proc_match_fork(&match, grandchild, 12345678), 0);
	assert_int_equal(proc_match_fork(&match, other, 12345679), 0);
	assert_non_null(map_get(&match.pids, 12345678));
	assert_null(map_get(&match.pids, 12345679));
	proc_match_fini(&match);
	stop(grandchild);
	stop(child);
	stop(other);
	assert_int_equal(proc_tree(child, &tree), -ESRCH);
	vec_fini(&tree);
	vec_fini(&all);
	close(up[0]);
	close(up[1]);
}

static bool fits(const char *comm, const char *cgroup, const char *container)
{
	struct proc_facts f = {.comm = "python3",
			       .name = "app.py",
			       .cgroup = "/system.slice/web@1.service",
			       .container = "0123456789ab"};
	struct proc_match m;
	bool r;

	proc_match_init(&m);
	assert_false(comm && vec_push(&m.comm, comm));
	assert_false(cgroup && vec_push(&m.cgroup, cgroup));
	assert_false(container && vec_push(&m.container, container));
	r = proc_match(&m, &f);
	proc_match_fini(&m);
	return r;
}

static void test_match_globs(void **state)
{
	assert_true(fits(NULL, NULL, NULL));
	assert_true(fits("python*", NULL, NULL));
	assert_true(fits("app.py", NULL, NULL));
	assert_false(fits("pytho", NULL, NULL));
	assert_true(fits(NULL, "/system.slice/*", NULL));
	assert_true(fits(NULL, "web@*.service", NULL));
	assert_true(fits(NULL, "system.slice", NULL));
	assert_true(fits(NULL, "*web*", NULL));
	assert_false(fits(NULL, "web", NULL));
	assert_false(fits(NULL, "/web*", NULL));
	assert_true(fits(NULL, NULL, "0123"));
	assert_false(fits(NULL, NULL, "123"));
	assert_false(fits(NULL, NULL, ""));
	assert_true(fits("app.py", "web@*", "01"));
	assert_false(fits("app.py", "db@*", "01"));
}

/*
 * Returns the mapping of the executable @exe, and waits for it, since the mapping may appear a
 * moment after exec.
 */
static struct mapping exe_mapping(const struct proc *p, const char *exe, struct maps *m)
{
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(maps_read(p->dirfd, MAPS_EXEC, m), 0);
		vec_foreach(e, &m->list)
			if (streq(maps_path(m, e), exe))
				return *e;
		maps_fini(m);
		usleep(1000);
	}
	fail_msg("%s isn't mapped", exe);
	return (struct mapping){};
}

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return st.st_ino;
}

static bool can_use_map_files(const struct proc *p, const struct mapping *e)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%lx-%lx", (long)e->start, (long)e->end);
	fd = openat(p->dirfd, name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * The file of a running program is replaced, as a package upgrade does. First the path has no file;
 * after that it has another file; at last it has a FIFO.
 */
static void test_replaced_file(void **state)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	_cleanup_maps_ struct maps m = {}, after = {};
	struct mapping e, lib, off;
	enum file_how how;
	enum libc_kind kind;
	struct stat st;
	char exe[100], next[100];
	pid_t child;
	int fd;

	snprintf(exe, sizeof(exe), "%s/prog", dir);
	snprintf(next, sizeof(next), "%s/next", dir);
	copy_file("/bin/cat", exe);
	assert_int_equal(stat(exe, &st), 0);
	child = start_cat(exe);
	assert_int_equal(proc_open(&p, child), 0);
	e = exe_mapping(&p, exe, &m);
	assert_int_equal(inode_of(file_open_mapping(p.dirfd, &e, exe, &how)), st.st_ino);
	assert_int_equal(how, can_use_map_files(&p, &e) ? FILE_MAP_FILES : FILE_EXE);
	/*
	 * no mapping begins at this address, so map_files can't help: krait opens the executable,
	 * or the path
	 */
	off = e;
	off.start += 4096;
	assert_int_equal(inode_of(file_open_mapping(p.dirfd, &off, exe, &how)), st.st_ino);
	assert_int_equal(how, FILE_EXE);
	assert_non_null(libc_find(&m, &kind, NULL));
	assert_int_not_equal(kind, LIBC_NONE);
	lib = *libc_find(&m, &kind, NULL);
	lib.start += 4096;
	assert_int_equal(inode_of(file_open_mapping(p.dirfd, &lib, maps_path(&m, &lib), &how)),
			 lib.ino);
	assert_true(how == FILE_ROOT || how == FILE_ROOT_OLDER);

	copy_file("/bin/true", next);
	assert_int_equal(rename(next, exe), 0);
	e = exe_mapping(&p, exe, &after);
	assert_true(e.deleted);
	assert_int_equal(inode_of(file_open_mapping(p.dirfd, &e, exe, &how)), st.st_ino);
	off = e;
	off.start += 4096;
	assert_int_equal(inode_of(file_open_mapping(p.dirfd, &off, exe, &how)), st.st_ino);
	assert_int_equal(how, FILE_EXE);
	/* as if another file had been mapped at this address since the mappings were read */
	lib = *libc_find(&m, &kind, NULL);
	off.start = lib.start;
	off.end = lib.end;
	assert_int_equal(inode_of(file_open_mapping(p.dirfd, &off, exe, &how)), st.st_ino);
	assert_int_equal(how, FILE_EXE);
	off = e;
	off.start += 4096;
	/* as the inode number differs, krait opens the path, and finds another file there */
	off.ino++;
	assert_int_equal(inode_of(file_open_exe(p.dirfd)), st.st_ino);
	fd = file_open_mapping(p.dirfd, &off, "/tmp", &how);
	assert_true(fd == -EINVAL || fd == -ESTALE);
	lib.ino++;
	assert_int_equal(file_open_mapping(p.dirfd, &lib, exe, &how), -ESTALE);
	assert_non_null(strstr(err_msg(), "isn't the one that"));

	assert_int_equal(unlink(exe), 0);
	assert_int_equal(mkfifo(exe, 0600), 0);
	assert_int_equal(stat(exe, &st), 0);
	lib.ino = st.st_ino;
	lib.dev = file_dev(st.st_dev);
	assert_int_equal(file_open_mapping(p.dirfd, &lib, exe, &how), -EINVAL);
	assert_int_equal(file_open_in_root(p.dirfd, exe), -EINVAL);
	assert_int_equal(file_open_in_root(p.dirfd, "/dev/null"), -EINVAL);
	stop(child);
	assert_true(file_open_mapping(p.dirfd, &e, exe, &how) < 0);
	unlink(exe);
}

/* In another mount namespace, the path leads to another file than here. */
static void test_mount_namespace(void **state)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	_cleanup_maps_ struct maps m = {};
	struct mapping e;
	enum file_how how;
	struct stat st;
	char exe[100];
	int ready[2];
	pid_t child;
	ino_t inner;

	snprintf(exe, sizeof(exe), "%s/prog", dir);
	copy_file("/bin/true", exe);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", dir, "tmpfs", 0, NULL))
			_exit(2);
		copy_file("/bin/sleep", exe);
		if (stat(exe, &st) || write(ready[1], &st.st_ino, sizeof(st.st_ino)) < 0)
			_exit(3);
		execl(exe, "sleep", "60", NULL);
		_exit(127);
	}
	close(ready[1]);
	if (read(ready[0], &inner, sizeof(inner)) != sizeof(inner)) {
		printf("SKIP mount namespace: unshare() or mount() isn't permitted\n");
		waitpid(child, NULL, 0);
		close(ready[0]);
		unlink(exe);
		skip();
	}
	/* the read ends when exec closes the child's end of the pipe */
	assert_int_equal(read(ready[0], &inner, 1), 0);
	close(ready[0]);
	assert_int_equal(proc_open(&p, child), 0);
	e = exe_mapping(&p, exe, &m);
	assert_int_equal(inode_of(file_open_mapping(p.dirfd, &e, exe, &how)), inner);
	e.start += 4096;
	assert_int_equal(inode_of(file_open_mapping(p.dirfd, &e, exe, &how)), inner);
	assert_int_equal(how, FILE_EXE);
	assert_int_equal(inode_of(file_open_in_root(p.dirfd, exe)), inner);
	stop(child);
	unlink(exe);
}

#define MANY_PAGES 20000

/*
 * Makes every second page executable, so that each page is a mapping of its own. The helper process
 * that reads mappings for krait needs several answers to send so many.
 */
static void map_many(int ready)
{
	char *at = mmap(NULL, MANY_PAGES * 4096ul, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; at != MAP_FAILED && i < MANY_PAGES; i += 2)
		mprotect(at + i * 4096, 4096, PROT_READ | PROT_EXEC);
	(void)!write(ready, &at, sizeof(at));
	pause();
	_exit(0);
}

static void test_many_mappings(void **state)
{
	struct proc p = PROC_INIT;
	struct maps maps = {};
	size_t found = 0;
	int ready[2];
	pid_t child;
	char *at;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child)
		map_many(ready[1]);
	assert_int_equal(read(ready[0], &at, sizeof(at)), sizeof(at));
	assert_int_equal(proc_open(&p, child), 0);
	assert_int_equal(maps_read(p.dirfd, MAPS_EXEC, &maps), 0);
	assert_false(maps.truncated);
	for (size_t i = 0; i < maps.list.n; i++) {
		const struct mapping *m = &maps.list.v[i];
		uint64_t page = (m->start - (uintptr_t)at) / 4096;

		assert_true(!i || m->start >= maps.list.v[i - 1].end);
		if (page >= MANY_PAGES) {
			assert_true(*maps_path(&maps, m) == '/' || *maps_path(&maps, m) == '[');
			continue;
		}
		assert_int_equal(page, 2 * found++);
		assert_string_equal(maps_path(&maps, m), "");
	}
	assert_int_equal(found, MANY_PAGES / 2);
	maps_fini(&maps);
	proc_close(&p);
	stop(child);
	close(ready[0]);
	close(ready[1]);
}

/*
 * If a program isn't dumpable, its /proc/PID belongs to root. krait still says that it belongs to
 * the user who started it.
 */
static void test_user(void **state)
{
	int ready[2];
	pid_t child;
	char c = 0;

	if (geteuid())
		skip();
	assert_int_equal(proc_user_of(getpid()), getuid());
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresuid(12345, 0, 0) || prctl(PR_SET_DUMPABLE, 0) ||
		    write(ready[1], &c, 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(proc_user_of(child), 12345);
	stop(child);
	assert_int_equal(proc_user_of(child), 0);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user),	       cmocka_unit_test(test_facts),
		cmocka_unit_test(test_start),	       cmocka_unit_test(test_gone),
		cmocka_unit_test(test_pid_namespace),  cmocka_unit_test(test_threads),
		cmocka_unit_test(test_tree_and_match), cmocka_unit_test(test_match_globs),
		cmocka_unit_test(test_replaced_file),  cmocka_unit_test(test_mount_namespace),
		cmocka_unit_test(test_many_mappings),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
