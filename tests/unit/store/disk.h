/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records each call by which this process changes files below a directory. cut.h makes of the
 * record what a power cut could leave. The code of krait and SQLite is unchanged: both call the
 * functions of this header in place of the C library's.
 *
 * POSIX promises little: what was written reaches the disk with the next flush of that file, a name
 * with the next flush of its directory. Without such a flush, a sector has its old contents, its
 * new contents, zeros, or anything; a name leads to any file that it has led to since its
 * directory's last flush. Like SQLite, the test relies on one promise more: bytes beside those
 * written don't change.
 */
#ifndef TESTS_UNIT_STORE_DISK_H
#define TESTS_UNIT_STORE_DISK_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text/str.h"
#include "base/vec.h"

#define DISK_FDS   1024
#define DISK_NAMES 16
#define NO_FILE	   0
#define THE_ROOT   1 /* the directory that is recorded */
/* number of the store's directory, the only one below the root; files have higher numbers */
#define THE_STORE 2

enum disk_kind { DISK_NAME, DISK_WRITE, DISK_SIZE, DISK_FLUSH };

struct disk_op {
	enum disk_kind kind;
	/*
	 * the file that is written, resized or flushed; DISK_NAME: the file to which the name leads
	 * from now on
	 */
	int file;
	int name;	/* DISK_NAME: its index */
	size_t at;	/* DISK_WRITE: offset in the file; DISK_SIZE: the new size */
	size_t data, n; /* DISK_WRITE: where the bytes are in disk.data, and how many */
};

/* Flushes that the recording leaves out, to show that the test notices a missing flush. */
enum disk_fault { DISK_RIGHT, DISK_NO_FLUSH, DISK_NO_DIRECTORY_FLUSH, DISK_NO_PARENT_FLUSH };

static struct disk {
	const char *root; /* NULL: nothing is recorded */
	enum disk_fault fault;
	/* skips real flushes, because the test uses only the recording in memory */
	bool quick;
	int files; /* the highest number of a file so far */
	int fds[DISK_FDS];
	struct disk_name {
		char path[64]; /* below the root */
		int file;
	} names[DISK_NAMES];
	int n_names;
	VEC(struct disk_op) ops;
	struct str data;
} disk;

/* Returns a file's path relative to the root, or NULL if the file isn't below the root. */
static inline const char *disk_below(const char *path)
{
	size_t n = disk.root ? strlen(disk.root) : 0;

	return n && !strncmp(path, disk.root, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static inline int disk_name(const char *below)
{
	for (int i = 0; i < disk.n_names; i++)
		if (!strcmp(disk.names[i].path, below))
			return i;
	if (disk.n_names == DISK_NAMES || strlen(below) >= sizeof(disk.names[0].path))
		abort();
	strcpy(disk.names[disk.n_names].path, below);
	return disk.n_names++;
}

static inline void disk_push(const struct disk_op *op)
{
	if (vec_push(&disk.ops, *op))
		abort();
}

static inline void disk_lead(const char *below, int file)
{
	int name = disk_name(below);

	disk.names[name].file = file;
	disk_push(&(struct disk_op){.kind = DISK_NAME, .name = name, .file = file});
}

static inline int disk_file(int fd)
{
	return disk.root && fd >= 0 && fd < DISK_FDS ? disk.fds[fd] : NO_FILE;
}

/*
 * Returns THE_ROOT or THE_STORE if @fd is open on that directory, whichever path was opened; else
 * 0.
 */
static inline int disk_directory(int fd)
{
	struct stat opened, root, store;
	char path[128];

	snprintf(path, sizeof(path), "%s/s", disk.root);
	if (fstat(fd, &opened) || !S_ISDIR(opened.st_mode))
		return NO_FILE;
	if (!stat(disk.root, &root) && root.st_ino == opened.st_ino)
		return THE_ROOT;
	return !stat(path, &store) && store.st_ino == opened.st_ino ? THE_STORE : NO_FILE;
}

static inline int disk_met(const char *below, bool was_there)
{
	if (!was_there)
		disk_lead(below, ++disk.files);
	return disk.names[disk_name(below)].file;
}

static inline void disk_opened(int fd, const char *path, bool was_there)
{
	const char *below = disk_below(path);

	if (fd < 0 || fd >= DISK_FDS)
		return;
	disk.fds[fd] = NO_FILE;
	if (disk.root && disk_directory(fd))
		disk.fds[fd] = disk_directory(fd);
	else if (below)
		disk.fds[fd] = disk_met(below, was_there);
}

static inline void disk_wrote(int fd, const void *data, ssize_t n, off_t at)
{
	int file = disk_file(fd);

	if (!file || n <= 0)
		return;
	disk_push(&(struct disk_op){.kind = DISK_WRITE,
				    .file = file,
				    .at = (size_t)at,
				    .data = disk.data.n,
				    .n = (size_t)n});
	str_add_n(&disk.data, data, (size_t)n);
}

static inline int disk_flush(int fd, long call)
{
	int file = disk_file(fd);
	bool lost = disk.fault == DISK_NO_FLUSH ||
		    (disk.fault == DISK_NO_DIRECTORY_FLUSH && file <= THE_STORE) ||
		    (disk.fault == DISK_NO_PARENT_FLUSH && file == THE_ROOT);

	if (file && !lost)
		disk_push(&(struct disk_op){.kind = DISK_FLUSH, .file = file});
	return disk.quick ? 0 : (int)syscall(call, fd);
}

/* Defines functions under the names that libraries call; some functions have two names. */
#define DISK_TAKES(name, result, ...) result disk_as_##name(__VA_ARGS__) __asm__(#name)

DISK_TAKES(open, int, const char *path, int flags, ...);
DISK_TAKES(open64, int, const char *path, int flags, ...);
DISK_TAKES(close, int, int fd);
DISK_TAKES(write, ssize_t, int fd, const void *data, size_t n);
DISK_TAKES(pwrite, ssize_t, int fd, const void *data, size_t n, off_t at);
DISK_TAKES(pwrite64, ssize_t, int fd, const void *data, size_t n, off_t at);
DISK_TAKES(ftruncate, int, int fd, off_t n);
DISK_TAKES(ftruncate64, int, int fd, off_t n);
DISK_TAKES(fsync, int, int fd);
DISK_TAKES(fdatasync, int, int fd);
DISK_TAKES(unlink, int, const char *path);
DISK_TAKES(rename, int, const char *from, const char *to);
DISK_TAKES(mkdir, int, const char *path, mode_t mode);

static inline int disk_open(const char *path, int flags, mode_t mode)
{
	bool was_there = !syscall(SYS_access, path, F_OK);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);

	disk_opened(fd, path, was_there);
	return fd;
}

#define DISK_OPEN                                                                                  \
	va_list ap;                                                                                \
	mode_t mode;                                                                               \
	va_start(ap, flags);                                                                       \
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;                             \
	va_end(ap);                                                                                \
	return disk_open(path, flags, mode)

int disk_as_open(const char *path, int flags, ...)
{
	DISK_OPEN;
}

int disk_as_open64(const char *path, int flags, ...)
{
	DISK_OPEN;
}

int disk_as_close(int fd)
{
	if (fd >= 0 && fd < DISK_FDS)
		disk.fds[fd] = NO_FILE;
	return (int)syscall(SYS_close, fd);
}

ssize_t disk_as_write(int fd, const void *data, size_t n)
{
	off_t at = disk_file(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
	ssize_t done = syscall(SYS_write, fd, data, n);

	disk_wrote(fd, data, done, at);
	return done;
}

ssize_t disk_as_pwrite(int fd, const void *data, size_t n, off_t at)
{
	ssize_t done = syscall(SYS_pwrite64, fd, data, n, at);

	disk_wrote(fd, data, done, at);
	return done;
}

ssize_t disk_as_pwrite64(int fd, const void *data, size_t n, off_t at)
{
	return disk_as_pwrite(fd, data, n, at);
}

int disk_as_ftruncate(int fd, off_t n)
{
	int r = (int)syscall(SYS_ftruncate, fd, n), file = disk_file(fd);

	if (!r && file)
		disk_push(&(struct disk_op){.kind = DISK_SIZE, .file = file, .at = (size_t)n});
	return r;
}

int disk_as_ftruncate64(int fd, off_t n)
{
	return disk_as_ftruncate(fd, n);
}

int disk_as_fsync(int fd)
{
	return disk_flush(fd, SYS_fsync);
}

int disk_as_fdatasync(int fd)
{
	return disk_flush(fd, SYS_fdatasync);
}

int disk_as_unlink(const char *path)
{
	int r = (int)syscall(SYS_unlink, path);

	if (!r && disk_below(path))
		disk_lead(disk_below(path), NO_FILE);
	return r;
}

int disk_as_rename(const char *from, const char *to)
{
	int r = (int)syscall(SYS_rename, from, to);

	if (!r && disk_below(from)) {
		disk_lead(disk_below(to), disk.names[disk_name(disk_below(from))].file);
		disk_lead(disk_below(from), NO_FILE);
	}
	return r;
}

int disk_as_mkdir(const char *path, mode_t mode)
{
	int r = (int)syscall(SYS_mkdir, path, mode);

	if (!r && disk_below(path))
		disk_lead(disk_below(path), THE_STORE);
	return r;
}

/* Begins to record what happens to files below the directory @root, which must be empty. */
static inline void disk_record(const char *root, enum disk_fault fault)
{
	str_fini(&disk.data);
	vec_fini(&disk.ops);
	disk = (struct disk){.root = root, .fault = fault, .quick = true, .files = THE_STORE};
}

#endif
