/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of the files that commands have mapped. krait reads its own lists, and none that another
 * user may have written.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/str.h"
#include "unwind/file_list.h"

static char dir[64];
static struct unwind_cache *cache;

static int set_up(void **state)
{
	char template[] = "/tmp/krait-lists-XXXXXX";

	if (!mkdtemp(template))
		return -1;
	snprintf(dir, sizeof(dir), "%s/sub/krait", template);
	cache = unwind_cache_new(dir, geteuid(), getegid(), false);
	return cache ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	unwind_cache_free(cache);
	*strrchr(dir, '/') = 0;
	*strrchr(dir, '/') = 0;
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

static void note(void *arg, const char *path)
{
	str_addf(arg, "%s;", path);
}

static void assert_kept(const char *command, const char *want)
{
	_cleanup_str_ struct str got = {};

	file_list_read(cache, command, note, &got);
	assert_string_equal(got.n ? got.s : "", want);
}

static void keep(const char *command, const char *const *path, size_t n)
{
	assert_int_equal(file_list_write(cache, command, path, n), 0);
}

static const char *const paths[] = {"/lib/a.so", "[vdso]", "/lib/with\nnewline", "/lib/b c.so"};

/* Returns the path of the only list of files in the cache. */
static void list_path(char *ret, size_t n)
{
	DIR *d = opendir(dir);

	assert_non_null(d);
	*ret = 0;
	for (struct dirent *e; (e = readdir(d));)
		if (str_ends(e->d_name, ".files"))
			snprintf(ret, n, "%s/%s", dir, e->d_name);
	closedir(d);
	assert_true(*ret);
}

static void test_comes_back(void **state)
{
	const char *other = "/lib/later.so";

	assert_kept("/bin/a", "");
	keep("/bin/a", paths, ARRAY_SIZE(paths));
	assert_kept("/bin/a", "/lib/a.so;/lib/b c.so;");
	assert_kept("/bin/b", "");
	keep("/bin/a", &other, 1);
	assert_kept("/bin/a", "/lib/later.so;");
}

static void test_others_can_write_it(void **state)
{
	char path[512];

	keep("/bin/a", paths, ARRAY_SIZE(paths));
	list_path(path, sizeof(path));
	assert_int_equal(chmod(path, 0666), 0);
	assert_kept("/bin/a", "");
	assert_int_equal(chmod(path, 0600), 0);
	assert_kept("/bin/a", "/lib/a.so;/lib/b c.so;");
	assert_int_equal(chmod(dir, 0777), 0);
	assert_kept("/bin/a", "");
	assert_int_equal(chmod(dir, 0700), 0);
}

static void test_no_link(void **state)
{
	char path[512], moved[600];

	keep("/bin/a", paths, ARRAY_SIZE(paths));
	list_path(path, sizeof(path));
	snprintf(moved, sizeof(moved), "%s-moved", path);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink(moved, path), 0);
	assert_kept("/bin/a", "");
}

/*
 * A list of another command, a list that is too long and an empty list aren't used. A list that was
 * cut off is used as far as it goes.
 */
static void test_damaged(void **state)
{
	char path[512];
	int fd;

	keep("/bin/a", paths, ARRAY_SIZE(paths));
	list_path(path, sizeof(path));
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "/bin/b\n/lib/a.so\n", 17), 17);
	assert_kept("/bin/a", "");
	assert_int_equal(pwrite(fd, "/bin/a\n/lib/a.s", 15, 0), 15);
	assert_int_equal(ftruncate(fd, 15), 0);
	assert_kept("/bin/a", "/lib/a.s;");
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_kept("/bin/a", "");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_kept("/bin/a", "");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_comes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others_can_write_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_link, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
