/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files on a container's overlayfs, where a mapping may show another device and inode than stat().
 * The test opens the files by path, as krait does where it isn't allowed to use map_files; krait
 * must notice a replaced file. An overlay in a mount namespace of its own may be a user's, so the
 * times of its files prove nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/far.h"
#include "proc/files/files.h"
#include "proc/read/maps.h"
#include "proc/proc.h"

static char dir[64], lib[128];

/* Mounts an overlay whose lower directory has a file "lib" that contains @text. */
static bool make_overlay(const char *text)
{
	char path[128], options[400];
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL))
		return false;
	for (const char *const *d = (const char *const[]){"lower", "upper", "work", "merged", NULL};
	     *d; d++) {
		snprintf(path, sizeof(path), "%s/%s", dir, *d);
		if (mkdir(path, 0755))
			return false;
	}
	snprintf(path, sizeof(path), "%s/lower/lib", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0755);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || ftruncate(fd, 8192) || close(fd))
		return false;
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 dir, dir, dir);
	snprintf(path, sizeof(path), "%s/merged", dir);
	return !mount("overlay", path, "overlay", 0, options);
}

static bool replace(void)
{
	char next[140];
	int fd;

	snprintf(next, sizeof(next), "%s.next", lib);
	fd = open(next, O_WRONLY | O_CREAT, 0755);
	return fd >= 0 && write(fd, "after", 5) == 5 && !close(fd) && !rename(next, lib);
}

/* Runs in the process that krait examines: maps the file, and replaces it when told to. */
static void container(int up, int down)
{
	int fd = open(lib, O_RDONLY);
	void *p = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	char c = p == MAP_FAILED ? 'f' : 'k';

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(up, &c, 1) != 1 || read(down, &c, 1) != 1 || !replace() || write(up, "k", 1) != 1)
		_exit(1);
	pause();
}

/*
 * Starts a child that makes the overlay, and a child of it that maps the file. @users: the overlay
 * is made in a new mount namespace, as a user's would be.
 */
static pid_t start(int up[2], int down[2], bool users)
{
	bool made = users || make_overlay("before");
	pid_t child, inner;

	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!made || (users && !make_overlay("before")))
			_exit(2);
		usleep(50000); /* makes the file older than the process by more than a clock tick */
		inner = fork();
		if (!inner)
			container(up[1], down[0]);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	close(up[1]);
	close(down[0]);
	return child;
}

static pid_t only_child_of(pid_t parent)
{
	pid_vec tree = {};
	pid_t r;

	assert_int_equal(proc_tree(parent, &tree), 0);
	assert_int_equal(tree.n, 2);
	r = tree.v[1];
	vec_fini(&tree);
	return r;
}

static void look_at(bool users)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	_cleanup_maps_ struct maps m = {};
	struct mapping e = {}, other;
	enum file_how how;
	char text[6] = "";
	pid_t child, inner;
	int up[2], down[2], fd;

	snprintf(dir, sizeof(dir), "/tmp/krait-overlay-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(lib, sizeof(lib), "%s/merged/lib", dir);
	child = start(up, down, users);
	if (read(up[0], text, 1) != 1) {
		printf("SKIP overlayfs: unshare() or mount() isn't permitted\n");
		waitpid(child, NULL, 0);
		rmdir(dir);
		skip();
	}
	assert_int_equal(text[0], 'k');
	inner = only_child_of(child);
	assert_int_equal(proc_open(&p, inner), 0);
	assert_int_equal(maps_read(p.dirfd, MAPS_EXEC, &m), 0);
	vec_foreach(one, &m.list)
		if (streq(maps_path(&m, one), lib))
			e = *one;
	assert_true(e.ino != 0);
	/* /proc/PID/map_files has no entry for this address, so krait opens the file by its path */
	e.start += 4096;
	fd = file_open_mapping(p.dirfd, &e, lib, &how);
	if (fd < 0)
		fail_msg("%s", err_msg());
	assert_true(how == FILE_ROOT || how == FILE_ROOT_OLDER);
	/* the overlay isn't mounted in this test's mount namespace */
	assert_int_equal(far_pread(fd, text, 5, 0), 5);
	assert_string_equal(text, "befor");
	close(fd);
	other = e; /* some kernels show the device of the lower file system in /proc/PID/maps */
	other.dev ^= 1;
	fd = file_open_mapping(p.dirfd, &other, lib, &how);
	assert_int_equal(fd >= 0 ? 0 : fd, users ? -ESTALE : 0);
	if (!users) {
		assert_int_equal(how, FILE_ROOT_OLDER);
		close(fd);
	}

	assert_int_equal(write(down[1], "x", 1), 1);
	assert_int_equal(read(up[0], text, 1), 1);
	assert_int_equal(file_open_mapping(p.dirfd, &e, lib, &how), -ESTALE);
	assert_int_equal(file_open_mapping(p.dirfd, &other, lib, &how), -ESTALE);
	e.deleted = true;
	assert_int_equal(file_open_mapping(p.dirfd, &e, lib, &how), -ESTALE);
	kill(inner, SIGKILL);
	waitpid(child, NULL, 0);
	close(up[0]);
	close(down[1]);
	while (!umount2(dir, MNT_DETACH)) {
	}
	rmdir(dir);
}

static void test_overlay(void **state)
{
	look_at(false);
}

static void test_users(void **state)
{
	look_at(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* must be the first test, because it enters the mount namespace */
		cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
