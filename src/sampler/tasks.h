/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel knows of threads that are blocked (abi/task.h): registers, kernel stack, since when.
 * Kernel 5.8+, with CAP_BPF and CAP_PERFMON.
 */
#ifndef SAMPLER_TASKS_H
#define SAMPLER_TASKS_H

#include <sys/types.h>

#include "base/util.h"
#include "task.h"

struct tasks;

/* Loads the program. 0 or -errno + message. */
_must_use_ int tasks_open(struct tasks **ret);
void tasks_close(struct tasks *t); /* NULL is fine */

/* The threads of process @tgid are wanted from now on, or not any more. 0 or -errno + message. */
_must_use_ int tasks_want(struct tasks *t, pid_t tgid, bool want);

/* Calls @fn for each thread of those processes, as it is now. 0 or -errno + message. */
_must_use_ int tasks_read(struct tasks *t, void (*fn)(void *ctx, const struct rec_task *rec),
			  void *ctx);

#endif
