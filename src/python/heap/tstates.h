/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the thread states of a running process, that is, which of its threads Python knows. The
 * process keeps running while it is read, and may be hostile. So reading is bounded, and what can't
 * be read is left out.
 */
#ifndef PYTHON_HEAP_TSTATES_H
#define PYTHON_HEAP_TSTATES_H

#include "base/vec.h"
#include "python/heap/tids.h"

/* What is read of one PyThreadState. */
struct py_tstate {
	uint64_t addr, interp;
	/*
	 * address of the pointer to this thread state: in the interpreter's state, or in the
	 * preceding thread state of the list
	 */
	uint64_t slot;
	/* the thread state's thread_id: pthread_self() = thread pointer + where->self_offset */
	uint64_t ident;
	/* tid in krait's PID namespace; 0: the tid wasn't found, or there is no such thread */
	pid_t tid;
};
typedef VEC(struct py_tstate) py_tstates;

/*
 * Reads the thread states of process @pid in all its interpreters, the newest first. The addresses
 * in @where are absolute. 0; -ESRCH, -EPERM, -ENOMEM: *ret has the thread states that were read
 * until then. The caller zeroes *ret and frees it with vec_fini() in any case.
 */
_must_use_ int py_tstates_read(pid_t pid, const struct py_layout *layout,
			       const struct py_where *where, const struct py_tids *tids,
			       py_tstates *ret);

#endif
