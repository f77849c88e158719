/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns the numbers of threads that CPython and the C library use into the kernel's numbers (tids);
 * see tids.h.
 */
#include "python/heap/tids.h"

#include <errno.h>

#include "base/cleanup.h"
#include "proc/proc.h"
#include "proc/read/stat.h"

/* Reads the thread's tid in the innermost PID namespace of its process; 0: it can't be read. */
static pid_t native_tid(const struct proc *p, pid_t tid)
{
	struct proc_status status;
	char path[48];

	snprintf(path, sizeof(path), "task/%d/status", tid);
	if (proc_status_read(p->dirfd, path, &status))
		return 0;
	return status.ns_tgid ? status.ns_tgid : tid;
}

static bool same_pid_ns(const struct proc *p)
{
	_cleanup_proc_ struct proc self = PROC_INIT;
	uint64_t theirs = proc_ns(p, "pid");

	return theirs && !proc_open(&self, getpid()) && proc_ns(&self, "pid") == theirs;
}

int py_tids_read(struct py_tids *t, pid_t pid)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	pid_vec tids = {};
	bool same;
	int e;

	map_init(&t->by_native);
	e = proc_open(&p, pid);
	if (e)
		return e;
	e = proc_threads(&p, &tids);
	same = same_pid_ns(&p);
	vec_foreach(tid, &tids) {
		pid_t native = same ? *tid : native_tid(&p, *tid);

		if (!e && native)
			e = map_put(&t->by_native, (uint64_t)native, (uint64_t)*tid);
	}
	vec_fini(&tids);
	return e;
}

void py_tids_fini(struct py_tids *t)
{
	map_fini(&t->by_native);
}

pid_t py_tid_by_native(const struct py_tids *t, uint64_t native)
{
	uint64_t *tid = native ? map_get(&t->by_native, native) : NULL;

	return tid ? (pid_t)*tid : 0;
}

/*
 * Offset of the tid in struct pthread, where the kernel writes it (CLONE_PARENT_SETTID). The offset
 * is the same in glibc since 2.4, because libthread_db depends on it (_thread_db_pthread_tid), and
 * in musl since 1.1.
 */
#if defined(__x86_64__)
#define GLIBC_TID 720
#define MUSL_TID  48
#elif defined(__aarch64__)
#define GLIBC_TID 208
#define MUSL_TID  32
#else
#define GLIBC_TID 0
#define MUSL_TID  0
#endif

pid_t py_tid_by_ident(const struct py_tids *t, struct heap *h, const struct py_where *where,
		      uint64_t ident)
{
	bool musl = where->tss == PY_TSS_KEY_MUSL || where->tss == PY_TSS_TLS_DTV_MUSL;
	uint32_t tid;

	if (!GLIBC_TID || heap_read(h, ident + (musl ? MUSL_TID : GLIBC_TID), &tid, sizeof(tid)))
		return 0;
	return py_tid_by_native(t, tid);
}
