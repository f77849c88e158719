/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which source files may be put into a page or a report. A recorded program chooses the names, so a
 * name is no reason to show a file: the user who asked must be able to read the file without krait.
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
 * Opens absolute @path below directory @root, as the user who called, without any of krait's
 * capabilities. @path must name a regular file, not a link to one, with a name in .py or .pyx, and
 * no link may lead out of @root. SOURCE_OWN: the file must be the caller's, and if the caller is
 * root, everybody must be able to read it. A descriptor, or -errno (no message). -EPERM: the file
 * isn't the caller's; -EACCES: the caller can't read it.
 */
_must_use_ int source_open_below(const struct source_rules *r, int root, const char *path);

/* Opens @path below krait's own root. The rules and results are those of source_open_below(). */
_must_use_ int source_open(const struct source_rules *r, const char *path);

/*
 * Do rules @r allow opening the file @path below krait's own root, and does it belong to the user
 * who called?
 */
bool source_is_own(const struct source_rules *r, const char *path);

/*
 * May text from the memory of a process of @owner be shown? Yes if all user ids of the process are
 * the caller's, or if the caller is root and the mode is SOURCE_ALL.
 */
bool source_memory_shown(const struct source_rules *r, const struct proc_owner *owner);

/*
 * Can @owner too open the file @fd by the name @path below @root? A process may lead krait only to
 * what it can read itself.
 */
bool source_owner_may(const struct source_rules *r, int root, const char *path, int fd,
		      const struct proc_owner *owner);

/*
 * Opens the root directory of a process whose root directory isn't krait's, if the user who called
 * may go there. A descriptor or -errno.
 */
_must_use_ int source_root_of(const struct source_rules *r, int procdir);

/* Tells whether the name @path alone allows a file to be shown. */
bool source_named(const char *path);

#endif
