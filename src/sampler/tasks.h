/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what the kernel knows of blocked threads (abi/task.h): registers, kernel stack, and since
 * when they wait. Needs kernel 5.8+, CAP_BPF and CAP_PERFMON.
 */
#ifndef SAMPLER_TASKS_H
#define SAMPLER_TASKS_H

#include <sys/types.h>

#include "base/util.h"
#include "task.h"

struct tasks;

/* Loads the program that reads the state of threads. 0 or -errno + message. */
_must_use_ int tasks_open(struct tasks **ret);
void tasks_close(struct tasks *t); /* @t may be NULL */

/*
 * Adds the threads of process @tgid to the threads that are read, or removes them. 0 or -errno +
 * message.
 */
_must_use_ int tasks_want(struct tasks *t, pid_t tgid, bool want);

/*
 * Tells that the thread of @rec waits for descriptor @fd alone, in poll(): later records of this
 * wait say what the descriptor refers to. tasks_forget_polled() forgets all such descriptors.
 */
void tasks_add_polled(struct tasks *t, const struct rec_task *rec, int fd);
void tasks_forget_polled(struct tasks *t);

/*
 * Reads all threads of the processes of tasks_want(), and calls @fn for each. 0 or -errno +
 * message.
 */
_must_use_ int tasks_read(struct tasks *t, void (*fn)(void *ctx, const struct rec_task *rec),
			  void *ctx);

#endif
