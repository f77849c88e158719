/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the lists of interpreters and of their thread states; see tstates.h. */
#include "python/heap/tstates.h"

#include <errno.h>

#define MAX_INTERPRETERS 256
#define MAX_THREADS	 65536

struct reader {
	struct heap heap;
	const struct py_where *where;
	const struct py_tids *tids;
	py_tstates *ret;
};

/*
 * Reads the fields of the thread state at @t->addr, and the address of the next thread state;
 * false: the memory can't be read.
 */
static bool read_tstate(struct reader *r, struct py_tstate *t, uint64_t *next)
{
	const struct py_layout *l = r->heap.l;
	uint64_t native;

	if (heap_read(&r->heap, t->addr + l->tstate_thread_id, &t->ident, sizeof(t->ident)) ||
	    heap_read(&r->heap, t->addr + l->tstate_next, next, sizeof(*next)))
		return false;
	if (!l->tstate_native_thread_id) {
		t->tid = py_tid_by_ident(r->tids, &r->heap, r->where, t->ident);
		return true;
	}
	if (heap_read(&r->heap, t->addr + l->tstate_native_thread_id, &native, sizeof(native)))
		return false;
	t->tid = py_tid_by_native(r->tids, native);
	return true;
}

static int read_interpreter(struct reader *r, uint64_t interp)
{
	uint64_t slot = interp + r->heap.l->interp_tstate_head, next = heap_ptr(&r->heap, slot);
	int e = 0;

	while (!e && next && r->ret->n < MAX_THREADS) {
		struct py_tstate t = {.addr = next, .slot = slot, .interp = interp};

		if (!read_tstate(r, &t, &next))
			break;
		slot = t.addr + r->heap.l->tstate_next;
		e = vec_push(r->ret, t);
	}
	return e;
}

int py_tstates_read(pid_t pid, const struct py_layout *layout, const struct py_where *where,
		    const struct py_tids *tids, py_tstates *ret)
{
	struct reader r = {.where = where, .tids = tids, .ret = ret};
	uint64_t interp;
	int e;

	heap_init(&r.heap, pid, layout);
	e = heap_read(&r.heap, where->interp_head, &interp, sizeof(interp));
	for (int i = 0; !e && interp && i < MAX_INTERPRETERS; i++) {
		e = read_interpreter(&r, interp);
		interp = heap_ptr(&r.heap, interp + layout->interp_next);
	}
	return e;
}
