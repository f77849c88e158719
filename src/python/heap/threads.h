/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the names of threads in Python: threading._active of the target, {ident: Thread}, and
 * Thread._name. The process keeps running while it is read, and may be hostile. So reading is
 * bounded, and what can't be read is left out. A program may rename a thread, and a new thread is
 * registered only after it has begun to run. So names are read again if a thread had no name, and
 * once more at the end.
 */
#ifndef PYTHON_HEAP_THREADS_H
#define PYTHON_HEAP_THREADS_H

#include <sys/types.h>

#include "base/util.h"
#include "base/vec.h"
#include "layout.h"

/* What the caller of py_thread_names() knows of a thread. */
struct py_thread_id {
	pid_t tid;   /* tid in krait's PID namespace */
	uint64_t tp; /* the thread's thread pointer, from a sample */
};

struct py_thread_name {
	/*
	 * the thread's ident in `threading`: pthread_self() = thread pointer + where->self_offset
	 */
	uint64_t ident;
	pid_t tid;  /* tid in krait's PID namespace; 0: the tid wasn't found */
	char *name; /* the thread's name: UTF-8, one line (text.h), not empty */
};

struct py_thread_names {
	VEC(struct py_thread_name) list;
};

/*
 * Reads the names of all threads in process @pid that `threading` knows, in all its interpreters.
 * The addresses in @where are absolute. @known: @n threads whose thread pointer is known; may be
 * NULL if @n is 0. Other threads get their tid from Thread._native_id (3.8+), else from the C
 * library's own struct (glibc and musl on x86-64, glibc on aarch64). A tid counts only if a thread
 * with that tid exists. 0, also if there are no names (threading isn't imported); -ENOTSUP: this
 * version's dicts aren't known; -ESRCH, -EPERM. The caller zero-initialises *ret, and frees it in
 * any case.
 */
_must_use_ int py_thread_names(pid_t pid, const struct py_layout *layout,
			       const struct py_where *where, const struct py_thread_id *known,
			       size_t n, struct py_thread_names *ret);
void py_thread_names_fini(struct py_thread_names *names);

/* Returns the name of thread @tid; NULL: the thread has no name. */
const char *py_thread_name_of(const struct py_thread_names *names, pid_t tid);

#endif
