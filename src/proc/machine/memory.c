/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the limit on krait's own memory; see memory.h. */
#include "proc/machine/memory.h"

#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "base/util.h"

/* Reads the limit in a cgroup's file. UINT64_MAX: there is no such file, or it says "max". */
static uint64_t read_limit(const char *root, const char *dir, int n, const char *name)
{
	unsigned long long limit;
	char path[PATH_MAX];
	_cleanup_fclose_ FILE *f = NULL;

	if (snprintf(path, sizeof(path), "%s%.*s/%s", root, n, dir, name) >= (int)sizeof(path))
		return UINT64_MAX;
	f = fopen(path, "re");
	return f && fscanf(f, "%llu", &limit) == 1 ? limit : UINT64_MAX;
}

uint64_t memory_of_cgroup(const char *root, const char *path)
{
	_cleanup_str_ struct str v1 = {};
	uint64_t least = UINT64_MAX;
	int n = (int)strlen(path);

	str_addf(&v1, "%s/memory", root);
	for (;;) {
		while (n && path[n - 1] == '/')
			n--;
		least = MIN(least, read_limit(root, path, n, "memory.max"));
		least = MIN(least, read_limit(str_cstr(&v1), path, n, "memory.limit_in_bytes"));
		if (!n)
			return least;
		while (n && path[n - 1] != '/')
			n--;
	}
}

/*
 * Is @name in the list of controllers at @list, "cpu,memory", which has @n bytes? The list of
 * cgroup v2 is empty; @name "" is in this list only.
 */
static bool has_controller(const char *list, size_t n, const char *name)
{
	size_t k = strlen(name);

	for (const char *end = list + n; list <= end; list++) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		size_t m = (size_t)((comma ? comma : end) - list);

		if (m == k && !memcmp(list, name, k))
			return true;
		list += m;
	}
	return false;
}

bool memory_cgroup_path(const char *text, const char *controller, struct str *ret)
{
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		end = strchrnul(line, '\n');
		if (!path || path > end ||
		    !has_controller(list + 1, (size_t)(path - list - 1), controller))
			continue;
		str_add_n(ret, path + 1, (size_t)(end - path - 1));
		return true;
	}
	return false;
}

/*
 * Returns the smallest limit of krait's cgroups. If cgroup v1 and v2 are used together, krait is in
 * a cgroup of each, and v2's tree may be mounted at "unified".
 */
static uint64_t of_own_cgroup(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	_cleanup_str_ struct str v1 = {}, v2 = {};
	uint64_t least = UINT64_MAX;
	char text[4096];
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (memory_cgroup_path(text, "memory", &v1))
		least = memory_of_cgroup("/sys/fs/cgroup", str_cstr(&v1));
	if (!memory_cgroup_path(text, "", &v2))
		return least;
	least = MIN(least, memory_of_cgroup("/sys/fs/cgroup", str_cstr(&v2)));
	return MIN(least, memory_of_cgroup("/sys/fs/cgroup/unified", str_cstr(&v2)));
}

uint64_t memory_allowed(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t least = pages > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
	struct rlimit limit;

	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
		least = MIN(least, (uint64_t)limit.rlim_cur);
	return MIN(least, of_own_cgroup());
}
