/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and opens files without waiting for ever; see walk.h. */
#include "proc/files/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/work/worker.h"
#include "proc/files/answers.h"
#include "proc/files/file_tasks.h"
#include "proc/files/files.h"
#include "proc/files/keeper.h"
#include "proc/read/owner.h"
#include "proc/files/waited.h"

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000
#endif

#define USERS 64

/*
 * A request that reads no process has a negative number instead of a process's id (reader.h). Paths
 * and file systems have separate ranges of such numbers, because targets choose paths.
 */
enum { PATHS = 1 << 29, FILE_SYSTEMS = 1 << 30 };

/*
 * How long the main thread has waited for files of each user. All users after the first USERS share
 * the last entry.
 */
static struct {
	struct {
		uid_t uid;
		struct waited waited;
	} user[USERS];
	size_t n;
} users;
static _Thread_local const struct opener *own_opener;

void walk_be(const struct opener *u)
{
	own_opener = u;
}

int walk_stat(int path_fd, struct stat *ret)
{
	struct statx x;

	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x))
		return -errno;
	*ret = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_size = (off_t)x.stx_size,
		.st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
		.st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec},
	};
	return 0;
}

static struct waited *waited_of(uid_t uid)
{
	for (size_t i = 0; i < users.n; i++)
		if (users.user[i].uid == uid)
			return &users.user[i].waited;
	if (users.n == USERS)
		return &users.user[USERS - 1].waited;
	users.user[users.n].uid = uid;
	return &users.user[users.n++].waited;
}

static pid_t number_of(uint64_t what, pid_t kind)
{
	return -1 - (kind | (pid_t)(what % PATHS));
}

/*
 * Sends a request as reader_ask() does, unless the main thread has waited too long already for
 * files of @uid.
 */
static ssize_t ask_any(struct reader_request *q, uid_t uid)
{
	struct waited *w = waited_of(uid);
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	ssize_t got;

	if (!waited_is_left(w, began, WAITED_ONE))
		return -ETIMEDOUT;
	q->uid = uid;
	got = reader_ask(q);
	waited_add(w, began, got == -ETIMEDOUT ? clock_ns(CLOCK_MONOTONIC) - began : q->took_ns);
	return got;
}

uint64_t walk_mount(int path_fd, struct statx *x)
{
	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID_UNIQUE,
		  x))
		return 0;
	return x->stx_mask & STATX_MNT_ID_UNIQUE ? x->stx_mnt_id : 0;
}

static struct file_place place_of(int path_fd, const struct stat *st)
{
	struct statx x;

	return (struct file_place){.dev = file_dev(st->st_dev), .mount = walk_mount(path_fd, &x)};
}

int walk_kind(int path_fd, uint64_t dev, pid_t pid, struct file_kind *ret)
{
	union {
		uint64_t dev;
		struct file_kind kind;
	} u = {.dev = dev};
	struct reader_request q = {.pid = number_of(dev, FILE_SYSTEMS),
				   .task = file_task_type,
				   .bytes = &u,
				   .n = sizeof(u.dev),
				   .most = sizeof(u.kind),
				   .give = path_fd};
	ssize_t got = ask_any(&q, proc_user_of(pid));

	if (got != sizeof(u.kind))
		return got < 0 ? (int)got : -EIO;
	*ret = u.kind;
	return 0;
}

int walk_is_near(int path_fd, const struct stat *st, pid_t pid)
{
	struct file_place at = place_of(path_fd, st);
	struct file_kind kind;
	int r;

	if (answers_known(at))
		return 1;
	if (keeper_has(at.dev))
		return 0;
	r = walk_kind(path_fd, at.dev, pid, &kind);
	if (r == -ETIMEDOUT || r == -EAGAIN || r == -EPIPE)
		return r; /* the file system wasn't asked, or gave no answer */
	/*
	 * RLIMIT_NPROC keeps krait from starting a child that asks the file system; in this case a
	 * file system on a disk counts as one that always answers
	 */
	if (r == -ECHILD)
		return major(st->st_dev) != 0;
	return !r && answers_kind(at, &kind);
}

int walk_open(int path_fd, pid_t pid)
{
	const struct file_opener opener = file_opener_of(own_opener);
	struct stat st;
	int r = walk_stat(path_fd, &st);

	if (r)
		return r;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	r = worker_is_job() ? 1 : walk_is_near(path_fd, &st, pid);
	if (r)
		return r < 0 ? r : file_open_here(&opener, path_fd);
	return keeper_open(path_fd, file_dev(st.st_dev), pid, &opener);
}

/*
 * Returns a number for reader.h that stands for the directory part of @path: if opening one file of
 * a directory hangs, opening another hangs as well. No process has this number.
 */
static pid_t group_of(int root, pid_t pid, const char *path)
{
	const char *end = strrchr(path, '/');
	uint32_t hash = 2166136261u ^ (uint32_t)(pid > 0 ? pid : root);

	for (; end && path < end; path++)
		hash = (hash ^ (uint8_t)*path) * 16777619u;
	return number_of(hash, PATHS);
}

static int walk_aside(const struct file_walk *w, int dir, pid_t pid)
{
	struct file_walk answer = *w;
	int fd;
	struct reader_request r = {.pid = w->resolve ? group_of(dir, pid, w->path) : pid,
				   .task = file_task_walk,
				   .bytes = &answer,
				   .n = sizeof(answer),
				   .most = sizeof(answer),
				   .give = dir,
				   .take = &fd};
	ssize_t got = ask_any(&r, pid > 0 ? proc_user_of(pid) : w->opener.uid);

	if (got < 0)
		return (int)got;
	return fd < 0 ? -EIO : fd;
}

static int fill_path(struct file_walk *w, const char *path)
{
	size_t n = strlen(path);

	if (n >= sizeof(w->path))
		return -ENAMETOOLONG;
	memcpy(w->path, path, n + 1);
	return 0;
}

int walk_proc(int dir, pid_t pid, const char *name)
{
	struct file_walk w = {};
	int r = fill_path(&w, name);

	if (r)
		return r;
	return worker_is_job() ? file_walk_here(&w, dir) : walk_aside(&w, dir, pid);
}

/*
 * Opens a path if it stays within one file system that always answers, so that nothing hangs.
 * -EXDEV: the path leaves that file system, or the file system may not answer.
 */
static int walk_near(struct file_walk *w, int root, pid_t pid)
{
	struct stat st;
	int r = walk_stat(root, &st);

	if (r)
		return r;
	if (walk_is_near(root, &st, pid) <= 0)
		return -EXDEV;
	w->resolve |= RESOLVE_NO_XDEV;
	r = file_walk_here(w, root);
	w->resolve &= ~(uint64_t)RESOLVE_NO_XDEV;
	return r;
}

int walk_below(int root, pid_t pid, const char *path, uint64_t flags, uint64_t resolve)
{
	struct file_walk w = {.flags = flags, .resolve = resolve};
	int r = fill_path(&w, path);

	if (r)
		return r;
	w.opener = file_opener_of(own_opener);
	if (worker_is_job())
		return file_walk_here(&w, root);
	r = walk_near(&w, root, pid);
	return r == -EXDEV ? walk_aside(&w, root, pid) : r;
}
