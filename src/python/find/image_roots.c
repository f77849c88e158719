/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds where a walk starts: the list of interpreters, the current thread state, and how a thread
 * finds its own state. 2.7 and 3.6 have these in variables of pystate.c, 3.7-3.14 in _PyRuntime;
 * 3.15 has the thread's state only in a thread-local variable. Where there is no symbol, the code
 * of an exported accessor is decoded.
 */
#include "base/error.h"
#include "python/find/accessor.h"
#include "python/find/image_internal.h"

static struct accessor read_accessor(struct image_ctx *c, enum image_symbol which)
{
	return accessor_read(c->elf, c->sym[which].value);
}

/*
 * Finds where a walk starts in 2.7 and 3.6: in variables with local symbols, which stripped files
 * don't have.
 */
static void old_roots(struct image_ctx *c)
{
	struct py_where *w = &c->image->where;
	struct accessor a;

	w->tstate_current = c->sym[SYM__PyThreadState_Current].value;
	w->interp_head = c->sym[SYM_interp_head].value;
	a = read_accessor(c, SYM_PyInterpreterState_Head);
	if (!w->interp_head && a.kind == ACCESS_GLOBAL)
		w->interp_head = a.addr;
	if (!w->interp_head)
		image_unsupported(c->image, "CPython %u.%u stripped of its symbols",
				  c->image->layout.version >> 8, c->image->layout.version & 0xff);
	/* The key of 2.7 isn't a pthread key: Python/thread.c has its own list, keyhead. */
	if (PY_HAS(c->image->layout.can, LISTED_STATES))
		return;
	w->tss_key = c->sym[SYM_autoTLSkey].value;
	a = read_accessor(c, SYM_PyGILState_GetThisThreadState);
	if (!w->tss_key && a.kind == ACCESS_KEY)
		w->tss_key = a.addr;
	w->tss = w->tss_key ? PY_TSS_KEY_GLIBC : PY_TSS_NONE;
}

/*
 * Returns the address of the key's number (Py_tss_t: {int is_initialized, key}), as the accessor
 * function shows it; 0: not known.
 */
static uint64_t accessor_key(struct image_ctx *c)
{
	struct accessor a = read_accessor(c, SYM_PyGILState_GetThisThreadState);

	if (a.kind == ACCESS_KEY)
		return a.addr;
	/*
	 * Before 3.12, the address that the accessor passes on may be that of the structure which
	 * contains the Py_tss_t.
	 */
	if (a.kind == ACCESS_ARGUMENT && PY_HAS(c->image->layout.can, TSS_ARGUMENT))
		return a.addr + 4;
	return 0;
}

/*
 * Finds where a walk starts in 3.7-3.14. The accessor function is trusted more than the table of
 * offsets: a build with other options may have moved struct _gilstate_runtime_state, but not the
 * fields in it.
 */
static void runtime_roots(struct image_ctx *c, const struct py_runtime_row *table)
{
	struct py_runtime_row row = py_runtime_grow(table, image_mutex_growth(c));
	struct py_where *w = &c->image->where;
	uint64_t key = accessor_key(c), moved = 0;

	if (key > c->runtime && key - c->runtime < MAX(c->runtime_size, (uint64_t)row.size))
		moved = key - c->runtime - row.tss_key;
	w->tss_key = c->runtime + row.tss_key + moved;
	w->tss = PY_TSS_KEY_GLIBC;
	if (row.tstate_current)
		w->tstate_current = c->runtime + row.tstate_current + moved;
	if (row.interp_head)
		w->interp_head = c->runtime + row.interp_head;
}

/*
 * Finds where a walk starts in 3.15+: in _Py_tss_gilstate, a thread-local variable that is set as
 * long as the thread has a state, with or without the GIL.
 */
static void tls_roots(struct image_ctx *c)
{
	struct accessor a = read_accessor(c, SYM_PyGILState_GetThisThreadState);
	struct py_where *w = &c->image->where;

	w->tls_offset = a.offset;
	if (a.kind == ACCESS_TLS) {
		w->tss = PY_TSS_TLS_STATIC;
	} else if (a.kind == ACCESS_TLS_PAIR) {
		w->tss = PY_TSS_TLS_DTV;
		w->tls_got = a.addr;
	} else if (a.kind == ACCESS_TLS_DESC) {
		w->tss = PY_TSS_TLS_WORD;
		w->tls_got = a.addr;
	} else {
		image_unsupported(c->image, "CPython %u.%u whose thread states krait can't find",
				  c->image->layout.version >> 8, c->image->layout.version & 0xff);
	}
}

void image_roots(struct image_ctx *c)
{
	unsigned version = c->image->layout.version;
	const struct py_runtime_row *row =
		py_runtime_table(version, c->image->hex_version >> 8 & 0xff);

	if (!PY_HAS(c->image->layout.can, RUNTIME))
		old_roots(c);
	else if (row)
		runtime_roots(c, row);
	else
		tls_roots(c);
	if (row && row->finalizing)
		c->image->where.finalizing = c->runtime + row->finalizing;
	image_gil(c);
}
