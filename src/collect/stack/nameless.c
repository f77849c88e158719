/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the interpreter's machinery (its own functions, which are hidden) among native frames that
 * have no name; see merge.h.
 */
#include "collect/stack/merge.h"

/*
 * Called for native frame @i, an evaluation loop. If the frame that called it has no name, counts
 * that frame as machinery (hidden functions of the interpreter).
 */
static void fold_caller(struct merge *m, size_t i)
{
	if (i + 1 < m->frames.n && m->frames.v[i + 1].is & IS_NAMELESS)
		m->frames.v[i + 1].is |= IS_MACHINERY;
}

/*
 * Calls fold_caller() for the loops of all Python frames. Returns the index after the outermost
 * loop; 0: there is no loop.
 */
static size_t fold_callers(struct merge *m, bool counted)
{
	size_t behind = 0;

	for (size_t i = 0; counted && i < m->frames.n; i++) {
		if (!is_eval(m, &m->frames.v[i]))
			continue;
		fold_caller(m, i);
		behind = i + 1;
	}
	for (size_t k = 0; !counted && k < m->raw->n; k++) {
		size_t owner = m->raw->frames[k].flags >> FRAME_OWNER_SHIFT;

		if (!owner || !(m->raw->frames[k].flags & FRAME_ENTRY))
			continue;
		fold_caller(m, owner - 1);
		behind = MAX(behind, owner);
	}
	return behind;
}

static bool is_c_library(const struct native_frame *f)
{
	const char *name = f->file ? strrchr(f->file->path, '/') : NULL;

	return name && (str_starts(name, "/libc.so") || str_starts(name, "/libc-2.") ||
			str_starts(name, "/ld-musl-"));
}

static bool is_interpreters(const struct native_frame *f)
{
	return f->file && f->file->interpreter;
}

void merge_find_nameless(struct merge *m, bool counted)
{
	size_t behind = fold_callers(m, counted), i = behind;

	while (behind && i < m->frames.n && is_interpreters(&m->frames.v[i]))
		i++;
	if (!behind || i >= m->frames.n || !is_c_library(&m->frames.v[i]))
		return;
	while (i-- > behind)
		if (m->frames.v[i].is & IS_NAMELESS)
			m->frames.v[i].is |= IS_MACHINERY;
}
