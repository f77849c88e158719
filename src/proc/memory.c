/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of memory; see memory.h. */
#include "proc/memory.h"

#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/util.h"
#include "proc/container.h"

/* UINT64_MAX: no such file, or "max". */
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

static uint64_t of_own_cgroup(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	_cleanup_str_ struct str path = {};
	char text[4096];
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

	cgroup_path(text, n, &path);
	return memory_of_cgroup("/sys/fs/cgroup", str_cstr(&path));
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
