/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * File systems that always answer. Any other file system may not answer: a FUSE program may hang,
 * and a network file system's server may be gone.
 */
#ifndef PROC_FILES_ANSWERS_H
#define PROC_FILES_ANSWERS_H

#include "base/util.h"

/*
 * Where a file lies. .dev is the number of the file system (file_dev()); after an unmount another
 * file system may get this number. .mount is the number of the mount, which is never used again; 0:
 * the kernel doesn't tell the mount's number (before Linux 6.8).
 */
struct file_place {
	uint64_t dev, mount;
};

/* What file_task_type() finds out about the file system of a file. */
struct file_kind {
	long type; /* the file system's number, statfs.f_type */
	/*
	 * the file system is an overlay that a user other than root may have mounted, so it may
	 * lead to any other file system
	 */
	bool is_users;
};

/* Is the file system at @at known to always answer? Only the main thread may call this. */
bool answers_known(struct file_place at);

/*
 * Does the file system at @at, which is of this @kind, always answer? If so, answers_known(@at) is
 * true from now on.
 */
bool answers_kind(struct file_place at, const struct file_kind *kind);

#endif
