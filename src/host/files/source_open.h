/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which source files may be put into a page or a report. A recorded program chooses the names of
 * its files, so a name is no reason to show a file: the user who called krait must be able to read
 * the file without krait.
 */
#ifndef HOST_FILES_SOURCE_OPEN_H
#define HOST_FILES_SOURCE_OPEN_H

#include "host/caller.h"
#include "proc/read/owner.h"

enum source_mode { SOURCE_OWN, SOURCE_ALL, SOURCE_NONE };

struct source_rules {
	const struct caller *caller;
	enum source_mode mode;
};

/*
 * Opens the absolute path @path below directory @root, as the user who called krait, without any of
 * krait's capabilities. @path must name a regular file, not a link to one. The name must end in .py
 * or .pyx, and no link on the way may lead out of @root. With SOURCE_OWN, the file must belong to
 * the caller; if the caller is root, everybody must be able to read the file. Returns a descriptor,
 * or -errno without a message. -EPERM: the file isn't the caller's; -EACCES: the caller can't read
 * it.
 */
_must_use_ int source_open_below(const struct source_rules *r, int root, const char *path);

/*
 * Opens @path below krait's own root directory, by the rules and with the results of
 * source_open_below().
 */
_must_use_ int source_open(const struct source_rules *r, const char *path);

/*
 * Returns true if the rules @r allow opening file @path below krait's own root directory and the
 * file belongs to the user who called krait.
 */
bool source_is_own(const struct source_rules *r, const char *path);

/*
 * Tells whether text from the memory of a process of @owner may be shown: if all user ids of the
 * process are the caller's, or if the caller is root and the mode is SOURCE_ALL.
 */
bool source_memory_shown(const struct source_rules *r, const struct proc_owner *owner);

/*
 * Tells whether @owner, too, can open the file @fd by the name @path below @root. So a process
 * can't make krait show a file that the process itself can't read.
 */
bool source_owner_may(const struct source_rules *r, int root, const char *path, int fd,
		      const struct proc_owner *owner);

/*
 * Opens the root directory of a process that has another root directory than krait, if the user who
 * called krait may enter it. A descriptor or -errno.
 */
_must_use_ int source_root_of(const struct source_rules *r, int procdir);

/*
 * Tells whether @path is a name of the kind that may be shown: absolute, and ending in .py or .pyx.
 */
bool source_named(const char *path);

#endif
