/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Brings memory of a live process in, by reading it: a kernel program can't read a page that is paged out or wasn't
 * touched yet. What is read isn't looked at, except to find what a walk reads next. The process is hostile: bytes, time and
 * steps are bounded. A read may block, on a slow disk or in a file system of the target's: this runs beside the thread that
 * drains.
 */
#ifndef PYTHON_RESIDENT_H
#define PYTHON_RESIDENT_H

#include <sys/types.h>

#include "base/util.h"
#include "layout.h"

struct resident {
	pid_t pid;
	uint64_t until_ns; /* CLOCK_MONOTONIC */
	size_t pages;	   /* that were asked for */
	size_t most;	   /* not more than so many */
};

/* The @bytes at @addr. */
void resident_range(struct resident *r, uint64_t addr, uint64_t bytes);

/*
 * All that a walk of the thread with PyThreadState @tstate reads: its frames, their code objects, and of these names and
 * line tables.
 */
void resident_stack(struct resident *r, const struct py_layout *layout, uint64_t tstate);

#endif
