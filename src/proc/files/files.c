/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the files that a process has mapped. A file is first opened with O_PATH, which has no
 * effect on a FIFO or a device. Only after it was checked is it opened for reading, through
 * /proc/self/fd.
 */
#include "proc/files/files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/work/worker.h"
#include "proc/files/answers.h"
#include "proc/read/aside.h"
#include "proc/read/stat.h"
#include "proc/files/walk.h"

uint64_t file_dev(uint64_t st_dev)
{
	return (uint64_t)major(st_dev) << 20 | minor(st_dev);
}

/*
 * Returns an O_PATH descriptor of @path below @root. Symbolic links can't lead out of @root (Linux
 * 5.6).
 */
static int path_below(int root, pid_t pid, const char *path, uint64_t flags)
{
	return walk_below(root, pid, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

static int path_in_root(int procdir, const char *path)
{
	_cleanup_close_ int root = openat(procdir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : path_below(root, aside_pid_of(procdir), path, 0);
}

static bool same_inode(const struct stat *st, const struct mapping *m)
{
	return st->st_ino == m->ino && file_dev(st->st_dev) == m->dev;
}

/*
 * The kernel's times of files are those of its last tick, so a file may have changed up to TICK_NS
 * after the time that it shows.
 */
#define TICK_NS (10 * NSEC_PER_MSEC)

bool file_is_older(int procdir, struct timespec time)
{
	struct proc_stat stat;
	uint64_t boot_wall_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);

	return !proc_stat_read(procdir, &stat) &&
	       timespec_ns(time) + TICK_NS < boot_wall_ns + proc_stat_start_ns(&stat);
}

/*
 * Has the inode of @path_fd not changed since the process started? If so, the file at a mapping's
 * path counts as the mapped file where numbers can't be compared: on overlayfs a mapping may show
 * device and inode of the lower file; on btrfs it shows the superblock's device, not the
 * subvolume's. (A rename to this path would have changed the inode.) An overlay that a user mounted
 * may show any time, so it isn't believed.
 */
static bool is_unchanged(int path_fd, const struct stat *st, int procdir)
{
	struct file_kind kind = {};
	struct statfs fs;

	if (!worker_is_job())
		(void)!walk_kind(path_fd, file_dev(st->st_dev), aside_pid_of(procdir), &kind);
	else if (!fstatfs(path_fd, &fs))
		kind.type = (long)fs.f_type;
	return !kind.is_users &&
	       (kind.type == OVERLAYFS_SUPER_MAGIC || kind.type == BTRFS_SUPER_MAGIC) &&
	       file_is_older(procdir, st->st_ctim);
}

/*
 * Does the link @dir/@name lead to the file that a mapping shows as @path? Both paths come from the
 * kernel's d_path().
 */
static bool is_link_to(int dir, const char *name, const char *path, bool deleted)
{
	char link[PATH_MAX];
	ssize_t got = readlinkat(dir, name, link, sizeof(link) - 1);
	size_t n = strlen(path);

	link[MAX(got, (ssize_t)0)] = '\0';
	return n && !strncmp(link, path, n) && streq(link + n, deleted ? " (deleted)" : "");
}

int file_walk_mapping(int procdir, const struct mapping *m, struct stat *st)
{
	char name[64];
	int fd, r;

	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	fd = walk_proc(procdir, aside_pid_of(procdir), name);
	if (fd < 0)
		return fd;
	r = walk_stat(fd, st);
	if (!r)
		return fd;
	close(fd);
	return r;
}

/*
 * /proc/PID/map_files/START-END is the mapped file itself, whatever has become of its path. If
 * another file was mapped at these addresses after @m was read, both inode and path differ. On some
 * file systems the inodes differ although the file is the same.
 */
static int open_map_files(int procdir, const struct mapping *m, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char self[40];

	fd = file_walk_mapping(procdir, m, &st);
	if (fd < 0)
		return fd;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!same_inode(&st, m) && !is_link_to(AT_FDCWD, self, path, m->deleted))
		return -ESTALE;
	return walk_open(fd, aside_pid_of(procdir));
}

void file_exe_path(int procdir, char *ret, size_t n)
{
	ssize_t got = readlinkat(procdir, "exe", ret, n - 1);

	ret[MAX(got, (ssize_t)0)] = '\0';
}

bool file_is_exe(int procdir, const char *path, bool deleted)
{
	return is_link_to(procdir, "exe", path, deleted);
}

static int open_exe(int procdir, const struct mapping *m, const char *path)
{
	_cleanup_close_ int fd = openat(procdir, "exe", O_PATH | O_CLOEXEC);
	struct stat st;

	int r = fd < 0 ? -errno : walk_stat(fd, &st);

	if (r)
		return r;
	if (!same_inode(&st, m) && !file_is_exe(procdir, path, m->deleted))
		return -ENOENT;
	return walk_open(fd, aside_pid_of(procdir));
}

static int open_root(int procdir, const struct mapping *m, const char *path, enum file_how *how)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	if (path[0] != '/')
		return -ENOENT;
	fd = path_in_root(procdir, path);
	if (fd < 0)
		return fd;
	r = walk_stat(fd, &st);
	if (r)
		return r;
	if (same_inode(&st, m))
		*how = FILE_ROOT;
	else if (!m->deleted && is_unchanged(fd, &st, procdir))
		*how = FILE_ROOT_OLDER;
	else
		return -ESTALE;
	return walk_open(fd, aside_pid_of(procdir));
}

int file_open_mapping(int procdir, const struct mapping *m, const char *path, enum file_how *how)
{
	enum file_how ignored;
	const char *slash = strrchr(path, '/');
	int fd, denied;

	how = how ? how : &ignored;
	if (!m->ino)
		return err_set(-ENOENT, "the mapping at %llx has no file",
			       (unsigned long long)m->start);
	*how = FILE_MAP_FILES;
	denied = fd = open_map_files(procdir, m, path);
	if (fd >= 0 || fd == -EINVAL || fd == -ETIMEDOUT)
		goto out;
	*how = FILE_EXE;
	fd = open_exe(procdir, m, path);
	if (fd < 0)
		fd = open_root(procdir, m, path, how);
	if ((fd == -ESTALE || fd == -ENOENT) && denied == -EPERM)
		return err_set(denied,
			       "%s was replaced on disk; reading it needs "
			       "CAP_CHECKPOINT_RESTORE",
			       slash ? slash + 1 : path);
out:
	if (fd == -ETIMEDOUT)
		return err_set(fd, "the file system of %s doesn't answer", path);
	if (fd == -ESTALE)
		return err_set(fd, "the file at %s isn't the one that the process has mapped",
			       path);
	if (fd == -EINVAL)
		return err_set(fd, "%s is not a regular file", path);
	return fd < 0 ? err_sys(fd, "can't open the mapped file %s", path) : fd;
}

int file_open_exe(int procdir)
{
	_cleanup_close_ int path_fd = openat(procdir, "exe", O_PATH | O_CLOEXEC);
	int fd = path_fd < 0 ? -errno : walk_open(path_fd, aside_pid_of(procdir));

	return fd < 0 ? err_sys(fd, "can't open its executable") : fd;
}

static int open_regular(int path_fd, pid_t pid, const char *path)
{
	int fd = path_fd < 0 ? path_fd : walk_open(path_fd, pid);

	if (fd == -EINVAL)
		return err_set(fd, "%s is not a regular file", path);
	return fd < 0 ? err_sys(fd, "can't open %s as the process sees it", path) : fd;
}

int file_open_in_root(int procdir, const char *path)
{
	_cleanup_close_ int path_fd = path_in_root(procdir, path);

	return open_regular(path_fd, aside_pid_of(procdir), path);
}

int file_open_below(int root, const char *path)
{
	_cleanup_close_ int path_fd = path_below(root, 0, path, 0);

	return open_regular(path_fd, 0, path);
}

int file_open_as(const struct opener *u, enum file_links links, int root, const char *path)
{
	_cleanup_close_ int path_fd = -1;
	int fd;

	walk_be(u);
	path_fd = path_below(root, 0, path, links == FILE_NO_LINK ? O_NOFOLLOW : 0);
	fd = open_regular(path_fd, 0, path);
	walk_be(NULL);
	return fd;
}
