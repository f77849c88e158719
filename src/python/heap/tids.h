/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what CPython and the C library call a thread to the kernel's number of it. The process runs on
 * meanwhile and is hostile: a number counts only if there is such a thread.
 */
#ifndef PYTHON_TIDS_H
#define PYTHON_TIDS_H

#include "base/map.h"
#include "python/heap/heap.h"

struct py_tids {
	struct map by_native; /* tids of the target's PID namespace -> krait's */
};

/* The threads that process @pid (krait's PID namespace) has now. 0, -ESRCH, -ENOMEM, -errno. */
_must_use_ int py_tids_read(struct py_tids *t, pid_t pid);
void py_tids_fini(struct py_tids *t); /* also of a zeroed one */

/* In krait's PID namespace; 0: there is no such thread. @native: as gettid() says in the target. */
pid_t py_tid_by_native(const struct py_tids *t, uint64_t native);

/*
 * By pthread_self(): from the C library's own struct (glibc and musl on x86-64 and aarch64). 0: not
 * there, or not known for this C library.
 */
pid_t py_tid_by_ident(const struct py_tids *t, struct heap *h, const struct py_where *where,
		      uint64_t ident);

#endif
