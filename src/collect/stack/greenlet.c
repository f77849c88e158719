/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of programs that use greenlet: which native frames belong to the Python frames. */
#include "collect/stack/merge.h"

bool merge_is_owned(const struct merge *m)
{
	const struct raw_stack *raw = m->raw;
	size_t loops = 0;

	for (size_t i = 0; i < raw->n; i++) {
		if (!(raw->frames[i].flags & FRAME_ENTRY))
			continue;
		if (!(raw->frames[i].flags >> FRAME_OWNER_SHIFT))
			return false;
		loops++;
	}
	return loops || !raw->n;
}

bool merge_is_rewritten(const struct merge *m)
{
	for (size_t i = 0; i < m->frames.n && !owned_until(m, i); i++) {
		if (m->frames.v[i].is & IS_GREENLET_EXPOSING)
			return true;
	}
	return false;
}

bool merge_is_switching(const struct merge *m)
{
	for (size_t i = 0; i < m->frames.n && !is_eval(m, &m->frames.v[i]); i++) {
		if (m->frames.v[i].is & IS_GREENLET_SWITCH)
			return true;
	}
	return false;
}

bool merge_cut_at_switch(struct merge *m)
{
	size_t i = 0;

	while (i < m->frames.n && !(m->frames.v[i].is & IS_GREENLET_SWITCH))
		if (is_eval(m, &m->frames.v[i++]))
			return false;
	while (i < m->frames.n && m->frames.v[i].is & IS_GREENLET_SWITCH)
		i++;
	if (!i || i == m->frames.n || m->frames.v[i].file == m->frames.v[i - 1].file)
		return false;
	m->frames.n = i;
	return true;
}

/*
 * Counts native frames from the innermost one to the evaluation loop of the outermost Python frame.
 * Returns their number; 0: the loop of some Python frame is missing.
 */
static size_t frames_of_loops(const struct merge *m, bool counted)
{
	const struct raw_stack *raw = m->raw;
	size_t loops = 0;

	if (!raw->n)
		return 0;
	if (!counted)
		return merge_is_owned(m) ? raw->frames[raw->n - 1].flags >> FRAME_OWNER_SHIFT : 0;
	for (size_t i = 0; i < m->frames.n; i++) {
		loops += is_eval(m, &m->frames.v[i]);
		if (loops == raw->n)
			return i + 1;
	}
	return 0;
}

bool merge_cut_at_greenlet(struct merge *m, bool counted)
{
	size_t n = frames_of_loops(m, counted), spare = 0;

	if (!n && (m->raw->n || merge_is_switching(m)))
		return false;
	for (size_t i = n; spare < 2 && i < m->frames.n; i++) {
		const struct native_frame *f = &m->frames.v[i];

		spare += counted && is_eval(m, f);
		if (!(f->is & IS_GREENLET_START))
			continue;
		m->frames.n = i + 1;
		return true;
	}
	return false;
}
