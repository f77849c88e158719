/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of a profile's processes: what paths are cut after to tell which module they are. */
#ifndef VIEW_NAMES_DIRS_H
#define VIEW_NAMES_DIRS_H

#include "base/vec.h"
#include "profile/profile.h"

/* File names, as strings of a profile. */
typedef VEC(uint32_t) dirs_files;

struct dir {
	const char *path; /* the profile's */
	size_t n;	  /* without slashes at its end */
};

/* Zero-initialised is empty. */
struct dirs {
	VEC(struct dir) all; /* sorted */
};

void dirs_fini(struct dirs *d);

/* Adds those that processes ran in: labels "cwd" and comments "cwd: DIR". 0 or -ENOMEM. */
_must_use_ int dirs_of_processes(struct dirs *d, struct profile *p);

/* Appends those of @files that are scripts: called as a process is. 0 or -ENOMEM. */
_must_use_ int dirs_scripts(struct profile *p, const dirs_files *files, dirs_files *ret);

/* Adds those of scripts: of @files that are called as a process is. 0 or -ENOMEM. */
_must_use_ int dirs_of_scripts(struct dirs *d, struct profile *p, const dirs_files *files);

/* Bytes up to the end of the longest directory that @path is in, with its slash, or 0. */
size_t dirs_after(const struct dirs *d, const char *path);

#endif
