/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads of a live process' memory, for what the kernel program couldn't or needn't read. The target
 * runs on meanwhile: every value is untrusted and may be torn.
 */
#ifndef PYTHON_PEEK_H
#define PYTHON_PEEK_H

#include <sys/types.h>

#include "base/util.h"

/*
 * Copies @n bytes at @addr of process @pid (krait's PID namespace) to @buf. 0, or -errno without a
 * message: -EFAULT (not mapped, also partly), -ESRCH, -EPERM, -ETIMEDOUT (see proc/reader.h).
 */
_must_use_ int peek(pid_t pid, uint64_t addr, void *buf, size_t n);

/*
 * process_vm_readv(): @n pieces of @pid's memory into @to, one after the other. Bytes, or -errno. Where its first thread
 * has ended the kernel finds the memory by another one only.
 */
struct iovec;
ssize_t peek_pieces(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n);

#endif
