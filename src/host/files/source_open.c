/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens source files with the rights of the user who called krait, not with krait's own; see
 * source_open.h.
 */
#include "host/files/source_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/system/far.h"
#include "base/util.h"
#include "proc/files/files.h"
#include "proc/files/open_as.h"

enum { NOBODY = 65534 };

bool source_named(const char *path)
{
	return *path == '/' && (str_ends(path, ".py") || str_ends(path, ".pyx"));
}

static struct opener nobody(void)
{
	return (struct opener){.has_id = true, .uid = NOBODY, .gid = NOBODY};
}

/*
 * Returns the user with whose rights files are opened: the user who called krait. If that is root,
 * files are opened with the rights of the user nobody, unless the mode is SOURCE_ALL.
 */
static struct opener caller_of(const struct source_rules *r)
{
	const struct caller *c = r->caller;

	if (c->other)
		return caller_opener(c);
	if (geteuid())
		return (struct opener){};
	return r->mode == SOURCE_ALL ? (struct opener){.as_is = true} : nobody();
}

static uid_t caller_uid(const struct source_rules *r)
{
	return r->caller->other ? r->caller->uid : getuid();
}

int source_open_below(const struct source_rules *r, int root, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct opener u = caller_of(r);
	struct stat st;

	if (r->mode == SOURCE_NONE || !source_named(path))
		return -EINVAL;
	fd = file_open_as(&u, FILE_NO_LINK, root, path);
	if (fd < 0)
		return fd;
	if (far_stat(fd, &st))
		return -errno;
	return r->mode == SOURCE_OWN && st.st_uid != caller_uid(r) ? -EPERM : TAKE_FD(fd);
}

int source_open(const struct source_rules *r, const char *path)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : source_open_below(r, root, path);
}

bool source_is_own(const struct source_rules *r, const char *path)
{
	_cleanup_close_ int fd = source_open(r, path);
	struct stat st;

	return fd >= 0 && !far_stat(fd, &st) && st.st_uid == caller_uid(r);
}

bool source_owner_may(const struct source_rules *r, int root, const char *path, int fd,
		      const struct proc_owner *owner)
{
	_cleanup_close_ int theirs = -1;
	const struct opener u = opener_of(owner);
	struct stat a, b;

	if (owner->uid == 0 || owner->uid == caller_uid(r))
		return true;
	/*
	 * krait isn't root: it sees only processes of its own user, and can't become another user
	 */
	if (geteuid())
		return false;
	theirs = file_open_as(&u, FILE_NO_LINK, root, path);
	return theirs >= 0 && !far_stat(fd, &a) && !far_stat(theirs, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

bool source_memory_shown(const struct source_rules *r, const struct proc_owner *owner)
{
	if (r->mode == SOURCE_NONE)
		return false;
	return (owner->uid == caller_uid(r) && !owner->mixed) ||
	       (r->mode == SOURCE_ALL && !r->caller->other && geteuid() == 0);
}

static int open_root(int procdir, const char *name)
{
	int fd = openat(procdir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int source_root_of(const struct source_rules *r, int procdir)
{
	struct opener u = caller_of(r);

	if (!r->caller->other && geteuid() == 0)
		/*
		 * root enters the directory with all its rights, but opens the files in it as the
		 * user nobody
		 */
		u.as_is = true;
	return open_as(&u, open_root, procdir, "root");
}
