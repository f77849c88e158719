/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out who may have chosen a cgroup's name, by the owners of the cgroup's directories; see
 * container_claim.h.
 */
#include "proc/container/container_claim.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/container/container.h"

#define CGROUPS "/sys/fs/cgroup"

static bool is_trusted(const char *dir, uid_t *owner)
{
	struct stat st;

	*owner = (uid_t)-1;
	if (stat(dir, &st) || !S_ISDIR(st.st_mode))
		return false;
	*owner = st.st_uid;
	return (st.st_uid == 0 || st.st_uid == getuid()) && !(st.st_mode & S_IWOTH);
}

size_t container_believed(const char *mount, const char *path, uid_t *owner)
{
	_cleanup_str_ struct str dir = {};
	size_t at = 0, n;

	str_add(&dir, mount);
	while (path[at]) {
		at += path[at] == '/';
		n = strcspn(path + at, "/");
		/* A path with ".." leads out of krait's own cgroup namespace. */
		if ((n == 2 && !memcmp(path + at, "..", 2)) || !is_trusted(str_cstr(&dir), owner))
			return at;
		str_add_c(&dir, '/');
		str_add_n(&dir, path + at, n);
		at += n;
	}
	return at;
}

void container_mount(const char *text, size_t n, struct str *ret)
{
	_cleanup_str_ struct str controllers = {};
	struct statfs fs;

	str_add(ret, CGROUPS);
	cgroup_controllers(text, n, &controllers);
	if (controllers.n)
		str_addf(ret, "/%s",
			 str_cstr(&controllers) +
				 (str_starts(str_cstr(&controllers), "name=") ? 5 : 0));
	else if (statfs(CGROUPS, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		str_add(ret, "/unified");
}

bool container_mounts_believed(int procdir)
{
	char own[64], its[64];
	ssize_t n = readlink("/proc/self/ns/user", own, sizeof(own));

	return n > 0 && readlinkat(procdir, "ns/user", its, sizeof(its)) == n &&
	       !memcmp(own, its, (size_t)n);
}
