/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread states of a running process: which of its threads Python knows. Read from the live
 * process, which goes on meanwhile and is hostile: bounded, and what can't be read is left out.
 */
#ifndef PYTHON_TSTATES_H
#define PYTHON_TSTATES_H

#include "base/vec.h"
#include "python/heap/tids.h"

/* One PyThreadState. */
struct py_tstate {
	uint64_t addr, interp;
	uint64_t
		slot; /* where the pointer to it was read: an interpreter's list or its neighbour */
	uint64_t ident; /* thread_id: pthread_self() = thread pointer + where->self_offset */
	pid_t tid;	/* krait's PID namespace; 0: couldn't be told, or there is no such thread */
};
typedef VEC(struct py_tstate) py_tstates;

/*
 * Those of process @pid, in all its interpreters, the latest ones first. @where: with absolute
 * addresses. 0, -ESRCH, -EPERM, -ENOMEM: then what was found so far. *ret is zeroed by the caller and
 * always to be freed with vec_fini().
 */
_must_use_ int py_tstates_read(pid_t pid, const struct py_layout *layout,
			       const struct py_where *where, const struct py_tids *tids,
			       py_tstates *ret);

#endif
