/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens, keeps and reads files in a child of krait; see file_tasks.h. */
#include "proc/files/file_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "proc/files/answers.h"

/*
 * the most files that a child keeps open; a new file replaces the one whose last use is longest ago
 */
#define FILES 1024

struct file_opener file_opener_of(const struct opener *u)
{
	struct file_opener ret = {};

	if (!u || u->as_is)
		return ret;
	ret = (struct file_opener){true, u->has_id, u->uid, u->gid,
				   (uint32_t)MIN(u->n_groups, (size_t)FILE_TASK_GROUPS)};
	if (ret.n)
		memcpy(ret.groups, u->groups, ret.n * sizeof(*ret.groups));
	return ret;
}

static int open_for(const struct file_opener *w, int (*open_it)(int dir, const char *path), int dir,
		    const char *path)
{
	const struct opener u = {.as_is = !w->other,
				 .has_id = w->has_id,
				 .uid = w->uid,
				 .gid = w->gid,
				 .groups = w->groups,
				 .n_groups = w->n};

	return open_as(&u, open_it, dir, path);
}

static int walk_proc(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static _Thread_local const struct file_walk *walked;

static int walk_below(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | walked->flags,
			       .resolve = walked->resolve};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int file_walk_here(const struct file_walk *w, int dir)
{
	walked = w;
	return open_for(&w->opener, w->resolve ? walk_below : walk_proc, dir, w->path);
}

/* A reader_task (reader.h): opens a file step by step. */
ssize_t file_task_walk(pid_t pid, void *bytes, size_t most)
{
	const struct file_walk w = *(const struct file_walk *)bytes;
	int fd = file_walk_here(&w, reader_given());

	(void)pid;
	(void)most;
	if (fd < 0)
		return fd;
	reader_hand_over(fd);
	return 0;
}

/* A file that a child of krait keeps open (keeper.h). This struct is used only in that child. */
struct kept {
	int fd;
	uint32_t serial; /* number of the kept file; 0: this entry is free */
	uint64_t used;
	struct stat st;
};
static struct kept *files;
static uint32_t serials;
static uint64_t uses;

static int open_again(int path_fd, const char *unused)
{
	char self[40];
	int fd;

	(void)unused;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int file_open_here(const struct file_opener *u, int path_fd)
{
	return open_for(u, open_again, path_fd, NULL);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       timespec_ns(a->st_mtim) == timespec_ns(b->st_mtim);
}

static struct kept *find_kept(uint32_t serial, const struct stat *st)
{
	for (size_t i = 0; files && i < FILES; i++)
		if (files[i].serial &&
		    (serial ? files[i].serial == serial : same_file(&files[i].st, st)))
			return &files[i];
	return NULL;
}

static struct kept *make_room(void)
{
	struct kept *oldest = files;

	for (size_t i = 0; i < FILES; i++)
		if (files[i].used < oldest->used)
			oldest = &files[i];
	if (oldest->serial)
		close(oldest->fd);
	return oldest;
}

static int keep(int path_fd, const struct file_opener *who, struct file_kept *ret)
{
	_cleanup_close_ int fd = -1;
	struct kept *k;

	if (fstat(path_fd, &ret->st))
		return -errno;
	if (!S_ISREG(ret->st.st_mode))
		return -EINVAL;
	fd = file_open_here(who, path_fd);
	if (fd < 0)
		return fd;
	k = find_kept(0, &ret->st);
	if (!k) {
		files = files ?: calloc(FILES, sizeof(*files));
		if (!files)
			return -ENOMEM;
		k = make_room();
		*k = (struct kept){TAKE_FD(fd), ++serials, 0, ret->st};
	}
	k->used = ++uses;
	ret->serial = k->serial;
	return 0;
}

/* A reader_task (reader.h): opens a file that the child keeps open. */
ssize_t file_task_keep(pid_t pid, void *bytes, size_t most)
{
	const struct file_question q = *(const struct file_question *)bytes;
	struct file_kept answer = {};
	int r = keep(reader_given(), &q.opener, &answer);

	(void)pid;
	(void)most;
	memcpy(bytes, &answer, sizeof(answer));
	return r ? r : (ssize_t)sizeof(answer);
}

/*
 * A reader_task (reader.h): reads the wanted part of a file that the child keeps open. If the file
 * ends within this part, the answer is shorter.
 */
ssize_t file_task_read(pid_t pid, void *bytes, size_t most)
{
	const struct file_question q = *(const struct file_question *)bytes;
	struct kept *k = find_kept(q.serial, NULL);
	size_t want = MIN(q.n, (uint64_t)most), n = 0;
	ssize_t got = 1;

	(void)pid;
	if (!k)
		return -ESTALE;
	k->used = ++uses;
	for (; got > 0 && n < want; n += (size_t)MAX(got, (ssize_t)0))
		got = pread(k->fd, (char *)bytes + n, want - n, (off_t)(q.offset + n));
	return got < 0 ? -errno : (ssize_t)n;
}

/* A reader_task (reader.h): calls fstat() on a file that the child keeps open. */
ssize_t file_task_stat(pid_t pid, void *bytes, size_t most)
{
	const struct file_question q = *(const struct file_question *)bytes;
	const struct kept *k = find_kept(q.serial, NULL);
	struct stat st;

	(void)pid;
	(void)most;
	if (!k)
		return -ESTALE;
	if (fstat(k->fd, &st))
		return -errno;
	memcpy(bytes, &st, sizeof(st));
	return sizeof(st);
}

/*
 * Does the mountinfo file @path list an overlay with the number @dev? Mounts that a user made in a
 * mount namespace of his own never appear in root's.
 */
static bool lists_overlay(const char *path, uint64_t dev)
{
	FILE *f = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	bool found = false;
	unsigned major, minor;
	size_t n = 0;

	if (!f)
		return false;
	while (!found && getline(&line, &n, f) > 0)
		found = sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 &&
			((uint64_t)major << 20 | minor) == dev && strstr(line, " - overlay ");
	fclose(f);
	return found;
}

/* A reader_task (reader.h): tells on which kind of file system a file lies. */
ssize_t file_task_type(pid_t pid, void *bytes, size_t most)
{
	struct file_kind kind = {};
	struct statfs fs;
	uint64_t dev;

	(void)pid;
	(void)most;
	memcpy(&dev, bytes, sizeof(dev));
	if (fstatfs(reader_given(), &fs))
		return -errno;
	kind.type = (long)fs.f_type;
	kind.is_users = kind.type == OVERLAYFS_SUPER_MAGIC &&
			!lists_overlay("/proc/self/mountinfo", dev) &&
			!lists_overlay("/proc/1/mountinfo", dev);
	memcpy(bytes, &kind, sizeof(kind));
	return sizeof(kind);
}
