/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does a text of /proc/PID/cgroup name the given control groups? The groups are given by the
 * kernel's numbers, which the test gets from the file handles of their directories.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/container/cgroups.h"

/*
 * Finds where the cgroup hierarchy of @controllers is mounted for this process, and sets @ret to
 * the path.
 */
static bool find_mount(const char *controllers, char ret[static 256])
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mounts", "re");
	char line[4096], at[256], type[64], options[1024], all[1026];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %255s %63s %1023s", at, type, options) != 3)
			continue;
		snprintf(all, sizeof(all), ",%s,", options);
		snprintf(line, sizeof(line), ",%s,", controllers);
		if (strncmp(type, "cgroup", 6) ||
		    (*controllers ? !strstr(all, line) : strcmp(type, "cgroup2")))
			continue;
		snprintf(ret, 256, "%s", at);
		return true;
	}
	return false;
}

/*
 * Returns the number of the control group whose directory is @path; 0 if the kernel gives it none.
 */
static uint64_t handle_of(const char *path)
{
	_cleanup_free_ struct file_handle *h = calloc(1, sizeof(*h) + MAX_HANDLE_SZ);
	uint64_t ret = 0;
	int mount;

	h->handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(AT_FDCWD, path, h, &mount, 0) || h->handle_bytes != sizeof(ret))
		return 0;
	memcpy(&ret, h->f_handle, sizeof(ret));
	return ret;
}

/*
 * Sets @group to the control groups of this process, and @text to its /proc/self/cgroup. Returns
 * false if a hierarchy isn't mounted at its usual place, or if its groups have no numbers.
 */
static bool read_own(char text[static 4096], __u64 group[static ABI_GROUPS])
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	char line[1024], controllers[256], path[512], at[256], dir[1024];
	unsigned hierarchy;
	size_t n = 0;

	assert_non_null(f);
	*text = '\0';
	while (n < ABI_GROUPS && fgets(line, sizeof(line), f)) {
		strncat(text, line, 4095 - strlen(text));
		if (sscanf(line, "%u:%255[^:]:%511[^\n]", &hierarchy, controllers, path) != 3) {
			*controllers = '\0';
			assert_int_equal(sscanf(line, "%u::%511[^\n]", &hierarchy, path), 2);
		}
		if (!find_mount(controllers, at) || strncmp(at, "/sys/fs/cgroup", 14))
			return false;
		snprintf(dir, sizeof(dir), "%s%s", at, path);
		if (!handle_of(dir))
			return false;
		group[n++] = (uint64_t)hierarchy << ABI_GROUP_SHIFT | handle_of(dir);
	}
	return n;
}

static void test_own(void **state)
{
	__u64 group[ABI_GROUPS] = {}, other;
	char text[4096];
	size_t n = 0;

	(void)state;
	if (!read_own(text, group)) {
		printf("SKIP control groups: they aren't mounted as usual, or have no numbers\n");
		skip();
	}
	assert_true(cgroups_are(text, group));
	while (n < ABI_GROUPS && group[n])
		n++;
	/* one wrong number or one wrong hierarchy is enough for a mismatch */
	for (size_t i = 0; i < n; i++) {
		other = group[i];
		group[i] = other + 1;
		assert_false(cgroups_are(text, group));
		group[i] = other ^ 1ull << (ABI_GROUP_SHIFT + 8);
		assert_false(cgroups_are(text, group));
		group[i] = other;
	}
	assert_true(cgroups_are(text, group));
	/* 0 stands for: the process is in more groups than a record has room for */
	memset(group, 0, sizeof(*group));
	assert_false(cgroups_are(text, group));
}

static void test_not_there(void **state)
{
	static const char *const texts[] = {"", "nonsense\n", "0::/krait-has-no-such-group\n",
					    ":\n", "4:memory\n"};
	__u64 group[ABI_GROUPS] = {1, 4ull << ABI_GROUP_SHIFT | 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(cgroups_are(texts[i], group));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
