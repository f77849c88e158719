/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests how krait reads the environment with which a process was started, and how it becomes the
 * user who called sudo (needs root).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <grp.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/cleanup.h"
#include "host/caller.h"

#define NOBODY	      65534
#define SKIPPED	      77

#define _cleanup_env_ _cleanup_(environment_fini)

static void test_parse(void **state)
{
	static const char text[] = "A=1\0B=x=y\0nonsense\0A=2\0C=\0cut=of";
	_cleanup_env_ struct environment e = {};

	assert_int_equal(environment_parse(&e, text, sizeof(text) - 1), 0);
	assert_string_equal(environment_get(&e, "A"), "2");
	assert_string_equal(environment_get(&e, "B"), "x=y");
	assert_string_equal(environment_get(&e, "C"), "");
	assert_null(environment_get(&e, "cut"));
	assert_null(environment_get(&e, "nonsense"));
	assert_int_equal(e.v.n, 4);
	assert_null(e.v.v[3]);
}

static void test_original(void **state)
{
	_cleanup_env_ struct environment own = {}, proc = {};

	/*
	 * removes PATH from the current environment; the one with which the process was started
	 * keeps it
	 */
	unsetenv("PATH");
	assert_int_equal(environment_original(&own), 0);
	assert_int_equal(environment_of_process(&proc, getpid()), 0);
	assert_non_null(environment_get(&own, "PATH"));
	assert_int_equal(own.v.n, proc.v.n);
	for (size_t i = 0; i + 1 < own.v.n; i++)
		assert_string_equal(own.v.v[i], proc.v.v[i]);
	setenv("PATH", environment_get(&own, "PATH"), 1);
}

static void test_not_sudo(void **state)
{
	_cleanup_(caller_fini) struct caller c;

	unsetenv("SUDO_UID");
	assert_int_equal(caller_find(&c), 0);
	assert_false(c.other);
	assert_int_equal(c.env.v.n, 0);
	assert_int_equal(caller_enter(&c), 0);
	caller_leave(&c);
}

static void pretend_sudo(void)
{
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	setenv("GIVEN", "yes", 1);
}

static void test_bad_sudo_variables(void **state)
{
	static const char *const bad[] = {
		"", "0", "-1", "x", "12x", "4294967295", "99999999999999"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(caller_fini) struct caller c;

		setenv("SUDO_UID", bad[i], 1);
		setenv("SUDO_GID", "65534", 1);
		assert_int_equal(caller_find(&c), 0);
		assert_false(c.other);
	}
	unsetenv("SUDO_UID");
}

/*
 * Runs in a child that pretends to be started by sudo. Returns 0 if the child takes on the user,
 * the groups and the environment of the user who called sudo.
 */
static int check_become(void)
{
	struct caller c;
	uid_t r, e, s;
	gid_t group;

	pretend_sudo();
	if (caller_find(&c) || !c.other || c.groups.n > 16)
		return 1;
	if (caller_become(&c))
		return 2;
	if (getresuid(&r, &e, &s) || r != NOBODY || e != NOBODY || s != NOBODY)
		return 3;
	if (getgid() != NOBODY || (getgroups(1, &group) > 0 && group == 0))
		return 4;
	if (!getenv("GIVEN") || !getenv("HOME") || !streq(getenv("USER"), "nobody"))
		return 5;
	return setuid(0) == 0 ? 6 : 0;
}

/*
 * Runs @check in a child, whose exit code is what @check returns. Returns the wait status. Needs
 * root, because only root can change its user.
 */
static int in_child(int (*check)(void))
{
	int status;
	pid_t pid;

	if (getuid() != 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(check());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_become(void **state)
{
	assert_int_equal(in_child(check_become), 0);
}

/*
 * Runs in a child of root. Returns 0 if the child gets its parent's groups, even if the list of
 * groups is longer than any buffer.
 */
static int check_many_groups(void)
{
	static gid_t groups[NGROUPS_MAX];
	struct caller c;
	pid_t child;
	int go[2], status;
	char byte;

	for (size_t i = 0; i < NGROUPS_MAX; i++)
		groups[i] = (gid_t)(4000000000u + i);
	if (pipe(go))
		return 1;
	child = fork();
	if (child == 0) {
		/*
		 * closes the child's copy of the pipe's write end; otherwise the child would wait
		 * for itself if its parent gives up
		 */
		close(go[1]);
		pretend_sudo();
		if (read(go[0], &byte, 1) != 1 || caller_find(&c) || c.groups.n != NGROUPS_MAX)
			_exit(2);
		_exit(memcmp(c.groups.v, groups, sizeof(groups)) ? 3 : 0);
	}
	/* the user namespace of this test has no such group numbers */
	if (setgroups(NGROUPS_MAX, groups))
		return SKIPPED;
	if (setresuid(NOBODY, NOBODY, NOBODY) || write(go[1], "", 1) != 1 ||
	    waitpid(child, &status, 0) != child)
		return 4;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}

static void test_many_groups(void **state)
{
	int status = in_child(check_many_groups);

	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		printf("SKIP caller of many groups: setgroups() isn't permitted\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void test_files_are_the_callers(void **state)
{
	_cleanup_(caller_fini) struct caller c;
	char path[] = "/tmp/krait-caller-XXXXXX";
	struct stat st;

	if (getuid() != 0)
		skip();
	pretend_sudo();
	assert_int_equal(caller_find(&c), 0);
	assert_int_equal(caller_enter(&c), 0);
	close(mkstemp(path));
	assert_int_equal(geteuid(), NOBODY);
	caller_leave(&c);
	assert_int_equal(geteuid(), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, NOBODY);
	assert_int_equal(st.st_gid, NOBODY);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	    cmocka_unit_test(test_original),
		cmocka_unit_test(test_not_sudo),    cmocka_unit_test(test_bad_sudo_variables),
		cmocka_unit_test(test_become),	    cmocka_unit_test(test_files_are_the_callers),
		cmocka_unit_test(test_many_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
