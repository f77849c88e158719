/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One child process that reads for krait (reader.h): how it is started, asked and ended. All code
 * that runs in a child is in reader_child.c, so that it is easy to see that it takes no locks.
 * reader.c manages the children.
 */
#ifndef PROC_READ_READER_CHILD_H
#define PROC_READ_READER_CHILD_H

#include "proc/read/reader.h"

/* the most bytes of one request; a larger read takes several requests */
#define SHARED_BYTES READER_TASK_BYTES
#define PIECES	     64

/* A request to a child and its answer, in memory that both processes map. */
struct shared {
	/* the task that the child runs; NULL: the child only reads memory of process .pid */
	reader_task *task;
	unsigned reads;	  /* how many reads of memory the child's task has finished */
	uint64_t cpu_ns;  /* CPU time that the child has used so far */
	uint64_t took_ns; /* how long the child took from getting the request to answering it */
	/* the part of .took_ns in which the child ran or slept; see reader_spent_ns() */
	uint64_t spent_ns;
	pid_t pid;
	size_t n;
	struct iovec from[PIECES];
	ssize_t got;
	_Alignas(uint64_t) char bytes[SHARED_BYTES];
};

/* A child that reads. */
struct child {
	pid_t pid;
	/*
	 * socket to the child: each byte that krait sends is a request, each byte that it receives
	 * an answer
	 */
	int fd;
	struct shared *shared;
	/* how much of the child's CPU time (.shared->cpu_ns) has been counted */
	uint64_t counted_ns;
};

/*
 * Starts a child. 0, or -errno without a message. Only the main thread may do this, because it
 * alone has the rights.
 */
_must_use_ int child_start(struct child *c);

/* Ends a child that is idle or dead, by closing its socket. */
void child_bury(const struct child *c);

/*
 * Reads memory of @pid as reader_read() does. Returns the bytes read, or -errno. -ETIMEDOUT: the
 * child doesn't answer; -EPIPE: the child is dead. process_vm_readv() never fails with these two
 * errors.
 */
ssize_t child_read(const struct child *c, pid_t pid, const struct iovec *to,
		   const struct iovec *from, size_t n);

/*
 * Runs a task in the child and returns the task's result. *@lost: 0; or, if the child doesn't
 * answer or is dead, the -errno that is also returned.
 */
ssize_t child_ask(const struct child *c, struct reader_request *q, int *lost);

/* Runs the task in the calling process. */
ssize_t child_run_here(const struct reader_request *q);

/*
 * Receives one byte, as recv() does. *@fd: the descriptor that came with the byte; -1: none came.
 */
ssize_t child_receive(int from, int *fd);

/*
 * In a child that reads memory for krait, returns the memory in which its request is. In krait's
 * main process, returns NULL.
 */
struct shared *child_serves(void);

#endif
