/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the directories of control groups show; see cgroups.h. */
#include "proc/container/cgroups.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/cleanup.h"
#include "proc/container/container.h"

#define CGROUPS "/sys/fs/cgroup"

/* Appends the path at which the hierarchy with these controllers is mounted. */
static void add_mount(const char *root, const char *controllers, struct str *ret)
{
	struct statfs fs;

	str_addf(ret, "%s" CGROUPS, root);
	if (*controllers)
		str_addf(ret, "/%s", controllers + (str_starts(controllers, "name=") ? 5 : 0));
	else if (statfs(str_cstr(ret), &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		str_add(ret, "/unified");
}

void cgroup_mount(const char *root, const char *text, size_t n, struct str *ret)
{
	_cleanup_str_ struct str controllers = {};

	cgroup_controllers(text, n, &controllers);
	add_mount(root, str_cstr(&controllers), ret);
}

/*
 * Returns the kernel's number of the control group in @line, such as "4:memory:/path"; 0: not
 * known. Changes @line. The number is the inode of the group's directory, which is never used again
 * (5.5+).
 */
static __u64 number_of(char *line)
{
	__u64 hierarchy = strtoull(line, NULL, 10);
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	_cleanup_str_ struct str dir = {};
	struct stat st;

	if (!path)
		return 0;
	*path++ = '\0';
	add_mount("", controllers + 1, &dir);
	str_add(&dir, path);
	if (dir.failed || stat(str_cstr(&dir), &st) || st.st_ino >> ABI_GROUP_SHIFT)
		return 0;
	return hierarchy << ABI_GROUP_SHIFT | st.st_ino;
}

static bool has(const __u64 group[static ABI_GROUPS], __u64 number)
{
	for (size_t i = 0; number && i < ABI_GROUPS; i++)
		if (group[i] == number)
			return true;
	return false;
}

bool cgroups_are(const char *text, const __u64 group[static ABI_GROUPS])
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line;

	if (!copy || !*copy || !group[0])
		return false;
	while ((line = strsep(&rest, "\n")))
		if (*line && !has(group, number_of(line)))
			return false;
	return true;
}
