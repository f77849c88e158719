/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests output files: a file gets its name only when it is complete, links are followed, and no
 * temporary file is left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "host/files/output.h"

static char dir[64];

static int setup(void **state)
{
	strcpy(dir, "/tmp/krait-output-XXXXXX");
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") || system(command);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_holds(const char *path, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fgets(got, sizeof(got), f) || !*text);
	fclose(f);
	assert_string_equal(got, text);
}

static int entries(void)
{
	_cleanup_closedir_ DIR *d = opendir(".");
	int n = 0;

	while (readdir(d))
		n++;
	return n - 2; /* "." and ".." don't count */
}

static void write_to(const char *path, bool commit)
{
	struct output o;

	assert_int_equal(output_open(&o, path), 0);
	fputs("new", o.stream);
	if (commit)
		assert_int_equal(output_commit(&o), 0);
	output_fini(&o);
}

static void test_new_file(void **state)
{
	struct stat st;
	mode_t mask = umask(027);

	write_to("x.folded", true);
	umask(mask);
	assert_holds("x.folded", "new");
	assert_int_equal(entries(), 1);
	assert_int_equal(stat("x.folded", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void test_older_file(void **state)
{
	put("x", "old");
	write_to("x", false);
	assert_holds("x", "old");
	assert_int_equal(entries(), 1);
	write_to("x", true);
	assert_holds("x", "new");
	assert_int_equal(entries(), 1);
}

/*
 * Writes output over a file of @owner with mode @mode, under umask @mask. Returns the new file's
 * mode.
 */
static mode_t mode_over(mode_t mode, uid_t owner, mode_t mask)
{
	mode_t before = umask(mask);
	struct stat st;

	put("x", "old");
	assert_int_equal(chmod("x", mode), 0);
	assert_int_equal(chown("x", owner, -1), 0);
	write_to("x", true);
	umask(before);
	assert_int_equal(stat("x", &st), 0);
	assert_int_equal(unlink("x"), 0);
	return st.st_mode & 07777;
}

static void test_mode_of_an_older_file(void **state)
{
	assert_int_equal(mode_over(0600, geteuid(), 022), 0600);
	assert_int_equal(mode_over(0666, geteuid(), 077), 0600);
	assert_int_equal(mode_over(0640, geteuid(), 022), 0640);
	assert_int_equal(mode_over(06777, geteuid(), 022), 0644);
	if (geteuid()) {
		printf("SKIP test_output others' files: needs root\n");
		return;
	}
	assert_int_equal(mode_over(0666, 23013, 077), 0600);
	assert_int_equal(mode_over(0600, 23013, 022), 0644);
	assert_int_equal(mode_over(0, 23013, 022), 0644);
}

static void test_link_is_followed(void **state)
{
	struct stat st;

	put("target", "old");
	assert_int_equal(symlink("target", "link"), 0);
	write_to("link", true);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_holds("target", "new");
	assert_int_equal(entries(), 2);
}

/*
 * With `krait record -o /dev/stdout > file`, the link /dev/stdout must not be replaced by a file.
 */
static void test_descriptor_link(void **state)
{
	_cleanup_close_ int fd = open("file", O_WRONLY | O_CREAT, 0600);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	write_to(path, true);
	assert_holds("file", "new");
	assert_int_equal(entries(), 1);
}

/* krait chose the output's name itself, so it doesn't follow a link that already has this name. */
static void test_chosen_name(void **state)
{
	struct output o;
	struct stat st;

	put("target", "old");
	assert_int_equal(symlink("target", "name"), 0);
	assert_int_equal(output_open_chosen(&o, "name"), 0);
	fputs("new", o.stream);
	assert_int_equal(output_commit(&o), 0);
	output_fini(&o);
	assert_holds("target", "old");
	assert_holds("name", "new");
	assert_int_equal(lstat("name", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(entries(), 2);
}

/*
 * While the output is being written, its path comes to lead to another directory. The file is still
 * put into the directory that was opened.
 */
static void test_directory_is_held(void **state)
{
	struct output o;

	assert_int_equal(mkdir("a", 0700), 0);
	assert_int_equal(mkdir("b", 0700), 0);
	assert_int_equal(output_open(&o, "a/x"), 0);
	fputs("new", o.stream);
	assert_int_equal(rename("a", "moved"), 0);
	assert_int_equal(symlink("b", "a"), 0);
	assert_int_equal(output_commit(&o), 0);
	output_fini(&o);
	assert_holds("moved/x", "new");
	assert_int_equal(access("b/x", F_OK), -1);
}

/*
 * While the output is being written, its name becomes a link. The output replaces the link; the
 * file that the link leads to stays unchanged.
 */
static void test_link_comes_meanwhile(void **state)
{
	struct output o;

	put("target", "old");
	assert_int_equal(output_open(&o, "x"), 0);
	fputs("new", o.stream);
	assert_int_equal(symlink("target", "x"), 0);
	assert_int_equal(output_commit(&o), 0);
	output_fini(&o);
	assert_holds("target", "old");
	assert_holds("x", "new");
	assert_int_equal(entries(), 2);
}

static void test_cannot_write(void **state)
{
	struct output o;

	assert_int_equal(output_open(&o, "no/such/dir/x"), -ENOENT);
	assert_non_null(strstr(err_msg(), "can't write no/such/dir/x"));
	output_fini(&o);
	assert_int_equal(output_open(&o, "."), -EISDIR);
	output_fini(&o);
	assert_int_equal(entries(), 0);
}

static void test_full(void **state)
{
	struct output o;

	assert_int_equal(output_open(&o, "/dev/full"), 0);
	fputs("new", o.stream);
	assert_int_equal(output_commit(&o), -ENOSPC);
	assert_non_null(strstr(err_msg(), "No space left"));
	output_fini(&o);
}

static void test_elsewhere(void **state)
{
	_cleanup_free_ char *path = NULL;
	char made[128];
	struct output o;

	assert_int_equal(setenv("TMPDIR", dir, 1), 0);
	assert_int_equal(output_open_elsewhere(&o, "x.folded"), 0);
	fputs("new", o.stream);
	path = strdup(o.path);
	assert_memory_equal(path, dir, strlen(dir));
	assert_int_equal(output_commit(&o), 0);
	output_fini(&o);
	assert_holds(path, "new");
	/* an output that isn't committed leaves no file behind */
	assert_int_equal(output_open_elsewhere(&o, "x.folded"), 0);
	output_fini(&o);
	unsetenv("TMPDIR");
	assert_int_equal(entries(), 1);
	snprintf(made, sizeof(made), "%.*s", (int)(strlen(path) - strlen("/x.folded")), path);
	assert_int_equal(access(made, X_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mode_of_an_older_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chosen_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directory_is_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_comes_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_is_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptor_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cannot_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere, setup, teardown),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
