/* SPDX-License-Identifier: BSD-2-Clause */
/* Knows which file systems always answer; see answers.h. */
#include "proc/files/answers.h"

#include <linux/magic.h>

#include "base/system/clock.h"

#define KNOWN	   256
#define DEV_MINORS 20 /* how many bits of mapping.dev are the minor number */
#define ZFS_MAGIC  0x2fc12fc1
#define XFS_MAGIC  0x58465342
#define RAM_MAGIC  0x858458f6
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/*
 * If .mount isn't known, a file system counts as one that always answers for this long. After that,
 * .dev may be the number of another file system.
 */
#define KNOWN_NS (10 * NSEC_PER_SEC)

/*
 * Is @type the type of a file system in memory, on the machine's own disks, or above such file
 * systems?
 */
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

/*
 * File systems that are known to always answer. A new entry replaces the oldest. Only the main
 * thread uses this list.
 */
static struct {
	struct {
		struct file_place at;
		uint64_t since_ns;
	} place[KNOWN];
	size_t n;
} local;

bool answers_known(struct file_place at)
{
	for (size_t i = 0; i < MIN(local.n, (size_t)KNOWN); i++)
		if (local.place[i].at.dev == at.dev && local.place[i].at.mount == at.mount)
			return at.mount ||
			       clock_ns(CLOCK_MONOTONIC) - local.place[i].since_ns < KNOWN_NS;
	return false;
}

static size_t place_of(struct file_place at)
{
	for (size_t i = 0; i < MIN(local.n, (size_t)KNOWN); i++)
		if (local.place[i].at.dev == at.dev && local.place[i].at.mount == at.mount)
			return i;
	return local.n++ % KNOWN;
}

bool answers_kind(struct file_place at, const struct file_kind *kind)
{
	/*
	 * The major number is that of the block device; 0: the file system is on no device. A FUSE
	 * file system may be on a block device (ntfs-3g), but needn't answer.
	 */
	bool on_disk = at.dev >> DEV_MINORS && kind->type != FUSE_SUPER_MAGIC;
	size_t i;

	if (kind->is_users || (!on_disk && !always_answers(kind->type)))
		return false;
	i = place_of(at);
	local.place[i].at = at;
	local.place[i].since_ns = clock_ns(CLOCK_MONOTONIC);
	return true;
}
