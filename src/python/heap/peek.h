/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads memory of a live process that the kernel program couldn't or needn't read. The target keeps
 * running while it is read: every value is untrusted, and may be half old and half new.
 */
#ifndef PYTHON_HEAP_PEEK_H
#define PYTHON_HEAP_PEEK_H

#include <sys/types.h>

#include "base/util.h"

/*
 * Copies @n bytes at @addr of process @pid (krait's PID namespace) to @buf. 0; -errno without a
 * message: -EFAULT (not mapped, or only in part), -ESRCH, -EPERM, -ETIMEDOUT (proc/read/reader.h).
 */
_must_use_ int peek(pid_t pid, uint64_t addr, void *buf, size_t n);

/*
 * Like process_vm_readv(): reads @n pieces of @pid's memory into @to, one after the other. Returns
 * the number of bytes that were read, or -errno. If the process's first thread has ended, the
 * kernel doesn't find the memory by @pid, and the id of another thread is used.
 */
struct iovec;
ssize_t peek_pieces(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n);

#endif
