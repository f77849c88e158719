/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding and opening files for krait's threads, which mustn't hang. What is within one file system
 * that always answers (answers.h) is opened here. Everything else a child looks for (reader.h), and
 * what is on another file system stays with a child (keeper.h). A job (base/worker.h) may hang, and
 * opens everything itself.
 */
#ifndef PROC_WALK_H
#define PROC_WALK_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/util.h"

struct opener;

/*
 * Descriptors by O_PATH: of @name of the /proc/PID that is @dir, whose link is followed; of @path
 * below directory @root, by openat2()'s @flags and @resolve. @pid: who leads to it, 0: nobody.
 * -errno; -ETIMEDOUT: it doesn't answer.
 */
_must_use_ int walk_proc(int dir, pid_t pid, const char *name);
_must_use_ int walk_below(int root, pid_t pid, const char *path, uint64_t flags, uint64_t resolve);

/* What is known of an O_PATH descriptor, without asking a file system that may not answer. */
_must_use_ int walk_stat(int path_fd, struct stat *ret);

/* The same regular file for reading, a descriptor or -errno: -EINVAL, it isn't one. */
_must_use_ int walk_open(int path_fd, pid_t pid);

/*
 * Is the file of an O_PATH descriptor, of which @st is known, on a file system that always answers? 1, 0 or -errno: that
 * isn't known. @pid: who leads to it. For the main thread.
 */
_must_use_ int walk_is_near(int path_fd, const struct stat *st, pid_t pid);

/* Its kind, as a child says: 0 or -errno. @dev: file_dev(). */
struct file_kind;
_must_use_ int walk_kind(int path_fd, uint64_t dev, pid_t pid, struct file_kind *ret);

/* From here on this thread opens below directories as @u; NULL: as krait. */
void walk_be(const struct opener *u);

#endif
