/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which C library a process uses and where that keeps a thread's pthread keys: the walker needs it
 * to get from a thread to its PyThreadState (py_where.tss, .tsd_offset).
 */
#ifndef PROC_LIBC_H
#define PROC_LIBC_H

#include "base/util.h"
#include "layout.h"
#include "proc/maps.h"
#include "proc/proc.h"

enum libc_kind { LIBC_NONE, LIBC_GLIBC, LIBC_MUSL };

struct libc_info {
	enum libc_kind kind;
	/*
	 * From the thread pointer: glibc's struct pthread.specific_1stblock (the second-level
	 * table `specific` follows 32 * 16 bytes later), musl's struct pthread.tsd.
	 */
	int32_t tsd_offset;
	int32_t self_offset; /* of what pthread_self() returns, from there too */
	bool learnt; /* from the file's own descriptors, not the architecture's usual value */
};

/*
 * The mapping whose file is the C library: ld-musl-*.so.1, libc.musl-*, libc.so.6, libpthread.so.0,
 * ... by name. NULL for a static executable. @ret_threads (may be NULL) is libpthread's, if it is mapped: it has the
 * pthread functions of glibc before 2.34.
 */
const struct mapping *libc_find(const struct maps *m, enum libc_kind *ret,
				const struct mapping **ret_threads);

/* The usual values of this architecture for @kind. */
struct libc_info libc_default(enum libc_kind kind);

/*
 * Learns from @fd, the file that has the pthread functions (libc.so.6, libpthread.so.0 before 2.34,
 * ld-musl; with LIBC_NONE a static executable, whose .kind is found too): once per file. Falls back
 * to the usual values. Never fails: .learnt tells.
 */
struct libc_info libc_read(int fd, enum libc_kind kind);

/*
 * The C library of a process with these executable mappings. @linked: it is linked with one; then
 * -EAGAIN while the loader hasn't mapped it. Else 0.
 */
_must_use_ int libc_of_process(const struct proc *proc, const struct maps *maps, bool linked,
			       struct libc_info *ret);

/* What it means for the walker. */
void libc_set_where(struct py_where *w, const struct libc_info *info);

#endif
