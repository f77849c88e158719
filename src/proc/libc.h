/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which C library a process uses, and where this library keeps a thread's pthread keys. A
 * pthread key leads krait from a thread to its PyThreadState, and so to the thread's Python frames
 * (py_where.tss, .tsd_offset).
 */
#ifndef PROC_LIBC_H
#define PROC_LIBC_H

#include "base/util.h"
#include "layout.h"
#include "proc/read/maps.h"
#include "proc/proc.h"

enum libc_kind { LIBC_NONE, LIBC_GLIBC, LIBC_MUSL };

struct libc_info {
	enum libc_kind kind;
	/*
	 * Offset, from the thread pointer, of the table of the thread's pthread keys: in glibc
	 * struct pthread.specific_1stblock, in musl struct pthread.tsd. (glibc's second-level table
	 * `specific` is 32 * 16 bytes behind specific_1stblock.)
	 */
	int32_t tsd_offset;
	int32_t self_offset; /* pthread_self() minus the thread pointer, in bytes */
	/*
	 * true: the offsets were read from the C library's file; false: they are the usual ones on
	 * this architecture
	 */
	bool learnt;
};

/*
 * Finds the mapping of the C library by its file's name: ld-musl-*.so.1, libc.musl-*, libc.so.6,
 * libpthread.so.0 ... NULL for a static executable. @ret_threads (may be NULL): the mapping of
 * libpthread, which before glibc 2.34 has the pthread functions; NULL if there is none.
 */
const struct mapping *libc_find(const struct maps *m, enum libc_kind *ret,
				const struct mapping **ret_threads);

/* Returns the usual offsets on this architecture for a C library of this @kind. */
struct libc_info libc_default(enum libc_kind kind);

/*
 * Reads the offsets from file @fd. @fd is the file that has the pthread functions (libc.so.6,
 * libpthread.so.0 before 2.34, ld-musl). With LIBC_NONE, @fd is a static executable, and .kind is
 * also set. Never fails: if the offsets can't be learnt, .learnt is false and the offsets are the
 * usual ones.
 */
struct libc_info libc_read(int fd, enum libc_kind kind);

/*
 * Finds out which C library process @proc has, from its executable mappings @maps. @linked: its
 * program is linked dynamically with a C library. Returns 0, or -EAGAIN if @linked and the loader
 * hasn't mapped the library yet.
 */
_must_use_ int libc_of_process(const struct proc *proc, const struct maps *maps, bool linked,
			       struct libc_info *ret);

/* Sets the fields of @w that depend on the C library. */
void libc_set_where(struct py_where *w, const struct libc_info *info);

#endif
