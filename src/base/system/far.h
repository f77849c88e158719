/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files whose file system may never answer: FUSE with a program that hangs, or a server that is
 * gone. A thread that opens, reads or even closes such a file may hang for ever, and then krait
 * can't end. So krait's own descriptor is that of an empty file in memory, and a child process of
 * krait holds the real file open (proc/files/keeper.h). The functions here ask the child. If the
 * file system doesn't answer the child in time, they return an error. For every other descriptor
 * far_pread() and far_stat() are pread() and fstat().
 */
#ifndef BASE_SYSTEM_FAR_H
#define BASE_SYSTEM_FAR_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/util.h"

/*
 * Functions that reach the real files. @number is what far_new() was given for the file. read:
 * reads all bytes that the file has in the range, and returns how many these are (0 at the file's
 * end), or -errno. stat: returns 0 or -errno.
 */
struct far_ops {
	ssize_t (*read)(uint64_t number, void *bytes, size_t n, uint64_t offset);
	int (*stat)(uint64_t number, struct stat *ret);
};

/*
 * Returns a descriptor that stands for a file of @bytes bytes, or -errno. The functions @ops know
 * the file by its @number. Every call must pass the same @ops, because those of the first call are
 * used for all files.
 */
_must_use_ int far_new(const struct far_ops *ops, uint64_t number, uint64_t bytes);

/* Was @fd made by far_new(), so that it stands for a file that a child holds open? */
bool far_is(int fd);

/*
 * Do what pread() and fstat() do, for any descriptor. -1 and errno on failure; ETIMEDOUT: the file
 * system doesn't answer.
 */
ssize_t far_pread(int fd, void *bytes, size_t n, off_t offset);
_must_use_ int far_stat(int fd, struct stat *ret);

/*
 * For libraries that read a descriptor themselves: if far_new() made @fd, returns the descriptor of
 * a copy of the file, or -errno. far_fetch() fills the copy, whose bytes take memory until
 * far_drop(). -EINVAL: @fd isn't from far_new(), so the library can use @fd itself.
 */
_must_use_ int far_copy(int fd);
void far_drop(int copy); /* Frees @copy; negative: there is no copy. */

/*
 * If @fd is a copy by far_copy(), fills its @n bytes at @offset, as far as the file has them. If
 * @fd is the descriptor of an ordinary file, nothing needs filling. False: the bytes couldn't be
 * fetched.
 */
_must_use_ bool far_fetch(int fd, uint64_t offset, uint64_t n);

#endif
