/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file behind a mapping. What is opened is the mapped file itself, not another file that
 * has the same path now (after a package upgrade, or in another mount namespace). Something whose
 * opening or reading has effects, such as a FIFO or a device, is never opened. The main thread
 * never waits long for a file system: if it may not answer, the descriptor that is returned only
 * stands for the file (base/system/far.h).
 */
#ifndef PROC_FILES_FILES_H
#define PROC_FILES_FILES_H

#include <time.h>

#include "base/util.h"
#include "proc/read/maps.h"

enum file_how {
	/*
	 * opened by /proc/PID/map_files: certainly the mapped file; needs CAP_CHECKPOINT_RESTORE or
	 * SYS_ADMIN
	 */
	FILE_MAP_FILES = 1,
	/*
	 * opened by /proc/PID/exe: certainly the mapped file, because device and inode, or the
	 * name, are the same
	 */
	FILE_EXE,
	/*
	 * opened by /proc/PID/root/PATH: certainly the mapped file, because device and inode are
	 * the same
	 */
	FILE_ROOT,
	/*
	 * opened by /proc/PID/root/PATH, on a file system where device and inode can't be compared
	 * (overlayfs, btrfs): a regular file that hasn't changed since the process started
	 */
	FILE_ROOT_OLDER,
};

/*
 * Opens the file that @m (@path = maps_path()) maps in the process whose /proc/PID is @procdir.
 * @how may be NULL. Returns a descriptor for reading (close-on-exec, regular file); -ENOENT if the
 * file can't be found any more, -ESTALE if another file is at its path now, -EACCES if krait lacks
 * the rights, -EPERM if the file is gone from its path and can only be opened with
 * CAP_CHECKPOINT_RESTORE. Each error has a message.
 */
_must_use_ int file_open_mapping(int procdir, const struct mapping *m, const char *path,
				 enum file_how *how);

/*
 * Writes the path that PROCDIR/exe links to into @ret, cut at @n - 1 bytes; "" if the link can't be
 * read.
 */
void file_exe_path(int procdir, char *ret, size_t n);

/*
 * Is @path the path of the process's executable (PROCDIR/exe)? @path is maps_path() of a mapping,
 * @deleted its .deleted. Both paths come from the kernel's d_path().
 */
bool file_is_exe(int procdir, const char *path, bool deleted);

/*
 * Opens the process's executable (PROCDIR/exe). Returns a descriptor, or -errno + message (-ENOENT:
 * the process is a kernel thread).
 */
_must_use_ int file_open_exe(int procdir);

/*
 * Opens @path as seen by the process (its mount namespace, its root), for files that belong to a
 * process but aren't mapped, such as perf maps in /tmp. Symbolic links stay inside the process's
 * root. Only regular files are opened. The process may have written anything into the file.
 */
_must_use_ int file_open_in_root(int procdir, const char *path);

/*
 * Does the same as file_open_in_root() for @path below the directory @root: an open /proc/PID/root,
 * or krait's own root.
 */
_must_use_ int file_open_below(int root, const char *path);

/*
 * Does the same as file_open_below(), with the rights of @u. FILE_NO_LINK: the last part of @path
 * may not be a symbolic link.
 */
enum file_links { FILE_LINKS, FILE_NO_LINK };
struct opener;
_must_use_ int file_open_as(const struct opener *u, enum file_links links, int root,
			    const char *path);

/*
 * Returns an O_PATH descriptor of the file that is mapped at @m's addresses now, or -errno. Another
 * file may have been mapped there when @m was read. Sets *@ret to the file's stat.
 */
struct stat;
_must_use_ int file_walk_mapping(int procdir, const struct mapping *m, struct stat *ret);

/* Is @time (wall clock), at which a file was last changed, before the start of the process? */
bool file_is_older(int procdir, struct timespec time);

/*
 * Converts @st_dev, the device of a file as stat() gives it, to the kernel's encoding: major << 20
 * | minor.
 */
uint64_t file_dev(uint64_t st_dev);

#endif
