/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the GIL. It is in variables of ceval.c (2.7, 3.6), in _PyRuntime (3.7-3.11), or behind a
 * pointer in each interpreter (3.12+). What isn't found is left out. bpf/python/gil.bpf.h then
 * knows less about which thread has the GIL.
 */
#include "python/find/image_internal.h"

/*
 * In 3.6, the GIL's condition and mutex variables together take at most this many bytes, whatever
 * order the compiler chose for them.
 */
#define STATICS_BYTES 512

/* Finds the lowest and highest address of the variables on which waiters sleep in 3.6. */
static void static_waits(struct image_ctx *c)
{
	static const enum image_symbol symbols[] = {SYM_gil_cond, SYM_gil_mutex, SYM_switch_cond,
						    SYM_switch_mutex};
	struct py_where *w = &c->image->where;
	uint64_t first = UINT64_MAX, end = 0;

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		const struct elf_symbol *s = &c->sym[symbols[i]];

		if (!s->value)
			return;
		first = MIN(first, s->value);
		end = MAX(end, s->value + s->size);
	}
	/* the GIL's variables are so far apart that other variables may lie between them */
	if (end - first > STATICS_BYTES)
		return;
	w->gil_wait = first;
	w->gil_wait_bytes = (uint16_t)(end - first);
}

/*
 * In 2.7 waiters sleep on the first word of a semaphore, which is the semaphore's value.
 * interpreter_lock points to the semaphore.
 */
static void lock_waits(struct image_ctx *c)
{
	c->image->where.gil_wait = c->sym[SYM_interpreter_lock].value;
	c->image->where.gil_wait_bytes = 4;
}

/* Finds the GIL of 3.7-3.11, which is in _PyRuntime. */
static void runtime_gil(struct image_ctx *c)
{
	struct py_where *w = &c->image->where;
	uint64_t gil = py_gil_before(w->tstate_current, image_mutex_growth(c));

	w->gil_holder = gil + PY_GIL_HOLDER;
	w->gil_locked = gil + PY_GIL_LOCKED;
	w->gil_wait = gil + PY_GIL_WAIT;
}

void image_gil(struct image_ctx *c)
{
	uint64_t can = c->image->layout.can;
	struct py_where *w = &c->image->where;

	w->gil_wait_bytes = (uint16_t)(PY_GIL_WAIT_BYTES + image_mutex_growth(c));
	if (PY_HAS(can, GIL_ACTIVE)) {
		w->gil = PY_GIL_ACTIVE;
	} else if (PY_HAS(can, LOCK_GIL)) {
		w->gil = PY_GIL_CURRENT;
		lock_waits(c);
	} else if (PY_HAS(can, GIL_STATICS)) {
		w->gil = PY_GIL_CURRENT;
		static_waits(c);
		w->gil_holder = c->sym[SYM_gil_last_holder].value;
		w->gil_locked = c->sym[SYM_gil_locked].value;
	} else if (PY_HAS(can, GIL_IN_RUNTIME)) {
		w->gil = PY_GIL_CURRENT;
		runtime_gil(c);
	} /* in 3.13 and later, .gil was set by the debug offsets */
}
