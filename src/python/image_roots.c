/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a walk starts: the list of interpreters, the current thread state, and how a thread finds
 * its own. 2.7 and 3.6 keep them in variables of pystate.c, 3.7-3.14 in _PyRuntime, 3.15 has the
 * thread's state in a thread-local variable only.
 */
#include "base/error.h"
#include "python/image_internal.h"

/* 2.7, 3.6. */
static int old_roots(struct image_ctx *c)
{
	struct py_where *w = &c->image->where;

	w->tstate_current = c->sym[SYM__PyThreadState_Current].value;
	w->interp_head = c->sym[SYM_interp_head].value;
	if (c->image->layout.version >= 0x0300)
		w->tss_key = c->sym[SYM_autoTLSkey].value;
	w->tss = w->tss_key ? PY_TSS_KEY_GLIBC : PY_TSS_NONE;
	return 0;
}

static int runtime_roots(struct image_ctx *c)
{
	struct py_image *image = c->image;
	const struct py_runtime_row *row = py_runtime_table(image->layout.version,
							    image->hex_version >> 8 & 0xff);
	struct py_where *w = &image->where;

	if (!row) {
		image_unsupported(image, "thread states are found in an unknown way");
		return 0;
	}
	if (row->interp_head)
		w->interp_head = c->runtime + row->interp_head;
	if (row->tstate_current)
		w->tstate_current = c->runtime + row->tstate_current;
	w->tss_key = c->runtime + row->tss_key;
	w->tss = PY_TSS_KEY_GLIBC;
	return 0;
}

int image_roots(struct image_ctx *c)
{
	return c->image->layout.version < 0x0307 ? old_roots(c) : runtime_roots(c);
}
