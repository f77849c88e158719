/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Some kinds of file systems always answer, so krait needs no child process to read their files.
 * Not among them are: a FUSE file system on a disk, an overlay that a user mounted, and a file
 * system whose device number was another one's before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/files/answers.h"
#include "proc/files/files.h"
#include "proc/files/walk.h"

#define FUSE_MAGIC 0x65735546

static void test_kinds(void **state)
{
	const struct file_place disk = {8ull << 20 | 1, 100}, memory = {30, 101}, again = {30, 102};

	assert_false(answers_known(disk));
	assert_false(answers_kind(disk, &(struct file_kind){.type = FUSE_MAGIC}));
	assert_false(answers_known(disk));
	/* 0x4d44 is the magic number of vfat in statfs() */
	assert_true(answers_kind(disk, &(struct file_kind){.type = 0x4d44}));
	assert_true(answers_known(disk));
	assert_false(answers_kind(memory, &(struct file_kind){.type = 0x4d44}));
	assert_true(answers_kind(memory, &(struct file_kind){.type = TMPFS_MAGIC}));
	assert_true(answers_known(memory));
	/* tmpfs was unmounted, and another file system now has its device number */
	assert_false(answers_known(again));
	assert_false(answers_kind(memory, &(struct file_kind){OVERLAYFS_SUPER_MAGIC, true}));
}

/* Mounts an overlay at @dir/merged in this process's mount namespace. */
static bool make_overlay(const char *dir)
{
	char path[200], options[400];

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL))
		return false;
	for (const char *const *d = (const char *const[]){"lower", "upper", "work", "merged", NULL};
	     *d; d++) {
		snprintf(path, sizeof(path), "%s/%s", dir, *d);
		if (mkdir(path, 0755))
			return false;
	}
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 dir, dir, dir);
	return !mount("overlay", path, "overlay", 0, options);
}

/*
 * Returns 1 if krait takes the overlay that process @pid sees at @path for a user's, else 0.
 * Returns 2 if this test isn't permitted to find out.
 */
static int is_users(pid_t pid, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct file_kind kind;
	char name[300];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%d/root%s/merged", pid, path);
	fd = open(name, O_PATH | O_CLOEXEC);
	if (fd < 0 || walk_stat(fd, &st) || walk_kind(fd, file_dev(st.st_dev), pid, &kind) ||
	    kind.type != OVERLAYFS_SUPER_MAGIC)
		return 2;
	return kind.is_users;
}

/* Maps the user to root in the new user namespace, of which this process is the owner. */
static bool map_root(void)
{
	static const char *const words[][2] = {{"/proc/self/setgroups", "deny"},
					       {"/proc/self/uid_map", "0 0 1"},
					       {"/proc/self/gid_map", "0 0 1"}};
	bool done = true;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		_cleanup_close_ int fd = open(words[i][0], O_WRONLY);

		done &= write(fd, words[i][1], strlen(words[i][1])) > 0;
	}
	return done;
}

/* Starts a process that mounts an overlay without privileges, in a user namespace of its own. */
static pid_t user_mounts(const char *dir)
{
	int ready[2];
	char c = 'n';
	pid_t child;

	if (pipe(ready))
		return -1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !map_root() || !make_overlay(dir))
			_exit(1);
		c = 'y';
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1 || c != 'y')
		return -1;
	return child;
}

/*
 * Examines an overlay mounted by root and one mounted by a user. Returns a bit for each wrong
 * answer, or 64 if this test isn't permitted to mount them.
 */
static int look(const char *dir)
{
	int of_root, of_user;
	pid_t user;

	if (unshare(CLONE_NEWNS) || !make_overlay(dir))
		return 64;
	of_root = is_users(getpid(), dir);
	user = user_mounts(dir);
	of_user = user > 0 ? is_users(user, dir) : 2;
	if (user > 0)
		kill(user, SIGKILL);
	if (of_root == 2 || of_user == 2)
		return 64;
	return of_root | !of_user << 1;
}

static void test_overlays(void **state)
{
	char dir[] = "/tmp/krait-answers-XXXXXX";
	int status;
	pid_t child;

	assert_non_null(mkdtemp(dir));
	child = fork();
	if (!child)
		_exit(look(dir));
	assert_int_equal(waitpid(child, &status, 0), child);
	rmdir(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 64) {
		printf("SKIP overlays: unshare() or mount() isn't permitted\n");
		skip();
	}
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_overlays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
