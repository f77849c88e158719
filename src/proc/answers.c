/* SPDX-License-Identifier: BSD-2-Clause */
/* Which file systems are asked beforehand; see answers.h. */
#include "proc/answers.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/self.h"
#include "proc/reader.h"

#define KNOWN	   64
#define DEV_MINORS 20 /* bits, in mapping.dev */
#define ZFS_MAGIC  0x2fc12fc1
#define XFS_MAGIC  0x58465342
#define RAM_MAGIC  0x858458f6

/* Those that are in memory or on the machine's own disks, or above such ones. */
static bool always_answers(long type)
{
	static const unsigned long local[] = {
		OVERLAYFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,	   RAM_MAGIC,
		EXT4_SUPER_MAGIC,      XFS_MAGIC,	  HUGETLBFS_MAGIC, ZFS_MAGIC,
		SQUASHFS_MAGIC,
	};

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if ((unsigned long)type == local[i])
			return true;
	return false;
}

/* By their numbers: mounts that were asked once; the oldest make room. For one thread. */
static struct {
	uint64_t dev[KNOWN];
	size_t n;
} local;

static bool is_known(uint64_t dev)
{
	for (size_t i = 0; i < MIN(local.n, (size_t)KNOWN); i++)
		if (local.dev[i] == dev)
			return true;
	return false;
}

bool file_answers(int procdir, const struct mapping *m)
{
	char path[128];
	long type = 0;
	int r;

	/* What lies on a block device has its number; those without one have major number 0. */
	if (!m->ino || m->dev >> DEV_MINORS || is_known(m->dev))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d/map_files/%llx-%llx", self_pid(), procdir,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	r = reader_try_file(path, m->dev, &type);
	if (!r && always_answers(type))
		local.dev[local.n++ % KNOWN] = m->dev;
	return r != -ETIMEDOUT;
}
