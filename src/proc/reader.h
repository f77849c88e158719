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
 * idle; -ECHILD: no child can be made. Threads may read at the same time.
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

/* A task with a descriptor: -1 is none, both ways. */
struct reader_request {
	pid_t pid; /* who is read; of what isn't a process a negative number of the caller's */
	uid_t uid; /* who is to blame if it hangs */
	reader_task *task;
	void *bytes; /* @n are asked, and there is room for @most */
	size_t n, most;
	int give;  /* the task has it as reader_given(), until it ends */
	int *take; /* NULL: nothing is wanted. What the task gave to reader_hand_over() */
	uint64_t
		took_ns; /* set: what the task took, once it ran; on a busy machine that is less than the wait */
};
#define READER_OWNER ((uid_t)-1) /* the user of process .pid */

/* As reader_run(), but always in a child, and never of a process that hangs already. */
ssize_t reader_ask(struct reader_request *q);
int reader_given(void);
void reader_hand_over(int fd); /* it is closed then */

/*
 * A child of its own, which keeps what its tasks leave behind. If it doesn't answer in time every
 * later question gets -ETIMEDOUT at once, until it has answered. By one thread at a time; the main
 * thread makes it. NULL: that isn't possible.
 */
struct reader_child *reader_child_new(void);
void reader_child_free(struct reader_child *c);
ssize_t reader_child_ask(struct reader_child *c, struct reader_request *q);

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
