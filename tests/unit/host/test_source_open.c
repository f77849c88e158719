/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which source files a page may show. A recorded program must not trick krait into showing any
 * other file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "host/files/source_open.h"

static char dir[] = "/tmp/krait-source-XXXXXX";

static char *in_dir(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make(const char *name, mode_t mode)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs("x = 1\n", f);
	fclose(f);
	assert_int_equal(chmod(in_dir(name), mode), 0);
}

static int try(enum source_mode mode, const char *path)
{
	struct caller caller = {};
	struct source_rules rules = {.caller = &caller, .mode = mode};
	uid_t before = geteuid();
	int fd = source_open(&rules, path);

	assert_int_equal(geteuid(), before);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int set_up(void **state)
{
	if (!mkdtemp(dir) || chmod(dir, 0755))
		return -1;
	make("own.py", 0644);
	make("private.py", 0600);
	make("secret.txt", 0644);
	return symlink("secret.txt", in_dir("link.py")) || mkfifo(in_dir("fifo.py"), 0644) ||
	       mkdir(in_dir("dir.py"), 0755);
}

static int tear_down(void **state)
{
	static const char *const names[] = {"own.py",  "private.py", "secret.txt",
					    "link.py", "fifo.py",    "other.py"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(in_dir(names[i]));
	rmdir(in_dir("dir.py"));
	return rmdir(dir);
}

static void test_own(void **state)
{
	assert_int_equal(try(SOURCE_OWN, in_dir("own.py")), 0);
	assert_int_equal(try(SOURCE_ALL, in_dir("own.py")), 0);
	assert_int_equal(try(SOURCE_ALL, in_dir("private.py")), 0);
	assert_int_equal(try(SOURCE_NONE, in_dir("own.py")), -EINVAL);
}

static void test_refused(void **state)
{
	static const char *const names[] = {"/etc/shadow", "own.py", "/proc/self/environ", "", "/"};
	static const char *const in[] = {"secret.txt", "link.py", "fifo.py", "dir.py", "none.py"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(try(SOURCE_ALL, names[i]) < 0);
	for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++)
		assert_true(try(SOURCE_ALL, in_dir(in[i])) < 0);
}

/*
 * Without SOURCE_ALL, krait run by root shows only files that every user may read, and none that
 * belong to another user. With SOURCE_ALL it shows all files.
 */
static void test_root(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(try(SOURCE_OWN, in_dir("private.py")), -EACCES);
	make("other.py", 0644);
	assert_int_equal(chown(in_dir("other.py"), 12345, 12345), 0);
	assert_int_equal(try(SOURCE_OWN, in_dir("other.py")), -EPERM);
	assert_int_equal(try(SOURCE_ALL, in_dir("other.py")), 0);
}

/*
 * After krait has found out whether another user may read a file, the ids, groups and capabilities
 * of this thread are what they were before.
 */
static void test_owner(void **state)
{
	struct caller caller = {};
	struct source_rules rules = {.caller = &caller, .mode = SOURCE_ALL};
	gid_t one = 12345, before[64], after[64];
	struct proc_owner owner = {.uid = 12345, .gid = 12345, .groups = {.v = &one, .n = 1}};
	int root = open("/", O_PATH | O_DIRECTORY), fd, n = getgroups(64, before);
	cap_t caps = cap_get_proc(), now;

	if (geteuid())
		skip();
	fd = source_open_below(&rules, root, in_dir("own.py"));
	assert_true(fd >= 0);
	assert_true(source_owner_may(&rules, root, in_dir("own.py"), fd, &owner));
	assert_false(source_owner_may(&rules, root, in_dir("private.py"), fd, &owner));
	close(fd);
	fd = source_open_below(&rules, root, in_dir("private.py"));
	assert_true(fd >= 0);
	assert_false(source_owner_may(&rules, root, in_dir("private.py"), fd, &owner));
	assert_int_equal(chown(in_dir("private.py"), 0, 12345), 0);
	assert_int_equal(chmod(in_dir("private.py"), 0640), 0);
	assert_true(source_owner_may(&rules, root, in_dir("private.py"), fd, &owner));
	owner.gid = 1;
	assert_true(source_owner_may(&rules, root, in_dir("private.py"), fd, &owner));
	owner.groups.n = 0;
	assert_false(source_owner_may(&rules, root, in_dir("private.py"), fd, &owner));
	close(fd);
	close(root);
	assert_int_equal(setfsuid(-1), 0);
	assert_int_equal(setfsgid(-1), 0);
	assert_int_equal(getgroups(64, after), n);
	assert_memory_equal(before, after, n * sizeof(*before));
	now = cap_get_proc();
	assert_int_equal(cap_compare(caps, now), 0);
	cap_free(caps);
	cap_free(now);
}

/*
 * Compares the owner that krait reads from /proc/self with what getuid(), getgid() and getgroups()
 * return.
 */
static void test_owner_of_process(void **state)
{
	_cleanup_close_ int self = open("/proc/self", O_PATH | O_DIRECTORY);
	struct proc_owner o;
	gid_t groups[64];
	int n = getgroups(64, groups);

	assert_int_equal(proc_owner_read(self, &o), 0);
	assert_int_equal(o.uid, geteuid());
	assert_int_equal(o.gid, getegid());
	assert_int_equal(o.groups.n, n);
	for (int i = 0; i < n; i++) {
		bool found = false;

		for (int k = 0; k < n; k++)
			found |= groups[k] == o.groups.v[i];
		assert_true(found);
	}
	proc_owner_fini(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_owner_of_process),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
