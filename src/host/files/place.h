/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a path leads: a directory, which is kept open, and a name in it. The path is followed once,
 * component by component, so that nobody can exchange a part of it between check and use.
 *
 * krait follows a symbolic link only if the kernel follows it too. krait has one more rule,
 * whatever fs.protected_symlinks says: in a directory that everybody may write to, it follows only
 * links of its own user and of the directory's owner. fs.protected_symlinks is a rule for the last
 * component of a path; krait's rule holds for all components.
 */
#ifndef HOST_FILES_PLACE_H
#define HOST_FILES_PLACE_H

#include <limits.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/util.h"

struct place {
	int dir;		 /* descriptor of the directory (O_PATH); -1: no place was found */
	char name[NAME_MAX + 1]; /* the last component of the path, never "." or ".." */
	/*
	 * descriptor (O_PATH) of the file called .name, which .st describes; -1: there is no such
	 * file
	 */
	int fd;
	bool handed; /* the path means an open file of a process, as /dev/stdout does */
	struct stat st;
};

#define PLACE_INIT ((struct place){.dir = -1, .fd = -1})

/*
 * Finds where @path leads. @follow: if the last component is a link, follows it; otherwise .st
 * describes the link itself. 0 or -errno + message. -ENOENT: a directory is missing (a missing file
 * is no error); -EISDIR: @path names a directory; -EPERM: krait's rule above forbids a link.
 */
_must_use_ int place_find(struct place *p, const char *path, bool follow);

/*
 * Opens the file at @p for writing: a FIFO, a device, or a process's open file (.handed). Nothing
 * is created, and only a regular file is truncated. In a directory that everybody may write to, the
 * file must belong to krait's user or to the directory's owner. Descriptor, or -errno + message.
 */
_must_use_ int place_open(const struct place *p, const char *path);

void place_fini(struct place *p);

#define _cleanup_place_ _cleanup_(place_fini)

#endif
