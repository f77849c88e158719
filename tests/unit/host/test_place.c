/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the path of an output leads: which links are followed, whether a file is there already, and
 * which names no file can have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include "base/error.h"
#include "host/files/place.h"

#define OTHER 23013 /* uid of another user */

static char dir[64];

static int setup(void **state)
{
	strcpy(dir, "/tmp/krait-place-XXXXXX");
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") || system(command);
}

static void make(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
}

/*
 * Checks that @path leads to the name @name in the directory @folder. @exists: whether a file is
 * there.
 */
static void assert_leads(const char *path, const char *folder, const char *name, bool exists)
{
	_cleanup_place_ struct place p;
	struct stat got, want;

	assert_int_equal(place_find(&p, path, true), 0);
	assert_string_equal(p.name, name);
	assert_int_equal(p.fd >= 0, exists);
	assert_false(p.handed);
	assert_int_equal(fstat(p.dir, &got), 0);
	assert_int_equal(stat(folder, &want), 0);
	assert_int_equal(got.st_ino, want.st_ino);
}

static void assert_refused(const char *path, int error)
{
	_cleanup_place_ struct place p;

	assert_int_equal(place_find(&p, path, true), error);
	assert_int_equal(p.dir, -1);
	assert_non_null(strstr(err_msg(), path));
}

static void test_names(void **state)
{
	char whole[128];

	assert_int_equal(mkdir("sub", 0700), 0);
	make("sub/old");
	assert_leads("new", ".", "new", false);
	assert_leads("sub/new", "sub", "new", false);
	assert_leads(".//sub///old", "sub", "old", true);
	assert_leads("sub/../sub/./old", "sub", "old", true);
	snprintf(whole, sizeof(whole), "%s/sub/old", dir);
	assert_leads(whole, "sub", "old", true);
}

static void test_no_names(void **state)
{
	char name[NAME_MAX + 2];

	memset(name, 'x', sizeof(name) - 1);
	name[NAME_MAX + 1] = '\0';
	make("file");
	assert_refused("", -ENOENT);
	assert_refused("/", -EISDIR);
	assert_refused(".", -EISDIR);
	assert_refused("..", -EISDIR);
	assert_refused("./", -EISDIR);
	assert_refused("new/", -EISDIR);
	assert_refused("missing/new", -ENOENT);
	assert_refused("file/new", -ENOTDIR);
	assert_refused("file/", -ENOTDIR);
	assert_refused(name, -ENAMETOOLONG);
}

static void test_links(void **state)
{
	assert_int_equal(mkdir("sub", 0700), 0);
	make("sub/old");
	assert_int_equal(symlink("sub/old", "old"), 0);
	assert_int_equal(symlink("sub/new", "new"), 0);
	assert_int_equal(symlink("sub", "folder"), 0);
	assert_int_equal(symlink("../folder/new", "sub/back"), 0);
	assert_int_equal(symlink("sub/back", "chain"), 0);
	assert_int_equal(symlink("/dev/full", "full"), 0);
	assert_int_equal(symlink("round", "round"), 0);
	assert_int_equal(symlink("sub/", "slash"), 0);
	assert_leads("old", "sub", "old", true);
	assert_leads("new", "sub", "new", false);
	assert_leads("folder/new", "sub", "new", false);
	assert_leads("chain", "sub", "new", false);
	assert_leads("folder/../old", "sub", "old", true);
	assert_leads("full", "/dev", "full", true);
	assert_refused("round", -ELOOP);
	assert_refused("slash", -EISDIR);
	assert_refused("folder", -EISDIR);
}

static void test_link_itself(void **state)
{
	_cleanup_place_ struct place p;

	assert_int_equal(symlink("/etc/passwd", "link"), 0);
	assert_int_equal(place_find(&p, "link", false), 0);
	assert_string_equal(p.name, "link");
	assert_true(S_ISLNK(p.st.st_mode));
}

static void test_open_file_of_a_process(void **state)
{
	_cleanup_place_ struct place p;
	_cleanup_close_ int fd = open("file", O_RDWR | O_CREAT, 0600), again = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(write(fd, "old", 3), 3);
	assert_int_equal(place_find(&p, path, true), 0);
	assert_true(p.handed && p.fd >= 0);
	again = place_open(&p, path);
	assert_true(again >= 0);
	/* the file was truncated when it was opened again */
	assert_int_equal(lseek(again, 0, SEEK_END), 0);
}

/*
 * The file is replaced by another one after krait checked it and before krait opens it. krait opens
 * neither.
 */
static void test_exchanged(void **state)
{
	_cleanup_place_ struct place p;

	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(place_find(&p, "fifo", true), 0);
	assert_int_equal(unlink("fifo"), 0);
	make("fifo");
	assert_int_equal(place_open(&p, "fifo"), -EPERM);
	assert_int_equal(unlink("fifo"), 0);
	assert_int_equal(symlink("/etc/passwd", "fifo"), 0);
	assert_int_equal(place_open(&p, "fifo"), -ELOOP);
}

static void test_owners(void **state)
{
	_cleanup_place_ struct place p;

	if (geteuid()) {
		printf("SKIP test_place owners: needs root\n");
		return;
	}
	assert_int_equal(mkdir("open", 0777), 0);
	assert_int_equal(symlink("../new", "open/link"), 0);
	assert_int_equal(mkfifo("open/fifo", 0600), 0);
	assert_int_equal(lchown("open/link", OTHER, OTHER), 0);
	assert_int_equal(chown("open/fifo", OTHER, OTHER), 0);
	for (int sticky = 0; sticky <= S_ISVTX; sticky += S_ISVTX) {
		assert_int_equal(chmod("open", 0777 | sticky), 0);
		assert_refused("open/link", -EPERM);
		assert_non_null(strstr(err_msg(), "a link of another user (23013)"));
		assert_int_equal(place_find(&p, "open/fifo", true), 0);
		assert_int_equal(place_open(&p, "open/fifo"), -EPERM);
		assert_non_null(strstr(err_msg(), "a FIFO of another user (23013)"));
		place_fini(&p);
	}
	/*
	 * krait follows links that belong to the directory's owner. If only the owner can make
	 * entries in the directory, krait follows all links in it.
	 */
	assert_int_equal(chown("open", OTHER, OTHER), 0);
	assert_leads("open/link", ".", "new", false);
	assert_int_equal(chown("open", 0, 0), 0);
	assert_int_equal(chmod("open", 0775), 0);
	assert_leads("open/link", ".", "new", false);
	/* krait also follows links that belong to its own user */
	assert_int_equal(chmod("open", 01777), 0);
	assert_int_equal(lchown("open/link", 0, 0), 0);
	assert_leads("open/link", ".", "new", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_file_of_a_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exchanged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
