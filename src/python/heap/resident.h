/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes memory of a live process resident by reading it, because a BPF program can't read a page
 * that is swapped out or was never touched. The contents are used only to find what the BPF
 * program's walk over the frames reads next. The process is hostile, so bytes, time and steps are
 * bounded. A read may block, on a slow disk or in one of the target's file systems. So this code
 * doesn't run in krait's main thread, which has to empty the kernel's ring buffers in time.
 */
#ifndef PYTHON_HEAP_RESIDENT_H
#define PYTHON_HEAP_RESIDENT_H

#include <sys/types.h>

#include "base/util.h"
#include "layout.h"

struct resident {
	pid_t pid;
	uint64_t until_ns; /* the time, CLOCK_MONOTONIC, after which nothing is read */
	size_t pages;	   /* how many pages krait has asked for so far */
	size_t most;	   /* how many pages krait may ask for at most */
};

/* Reads @bytes bytes from @addr on, so that they become resident. */
void resident_range(struct resident *r, uint64_t addr, uint64_t bytes);

/*
 * Reads all that a walk of the thread with PyThreadState @tstate reads: the thread's frames, their
 * code objects, and the names and line tables of these.
 */
void resident_stack(struct resident *r, const struct py_layout *layout, uint64_t tstate);

#endif
