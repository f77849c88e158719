/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files whose file system may never answer: FUSE of a program that hangs, a server that is gone. A
 * thread that opens, reads or even closes one may hang for ever, and then krait can't end. So krait
 * has no descriptor of such a file, but one of an empty file in memory: a child has the file
 * (proc/keeper.h), and hands over what is asked for here, or an error in time. Of every other
 * descriptor far_pread() and far_stat() are pread() and fstat().
 */
#ifndef BASE_FAR_H
#define BASE_FAR_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/util.h"

/* Who has the files, by the number that far_new() got. All bytes that there are, or 0, or -errno. */
struct far_ops {
	ssize_t (*read)(uint64_t number, void *bytes, size_t n, uint64_t offset);
	int (*stat)(uint64_t number, struct stat *ret);
};

/* A descriptor for file @number of @bytes; -errno. @ops: the same each time. */
_must_use_ int far_new(const struct far_ops *ops, uint64_t number, uint64_t bytes);

/* Is @fd such a one? */
bool far_is(int fd);

/* As pread() and fstat(): -1 and errno on failure; ETIMEDOUT: it doesn't answer. */
ssize_t far_pread(int fd, void *bytes, size_t n, off_t offset);
_must_use_ int far_stat(int fd, struct stat *ret);

/*
 * For libraries that read the descriptor themselves: one of the same file that far_fetch() puts
 * bytes into. They take memory until far_drop(). -1: @fd isn't far, use it; -errno.
 */
_must_use_ int far_copy(int fd);
void far_drop(int copy); /* -1 is fine */

/* Are @n bytes at @offset there now, as far as the file has them? True if @fd isn't far. */
_must_use_ bool far_fetch(int fd, uint64_t offset, uint64_t n);

#endif
