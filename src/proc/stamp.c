/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the stamp of a process; see stamp.h. */
#include "proc/stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"

/*
 * The most bytes of a list of control groups; a process with a longer list has no stamp. Usual
 * lists have 60 to 600 bytes.
 */
#define GROUPS_BYTES 4096

/* Reads /proc/PID/cgroup. The kernel makes this text as a whole, so one read() gets all of it. */
static int read_groups(pid_t tgid, uint64_t *ret)
{
	char path[40], text[GROUPS_BYTES];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	*ret = XXH3_64bits(text, (size_t)n);
	return (size_t)n < sizeof(text) ? 0 : -E2BIG;
}

int proc_stamp_read(pid_t tgid, struct proc_stamp *ret)
{
	struct proc_stamp stamp = {};
	char path[32];
	struct stat st;
	int r;

	*ret = stamp;
	snprintf(path, sizeof(path), "/proc/%d", tgid);
	/* the owner of the directory is the effective user, even if the process isn't dumpable */
	if (stat(path, &st))
		return -errno;
	r = read_groups(tgid, &stamp.groups);
	if (r)
		return r;
	stamp.dir = st.st_ino;
	stamp.uid = st.st_uid;
	*ret = stamp;
	return 0;
}

bool proc_stamp_same(const struct proc_stamp *a, const struct proc_stamp *b)
{
	return a->dir && a->dir == b->dir && a->groups == b->groups && a->uid == b->uid;
}
