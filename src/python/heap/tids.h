/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the kernel's number of a thread from the numbers that CPython and the C library have for
 * it. The process keeps running while it is read, and may be hostile. So a number counts only if a
 * thread with that number exists.
 */
#ifndef PYTHON_HEAP_TIDS_H
#define PYTHON_HEAP_TIDS_H

#include "base/map.h"
#include "python/heap/heap.h"

struct py_tids {
	/* tid in the target's PID namespace -> tid in krait's PID namespace */
	struct map by_native;
};

/* Reads which threads process @pid (krait's PID namespace) has now. 0, -ESRCH, -ENOMEM, -errno. */
_must_use_ int py_tids_read(struct py_tids *t, pid_t pid);
void py_tids_fini(struct py_tids *t); /* a zeroed @t is fine */

/*
 * Returns a thread's tid in krait's PID namespace; 0: there is no such thread. @native: the number
 * that gettid() returns in the thread.
 */
pid_t py_tid_by_native(const struct py_tids *t, uint64_t native);

/*
 * Returns a thread's tid in krait's PID namespace, by @ident, the thread's pthread_self().
 * pthread_self() is the address of the C library's own struct, which has the tid (glibc and musl on
 * x86-64 and aarch64). 0: there is no such thread, or krait doesn't know where this C library's
 * struct has the tid.
 */
pid_t py_tid_by_ident(const struct py_tids *t, struct heap *h, const struct py_where *where,
		      uint64_t ident);

#endif
