/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directories of a profile's processes and scripts. Files are shown relative to them, so that a
 * path tells which module the file is.
 */
#ifndef VIEW_NAMES_DIRS_H
#define VIEW_NAMES_DIRS_H

#include "base/vec.h"
#include "profile/profile.h"

/* Names of files, as strings of a profile. */
typedef VEC(uint32_t) dirs_files;

struct dir {
	const char *path; /* path of the directory, owned by the profile */
	size_t n;	  /* length of .path without slashes at its end */
};

/* The directories that a recording names. A zero-initialised struct has none. */
struct dirs {
	VEC(struct dir) all; /* the directories, sorted */
};

void dirs_fini(struct dirs *d);

/*
 * Adds the directories that processes ran in: labels "cwd" and comments "cwd: DIR". 0 or -ENOMEM.
 */
_must_use_ int dirs_of_processes(struct dirs *d, struct profile *p);

/*
 * Appends to @ret the scripts among @files. A file is a script if a process has the file's name. 0
 * or -ENOMEM.
 */
_must_use_ int dirs_scripts(struct profile *p, const dirs_files *files, dirs_files *ret);

/* Adds the directories of the scripts among @files. 0 or -ENOMEM. */
_must_use_ int dirs_of_scripts(struct dirs *d, struct profile *p, const dirs_files *files);

/*
 * Returns the length, with the slash, of the longest directory of @d that contains @path; 0: none
 * contains it.
 */
size_t dirs_after(const struct dirs *d, const char *path);

#endif
