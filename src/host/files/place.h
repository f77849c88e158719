/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a path leads: a directory that is held open, and a name in it. The path is read once,
 * component by component, so that nobody can exchange a part of it between check and use.
 *
 * A symbolic link is followed where the kernel follows it too. One more rule holds, whatever
 * fs.protected_symlinks says: in a directory that everybody may write to, only links of our own
 * user and of the directory's owner are followed. The kernel's rule concerns the last component of
 * a path, krait's rule all components.
 */
#ifndef HOST_FILES_PLACE_H
#define HOST_FILES_PLACE_H

#include <limits.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/util.h"

struct place {
	int dir;		 /* descriptor of the directory (O_PATH); -1: none */
	char name[NAME_MAX + 1]; /* the last component of the path, never "." or ".." */
	/*
	 * descriptor of the file called .name (O_PATH), which .st describes; -1: there is no such
	 * file
	 */
	int fd;
	bool handed; /* the path stands for an open file of a process, as /dev/stdout does */
	struct stat st;
};

#define PLACE_INIT ((struct place){.dir = -1, .fd = -1})

/*
 * Finds where @path leads. @follow: a link as the last component is followed; else .st describes
 * the link itself. 0 or -errno + message. -ENOENT: a directory is missing (a missing file is fine);
 * -EISDIR: @path names a directory; -EPERM: krait's rule above forbids a link.
 */
_must_use_ int place_find(struct place *p, const char *path, bool follow);

/*
 * Opens the file at @p for writing. That file is a FIFO, a device, or an open file that was handed
 * over (.handed). Nothing is created, and only a regular file is truncated. In a directory that
 * everybody may write to, a file that belongs neither to us nor to the directory's owner isn't
 * opened. Descriptor, or -errno + message.
 */
_must_use_ int place_open(const struct place *p, const char *path);

void place_fini(struct place *p);

#define _cleanup_place_ _cleanup_(place_fini)

#endif
