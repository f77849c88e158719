/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads through process_vm_readv(2); see peek.h. */
#include "python/peek.h"

#include <errno.h>
#include <sys/uio.h>

int peek(pid_t pid, uint64_t addr, void *buf, size_t n)
{
	struct iovec to = {buf, n}, from = {(void *)(uintptr_t)addr, n};
	ssize_t got;

	if (!n)
		return 0;
	got = process_vm_readv(pid, &to, 1, &from, 1, 0);
	if (got < 0)
		return errno == EINVAL ? -EFAULT : -errno;
	return (size_t)got == n ? 0 : -EFAULT;
}
