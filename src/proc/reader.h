/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the memory of processes without waiting for ever. A page of theirs may come from a file
 * system or from storage that doesn't answer, a file of their own FUSE say: whoever reads it then
 * sleeps where not even SIGKILL ends it. So a child process reads, and is left alone when it
 * doesn't come back in time; krait and its end don't wait for it. (A thread that sleeps so would
 * keep krait from ending.) Where the process's memory hung once it isn't read again until that
 * child has come back.
 */
#ifndef PROC_READER_H
#define PROC_READER_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/util.h"

/*
 * For one read; of swapped memory a piece takes some ms from a slow disk. A job of a worker may
 * wait longer.
 */
#define READER_MS     200
#define READER_JOB_MS 1000

/*
 * As process_vm_readv(): @n pieces of @pid's memory into @to, one after the other. Bytes, or
 * -errno; -ETIMEDOUT: it doesn't come, or didn't before; -EAGAIN: a job found no child that is
 * idle. Threads may read at the same time.
 */
ssize_t reader_read(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n);

/*
 * Work that reads much of process @pid with reader_read(): as a task each read costs no message to the child. It runs
 * there, on what krait was when it made the child: all that is asked is in @bytes, where the answer comes, of up to @most
 * bytes. Their number, or -errno.
 */
typedef ssize_t reader_task(pid_t pid, void *bytes, size_t most);

#define READER_TASK_BYTES (1u << 18) /* of what is asked, and of the answer */

/* @bytes: @n are asked, and there is room for @most. What the task says, or -errno as reader_read(). */
ssize_t reader_run(pid_t pid, reader_task *task, void *bytes, size_t n, size_t most);

/*
 * Opens a file, if it is a regular one, and reads its beginning and its end: what is read of it
 * then is mostly in memory. 0, with its file system's type (statfs.f_type); -ETIMEDOUT: its file
 * system @dev doesn't answer, now or before; -errno.
 */
_must_use_ int reader_try_file(const char *path, uint64_t dev, long *fs_type);

/*
 * From now on what is in memory is read at once, without a child, for who reads much and has
 * nothing to drain: by one thread alone. A process that takes a page away in the microsecond
 * between the look and the read can hold that one.
 */
void reader_look_first(void);

/*
 * For a job that is going to read: a child has the rights of the thread that makes it, and jobs
 * have few.
 */
void reader_prepare(void);

/* Processes whose memory didn't come; the first one's number and name. */
struct reader_stats {
	unsigned processes, file_systems;
	pid_t first;
	char comm[16];
};
struct reader_stats reader_stats(void);

/* CPU time that the children took for what they have answered. */
uint64_t reader_cpu_ns(void);

/* Ends children that are idle; the next read makes one. */
void reader_close(void);

#endif
