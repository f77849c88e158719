/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process's stamp, by which krait notices cheaply that a process has changed, changes with its
 * effective user and with its control groups, and differs from another process's stamp. The
 * processes are children of this test, which tells them what to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/stamp.h"

#define SOMEBODY 54321

/* A child that acts on each byte sent to it, and then answers with a byte. */
struct child {
	pid_t pid;
	int ask[2], answer[2];
};

static void obey(const struct child *c)
{
	char what;

	while (read(c->ask[0], &what, 1) == 1) {
		if (what == 'u' && seteuid(SOMEBODY))
			_exit(1);
		if (what == 'c')
			prctl(PR_SET_NAME, "renamed");
		if (write(c->answer[1], &what, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void start(struct child *c)
{
	assert_int_equal(pipe(c->ask) | pipe(c->answer), 0);
	c->pid = fork();
	if (!c->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(c->ask[1]);
		obey(c);
	}
	close(c->ask[0]);
	close(c->answer[1]);
}

static void tell(const struct child *c, char what)
{
	char answer;

	assert_int_equal(write(c->ask[1], &what, 1), 1);
	assert_int_equal(read(c->answer[0], &answer, 1), 1);
}

static void end(struct child *c)
{
	close(c->ask[1]);
	close(c->answer[0]);
	/*
	 * kill(), because another child may also hold the pipe's end, so that closing it wouldn't
	 * end this child
	 */
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static struct proc_stamp stamp_of(pid_t pid)
{
	struct proc_stamp stamp;

	assert_int_equal(proc_stamp_read(pid, &stamp), 0);
	return stamp;
}

static bool same(struct proc_stamp a, struct proc_stamp b)
{
	assert_int_equal(proc_stamp_same(&a, &b), proc_stamp_same(&b, &a));
	return proc_stamp_same(&a, &b);
}

static void test_same(void **state)
{
	struct child c;
	struct proc_stamp before;

	start(&c);
	before = stamp_of(c.pid);
	assert_true(same(before, stamp_of(c.pid)));
	tell(&c, 'c');
	assert_true(same(before, stamp_of(c.pid)));
	end(&c);
}

static void test_another_process(void **state)
{
	struct proc_stamp ended, none = {};
	struct child a, b;

	start(&a);
	start(&b);
	assert_false(same(stamp_of(a.pid), stamp_of(b.pid)));
	end(&a);
	assert_int_equal(proc_stamp_read(a.pid, &ended), -ENOENT);
	assert_false(same(ended, none));
	assert_false(same(none, stamp_of(b.pid)));
	end(&b);
}

static void test_user(void **state)
{
	struct proc_stamp before;
	struct child c;

	if (geteuid()) {
		print_message("SKIP user: only root can become another user\n");
		skip();
	}
	start(&c);
	before = stamp_of(c.pid);
	tell(&c, 'u'); /* by changing its user, the process becomes not dumpable */
	assert_false(same(before, stamp_of(c.pid)));
	assert_int_equal(stamp_of(c.pid).uid, SOMEBODY);
	end(&c);
}

/* Makes a control group and sets @path to it. Returns false if none can be made here. */
static bool make_group(char path[static 100])
{
	static const char *const mounts[] = {"", "/unified", "/memory", "/pids"};
	char procs[120];

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		snprintf(path, 100, "/sys/fs/cgroup%s/krait-stamp-%d", mounts[i], (int)getpid());
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
		if (!mkdir(path, 0755) && !access(procs, W_OK))
			return true;
		rmdir(path);
	}
	return false;
}

static bool move(const char *group, pid_t pid)
{
	char procs[120];
	int fd;
	bool moved;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	moved = fd >= 0 && dprintf(fd, "%d", (int)pid) > 0;
	close(fd);
	return moved;
}

static void test_groups(void **state)
{
	struct proc_stamp before, after;
	char group[100];
	struct child c;
	bool moved;

	if (!make_group(group)) {
		print_message("SKIP groups: no control group can be made\n");
		skip();
	}
	start(&c);
	before = stamp_of(c.pid);
	moved = move(group, c.pid);
	after = stamp_of(c.pid);
	end(&c);
	rmdir(group);
	if (!moved) {
		print_message("SKIP groups: no process can be moved\n");
		skip();
	}
	assert_false(same(before, after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_another_process),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
