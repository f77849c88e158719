/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which source files may be put into a page or a report. A recorded program chooses the names, so a name is no
 * reason to show anything: a file must be one that the user who asked may read without krait.
 */
#ifndef HOST_SOURCE_OPEN_H
#define HOST_SOURCE_OPEN_H

#include "host/caller.h"
#include "proc/owner.h"

enum source_mode { SOURCE_OWN, SOURCE_ALL, SOURCE_NONE };

struct source_rules {
	const struct caller *caller;
	enum source_mode mode;
};

/*
 * Opens absolute @path below directory @root: a regular file that has this name itself, ends in .py or
 * .pyx, and that no link leads to from outside of @root; without any of krait's capabilities, as
 * the user who called. SOURCE_OWN: it must be theirs; root's files then are those that everybody
 * may read. A descriptor, or -errno (no message): -EPERM where it isn't theirs, -EACCES where they can't.
 */
_must_use_ int source_open_below(const struct source_rules *r, int root, const char *path);

/* The same below krait's own root. */
_must_use_ int source_open(const struct source_rules *r, const char *path);

/* Whether a file there that these rules open belongs to the user who called. */
bool source_is_own(const struct source_rules *r, const char *path);

/* Whether text from the memory of a process of @owner may be shown: it is all of the same user. */
bool source_memory_shown(const struct source_rules *r, const struct proc_owner *owner);

/*
 * Whether @owner too can open the file that @fd is, by the same name: what a process makes krait
 * look at it must be able to look at itself.
 */
bool source_owner_may(const struct source_rules *r, int root, const char *path, int fd,
		      const struct proc_owner *owner);

/* The root directory of a process that has another one than krait, if the user who called may go there. */
_must_use_ int source_root_of(const struct source_rules *r, int procdir);

/* Whether a file of this name may be shown at all. */
bool source_named(const char *path);

#endif
