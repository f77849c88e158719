/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Root directories of containers. If processes of a container map a file, krait looks for the
 * file's debug file below the container's root, even after these processes have ended. The open
 * root directory keeps the file system from being unmounted, but keeps no process alive.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "collect/process/root.h"
#include "proc/proc.h"

#define MAX_ROOTS 128

static int identify(int dir, struct target_root *ret)
{
	struct statx x;

	if (statx(dir, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x))
		return -errno;
	*ret = (struct target_root){.mount = x.stx_mnt_id, .ino = x.stx_ino, .fd = dir};
	return 0;
}

static bool same(const struct target_root *a, const struct target_root *b)
{
	return a->mount == b->mount && a->ino == b->ino;
}

bool root_has(int fd)
{
	_cleanup_close_ int own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct target_root its = {}, mine = {};

	return own >= 0 && !identify(fd, &its) && !identify(own, &mine) && its.mount == mine.mount;
}

int root_of(root_vec *roots, const struct proc *proc)
{
	_cleanup_close_ int fd = openat(proc->dirfd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct target_root its = {}, mine = {};

	if (fd < 0 || own < 0 || identify(fd, &its) || identify(own, &mine) || same(&its, &mine))
		return -1;
	vec_foreach(root, roots)
		if (same(root, &its))
			return root->fd;
	if (roots->n >= MAX_ROOTS || vec_push(roots, its))
		return -1;
	return TAKE_FD(fd);
}
