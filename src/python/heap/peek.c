/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads memory of a process with process_vm_readv(2), in a child process of krait; see peek.h. */
#include "python/heap/peek.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "proc/proc.h"
#include "proc/read/reader.h"

#define THREADS_MAX 16 /* how many threads of a process are tried at most when memory is read */

/*
 * Reads memory of a process that the kernel may not find by @pid. Tries the ids of the process's
 * threads, one after another, until one of them works.
 */
static ssize_t read_by_thread(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	pid_vec threads = {};
	ssize_t got = -ESRCH;

	if (!proc_open(&p, pid) && !proc_threads(&p, &threads))
		for (size_t i = 0; got == -ESRCH && i < MIN(threads.n, (size_t)THREADS_MAX); i++)
			got = reader_read(threads.v[i], to, from, n);
	vec_fini(&threads);
	return got;
}

ssize_t peek_pieces(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n)
{
	ssize_t got = reader_read(pid, to, from, n);

	return got == -ESRCH ? read_by_thread(pid, to, from, n) : got;
}

int peek(pid_t pid, uint64_t addr, void *buf, size_t n)
{
	struct iovec to = {buf, n}, from = {(void *)(uintptr_t)addr, n};
	ssize_t got;

	if (!n)
		return 0;
	got = peek_pieces(pid, &to, &from, 1);
	if (got < 0)
		return got == -EINVAL ? -EFAULT : (int)got;
	return (size_t)got == n ? 0 : -EFAULT;
}
