/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory limits that krait reads from cgroup directories made by hand. The limit of this process is
 * compared with the kernel's files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/text/str.h"
#include "proc/machine/memory.h"

static char dir[] = "/tmp/krait-memory.XXXXXX";

static int run(const char *script)
{
	char command[1024];

	snprintf(command, sizeof(command), "cd %s && { %s; }", dir, script);
	return system(command);
}

static int make(void **state)
{
	assert_non_null(mkdtemp(dir));
	return run("mkdir -p v2/a/b/c v1/memory/x none/a; echo max > v2/a/memory.max;"
		   "echo 5000 > v2/a/b/memory.max; echo 7000 > v2/a/b/c/memory.max;"
		   "echo 9223372036854771712 > v1/memory/memory.limit_in_bytes;"
		   "echo 3000 > v1/memory/x/memory.limit_in_bytes");
}

static int remove_all(void **state)
{
	return run("rm -r v1 v2 none") || rmdir(dir);
}

static uint64_t limit(const char *tree, const char *path)
{
	char root[PATH_MAX];

	snprintf(root, sizeof(root), "%s/%s", dir, tree);
	return memory_of_cgroup(root, path);
}

static void expect_path(const char *text, const char *controller, const char *path)
{
	_cleanup_str_ struct str s = {};

	assert_int_equal(memory_cgroup_path(text, controller, &s), path != NULL);
	assert_string_equal(str_cstr(&s), path ? path : "");
}

/*
 * In cgroup v1, each controller has a path of its own. The function looks for the path of "memory";
 * "" stands for the path of cgroup v2.
 */
static void test_paths(void **state)
{
	static const char mixed[] = "9:name=systemd:/user\n8:pids,memory:/a:b\n1:cpu:/c\n0::/d\n";

	expect_path(mixed, "memory", "/a:b");
	expect_path(mixed, "", "/d");
	expect_path(mixed, "pids", "/a:b");
	expect_path(mixed, "mem", NULL);
	expect_path("0::/x", "", "/x");
	expect_path("0::/x", "memory", NULL);
	expect_path("8:memory:/m", "", NULL);
	expect_path("", "memory", NULL);
	expect_path("nothing", "memory", NULL);
}

static void test_cgroup(void **state)
{
	assert_int_equal(limit("v2", "/a/b/c"), 5000);
	assert_int_equal(limit("v2", "/a/b/"), 5000);
	assert_int_equal(limit("v2", "/a"), UINT64_MAX);
	assert_int_equal(limit("v2", "/"), UINT64_MAX);
	assert_int_equal(limit("v1", "/x"), 3000);
	assert_int_equal(limit("v1", "/"), 9223372036854771712ull);
	/*
	 * in a container, the path may be that of the host, while the mounted hierarchy begins at
	 * the container's group
	 */
	assert_int_equal(limit("v1", "/docker/y"), 9223372036854771712ull);
	assert_int_equal(limit("none", "/a"), UINT64_MAX);
	assert_int_equal(limit("none", ""), UINT64_MAX);
}

static void test_own(void **state)
{
	uint64_t most = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct rlimit before, less;

	assert_true(memory_allowed() > 0 && memory_allowed() <= most);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	less = (struct rlimit){.rlim_cur = 64 << 20, .rlim_max = before.rlim_max};
	if (setrlimit(RLIMIT_AS, &less))
		return;
	most = memory_allowed();
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_true(most <= 64 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths),
					   cmocka_unit_test(test_cgroup),
					   cmocka_unit_test(test_own)};

	return cmocka_run_group_tests(tests, make, remove_all);
}
