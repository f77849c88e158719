/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which user may have chosen a cgroup's name, by the owners of the cgroup's directories;
 * see container_claim.h.
 */
#include "proc/container/container_claim.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/container/cgroups.h"

/*
 * The path through which the mounts of process 1 are reached. In a pod with hostPID, process 1 is
 * the host's.
 */
#define FIRST_PROCESS "/proc/1"
#define FIRST_ROOT    FIRST_PROCESS "/root"

static bool is_trusted(int dir, uid_t *owner)
{
	struct stat st;

	*owner = (uid_t)-1;
	if (dir < 0 || fstat(dir, &st))
		return false;
	*owner = st.st_uid;
	return (st.st_uid == 0 || st.st_uid == getuid()) && !(st.st_mode & S_IWOTH);
}

static bool is_cgroup(int dir)
{
	struct statfs fs;

	return dir >= 0 && !fstatfs(dir, &fs) &&
	       (fs.f_type == CGROUP2_SUPER_MAGIC || fs.f_type == CGROUP_SUPER_MAGIC);
}

/*
 * Replaces *@dir, the descriptor of a directory, by the descriptor of the directory @name in it, or
 * by -1 if there is no such directory.
 */
static void step(int *dir, const char *name, size_t n)
{
	_cleanup_free_ char *one = strndup(name, n);
	int to = one ? openat(*dir, one, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

	if (*dir >= 0)
		close(*dir);
	*dir = to;
}

static bool is_up(const char *name)
{
	return str_starts(name, "..") && (!name[2] || name[2] == '/');
}

/*
 * Does the work of container_believed() for path[at] and all that follows. *@dir: the directory in
 * which path[at] lies.
 */
static size_t believed_from(int *dir, const char *path, size_t at, uid_t *owner)
{
	size_t n;

	*owner = (uid_t)-1;
	while (path[at]) {
		at += path[at] == '/';
		n = strcspn(path + at, "/");
		if (is_up(path + at) || !is_trusted(*dir, owner))
			return at;
		step(dir, path + at, n);
		at += n;
	}
	return at;
}

/* Is @mount a mount whose root is the root of krait's cgroup namespace? */
static bool shows_own_root(const char *mount)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	_cleanup_str_ struct str at = {}, root = {};
	bool ret = false;
	size_t n = 0;

	/*
	 * A line is "1057 1056 0:29 / /sys/fs/cgroup ro ...". If several file systems are mounted
	 * at one path, only the last of them is visible.
	 */
	str_addf(&at, " %s ", mount);
	str_addf(&root, " / %s ", mount);
	while (f && getline(&line, &n, f) > 0)
		if (strstr(line, str_cstr(&at)))
			ret = strstr(line, str_cstr(&root));
	return ret;
}

/*
 * The root of krait's own cgroup namespace is mounted at @mount. Opens the directory of the same
 * cgroup below @all, where the whole hierarchy is mounted and ".." leads to the parent cgroup.
 * Needs CAP_DAC_READ_SEARCH.
 */
static int open_own_root(const char *mount, const char *all)
{
	_cleanup_free_ struct file_handle *h = calloc(1, sizeof(*h) + MAX_HANDLE_SZ);
	_cleanup_close_ int whole = open(all, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int id;

	if (!h || !shows_own_root(mount))
		return -1;
	h->handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(AT_FDCWD, mount, h, &id, 0))
		return -1;
	return open_by_handle_at(whole, h, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Does the work of container_believed() in the mounts of process 1. @mount: where the hierarchy is
 * mounted among krait's own mounts. A path that leads out of krait's cgroup namespace begins with
 * "..", once for each directory up.
 */
static size_t believed_by_first(const char *mount, const char *all, const char *path, uid_t *owner)
{
	_cleanup_close_ int dir = -1;
	size_t at = path[0] == '/';

	if (is_up(path + at))
		dir = open_own_root(mount, all);
	else
		dir = open(all, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (; is_up(path + at) && is_cgroup(dir); at += 2 + (path[at + 2] == '/'))
		step(&dir, "..", 2);
	return is_cgroup(dir) ? believed_from(&dir, path, at, owner) : at;
}

size_t container_believed(const char *text, size_t len, const char *path, uid_t *owner)
{
	_cleanup_str_ struct str mount = {}, all = {};
	_cleanup_close_ int dir = -1, first = -1;
	size_t n;

	cgroup_mount("", text, len, &mount);
	dir = open(str_cstr(&mount), O_PATH | O_DIRECTORY | O_CLOEXEC);
	n = believed_from(&dir, path, 0, owner);
	if (!path[n] || *owner != (uid_t)-1)
		return n;
	first = open(FIRST_PROCESS, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (first < 0 || !container_mounts_believed(first))
		return n;
	cgroup_mount(FIRST_ROOT, text, len, &all);
	return believed_by_first(str_cstr(&mount), str_cstr(&all), path, owner);
}

bool container_mounts_believed(int procdir)
{
	char own[64], its[64];
	ssize_t n = readlink("/proc/self/ns/user", own, sizeof(own));

	return n > 0 && readlinkat(procdir, "ns/user", its, sizeof(its)) == n &&
	       !memcmp(own, its, (size_t)n);
}
