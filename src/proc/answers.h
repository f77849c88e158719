/* SPDX-License-Identifier: BSD-2-Clause */
/* File systems that always answer. Others are a program's own FUSE, or have a server that may go. */
#ifndef PROC_ANSWERS_H
#define PROC_ANSWERS_H

#include "base/util.h"

/*
 * Where a file lies: its file system's number (file_dev()), which is another one's after it was unmounted, and its mount's, which
 * never is; 0: the kernel doesn't tell that (before Linux 6.8).
 */
struct file_place {
	uint64_t dev, mount;
};

/* What file_task_type() says of a file system. */
struct file_kind {
	long type;     /* statfs.f_type */
	bool is_users; /* an overlay that root may not have mounted: what it leads to may be anything */
};

/* Is the file system there known to be such a one? For the main thread. */
bool answers_known(struct file_place at);

/* The same by its kind; from then on it is known. */
bool answers_kind(struct file_place at, const struct file_kind *kind);

#endif
