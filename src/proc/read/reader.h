/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the memory of processes without waiting for ever. A page may come from a file system or
 * from storage that doesn't answer, for example from a FUSE file system of the target's own.
 * Whoever reads the page then sleeps where not even SIGKILL ends the sleep. So a child process
 * reads. If the child doesn't answer in time, krait goes on without it, and can also end without
 * it. (A thread of krait that slept there would keep krait from ending.) If a read of a process's
 * memory hangs, the process isn't read again until that child has answered.
 */
#ifndef PROC_READ_READER_H
#define PROC_READ_READER_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/util.h"

/*
 * The most milliseconds that one read may take: READER_JOB_MS in a job of a worker, otherwise
 * READER_MS. A piece of swapped memory takes some ms from a slow disk.
 */
#define READER_MS     200
#define READER_JOB_MS 1000

/*
 * Reads @n pieces of @pid's memory into @to, one after the other, like process_vm_readv(). Returns
 * the number of bytes read, or -errno. -ETIMEDOUT: the read takes too long, or an earlier read of
 * the process did; -EAGAIN: a job found no idle child; -ECHILD: no child can be started. Threads
 * may read at the same time.
 */
ssize_t reader_read(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n);

/*
 * A task is a function that runs in the child and reads much of process @pid by reader_read(). In
 * the child, reader_read() reads the memory itself, without messages to another process. The child
 * has only the memory that krait had when it started the child, so everything newer has to be in
 * @bytes. The task writes its answer over the question in @bytes, up to @most bytes, and returns
 * the answer's number of bytes, or -errno.
 */
typedef ssize_t reader_task(pid_t pid, void *bytes, size_t most);

#define READER_TASK_BYTES (1u << 18) /* the most bytes of a question, and of an answer */

/*
 * Runs @task for process @pid. @bytes has a question of @n bytes and room for an answer of @most.
 * @give: a descriptor for the task (reader_given()); -1: none. Returns what the task returns, or an
 * error of reader_read().
 */
ssize_t reader_run(pid_t pid, int give, reader_task *task, void *bytes, size_t n, size_t most);

/*
 * A request to run a task in a child. The task may get a descriptor, and may hand over a
 * descriptor.
 */
struct reader_request {
	/*
	 * the process that is read; for a task that reads none, a negative number that the caller
	 * chooses
	 */
	pid_t pid;
	uid_t uid; /* the user who is charged if the task hangs */
	reader_task *task;
	/* memory that has the question, of .n bytes, and room for an answer of .most bytes */
	void *bytes;
	size_t n, most;
	/* a descriptor that the task gets by reader_given() while it runs; -1: none */
	int give;
	/*
	 * gets the descriptor that the task passes to reader_hand_over(); -1: the task passed none;
	 * NULL: the caller wants no descriptor
	 */
	int *take;
	/*
	 * Set by reader_ask(): how long the task took from its start. On a busy machine the caller
	 * has waited longer than that.
	 */
	uint64_t took_ns;
};
/* a value of reader_request.uid that stands for the user of process .pid */
#define READER_OWNER ((uid_t)-1)

/* Does the same as reader_run(), but the task always runs in a child. */
ssize_t reader_ask(struct reader_request *q);
int reader_given(void);
/* called by a task: passes @fd to krait's main process, and the child then closes it */
void reader_hand_over(int fd);

/*
 * Starts a child for this caller alone. What one task has opened or read in the child is there for
 * the next task. If the child doesn't answer a question in time, every later question gets
 * -ETIMEDOUT at once, until the child has answered. Only the main thread may start the child; after
 * that, one thread at a time may use it. NULL: the child can't be started.
 */
struct reader_child *reader_child_new(void);
void reader_child_free(struct reader_child *c);
ssize_t reader_child_ask(struct reader_child *c, struct reader_request *q);

/*
 * After this call, resident memory is read without a child. This is for programs that read much and
 * have no ring buffers to empty in time. After this call, only one thread may read. That thread can
 * hang if a process takes a page away in the microsecond between the check and the read.
 */
void reader_look_first(void);

/*
 * Starts a child for a job that is going to read, unless a child is idle. The job can't start it
 * itself, because a child has the rights of the thread that starts it, and jobs have few rights.
 */
void reader_prepare(void);

/* How many processes and file systems didn't answer, and pid and name of the first such process. */
struct reader_stats {
	unsigned processes, file_systems;
	pid_t first;
	char comm[16];
};
struct reader_stats reader_stats(void);

/* Returns the CPU time, in ns, that the children took for their answers. */
uint64_t reader_cpu_ns(void);

/*
 * Returns how long, in ns, children have worked for the calling thread: their CPU time, and the
 * time for which memory or files kept them waiting. Waiting for a CPU doesn't count.
 */
uint64_t reader_spent_ns(void);

/* Ends the children that have nothing to do. The next read starts a new child. */
void reader_close(void);

#endif
