/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds and opens files for krait's threads, which mustn't hang. If a path stays within one file
 * system that always answers (answers.h), the thread follows it itself. A child follows all other
 * paths (reader.h). If the file's file system may not answer, another child opens the file and
 * keeps it open (keeper.h). A job (base/work/worker.h) may hang, and opens everything itself.
 */
#ifndef PROC_FILES_WALK_H
#define PROC_FILES_WALK_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/util.h"

struct opener;

/*
 * walk_proc() and walk_below() return an O_PATH descriptor or -errno. walk_proc() follows the link
 * @name in @dir, which is a /proc/PID. walk_below() follows @path below directory @root, with
 * openat2()'s @flags and @resolve. @pid: the process for which the file is opened; 0: none.
 * -ETIMEDOUT: the file system doesn't answer.
 */
_must_use_ int walk_proc(int dir, pid_t pid, const char *name);
_must_use_ int walk_below(int root, pid_t pid, const char *path, uint64_t flags, uint64_t resolve);

/*
 * Fills *@ret with the stat of the file of O_PATH descriptor @path_fd, as far as it is known
 * without asking a file system that may not answer. 0 or -errno.
 */
_must_use_ int walk_stat(int path_fd, struct stat *ret);

/*
 * Returns the number of the mount in which the file of an O_PATH descriptor lies; this number is
 * never used again. Sets *@x to the file's inode and device. 0: the number isn't known (before
 * 6.8), and *@x isn't set. Asks no file system.
 */
_must_use_ uint64_t walk_mount(int path_fd, struct statx *x);

/*
 * Opens the file of an O_PATH descriptor for reading, for process @pid (0: for none). Returns a
 * descriptor, or -errno; -EINVAL: it isn't a regular file.
 */
_must_use_ int walk_open(int path_fd, pid_t pid);

/*
 * Is the file of an O_PATH descriptor, with stat @st, on a file system that always answers? Returns
 * 1, 0, or -errno if that isn't known. @pid: the process for which the file is opened; 0: none.
 * Only the main thread may call this.
 */
_must_use_ int walk_is_near(int path_fd, const struct stat *st, pid_t pid);

/*
 * Has a child find out of which kind the file system of an O_PATH descriptor is. @dev: its
 * file_dev(). 0 or -errno.
 */
struct file_kind;
_must_use_ int walk_kind(int path_fd, uint64_t dev, pid_t pid, struct file_kind *ret);

/*
 * Makes walk_below() and walk_open() use the rights of @u in this thread from now on; NULL: krait's
 * own rights.
 */
void walk_be(const struct opener *u);

#endif
