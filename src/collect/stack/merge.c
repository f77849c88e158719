/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges the three parts of a stack, kernel, native and Python, into one list of frames. From 3.11
 * on, the kernel program has found by addresses which native frame is the evaluation loop of which
 * Python frames (wire_frame.flags). Before 3.11 each evaluation loop has one Python frame, and
 * loops are counted from the thread's start. If a native stack breaks off, all Python frames that
 * weren't merged yet follow its native frames.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collect/stack/merge.h"
#include "python/layout/tables.h"

static void push(struct merge *m, uint32_t location)
{
	m->out->failed |= !location || vec_push(&m->out->loc, location);
}

static void python_until(struct merge *m, size_t end)
{
	m->python(m->arg, m->next, end);
	m->next = end;
}

/*
 * Returns the offset of @addr in its mapping, or in its page if the mapping isn't known. A
 * recording doesn't say where a process has its mappings.
 */
static uint64_t in_mapping(const struct merge *m, uint64_t addr)
{
	const struct space *s = space_at(m->c, m->native->version);
	const struct space_map *map = s ? space_map_at(s, addr) : NULL;

	return map ? addr - map->start : addr & 4095;
}

static struct native_frame name_frame(const struct merge *m, size_t i)
{
	struct native_frame f = {.pc = m->native->pc[m->native->n_kernel + i]};

	f.file = space_find(m->c, m->native->version, m->raw->process, f.pc, &f.vaddr);
	if (f.file) {
		f.is = native_file_is(m->c, f.file, f.vaddr);
		return f;
	}
	made_name(m->c, m->raw, f.pc, m->out->plain, &f.made, &m->out->dated);
	f.is = f.made.machinery ? IS_MACHINERY : 0;
	return f;
}

static int name_frames(struct merge *m)
{
	int r = 0;

	for (size_t i = 0; !r && i < m->native->n; i++)
		r = vec_push(&m->frames, name_frame(m, i));
	return r;
}

static bool is_collector(const struct merge *m, const struct native_frame *f)
{
	uint32_t at = f->file ? native_file_location(m->c, f->file, f->vaddr) : 0;

	return at &&
	       profile_get_mapping(m->c->profile, profile_get_location(m->c->profile, at)->mapping)
			       ->kind == KIND_GC;
}

static void push_native(struct merge *m, const struct native_frame *f)
{
	uint64_t offset;
	uint32_t at;
	bool named;

	if (m->leaf && m->next && !is_collector(m, f))
		return;
	if (f->is & IS_MACHINERY && !m->c->config.interpreter_frames)
		return;
	if (f->made.pythons && !m->c->config.interpreter_frames)
		return;
	if (!f->file) {
		named = f->made.text || f->made.symbol;
		offset = in_mapping(m, named ? f->made.start : f->pc);
		push(m, named ? made_location(m->c, &f->made, offset)
			      : unknown_code_location(m->c, offset));
		return;
	}
	at = native_file_location(m->c, f->file, f->vaddr);
	push(m, at);
	while (at && (at = profile_get_location(m->c->profile, at)->outer))
		push(m, at);
}

/* Adds the Python frames up to @end, in place of @f, the evaluation loop that runs them. */
static void push_loop(struct merge *m, const struct native_frame *f, size_t end)
{
	python_until(m, end);
	if (m->c->config.interpreter_frames)
		push_native(m, f);
}

/*
 * Does the evaluation loop of the outermost Python frames run more Python frames, which the kernel
 * program didn't reach?
 */
static bool is_partial(const struct merge *m)
{
	return m->raw->n && !(m->raw->frames[m->raw->n - 1].flags & FRAME_ENTRY);
}

/* Adds the innermost @n native frames, but Python frames in place of evaluation loops. */
static void push_owned(struct merge *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct native_frame *f = &m->frames.v[i];
		size_t end = owned_until(m, i);

		if (end)
			push_loop(m, f, end);
		else
			push_native(m, f);
	}
}

/*
 * Returns the index of the next evaluation loop further out than native frame @i; m->frames.n:
 * there is none.
 */
static size_t next_loop(const struct merge *m, size_t i)
{
	do
		i++;
	while (i < m->frames.n && !is_eval(m, &m->frames.v[i]));
	return i;
}

/*
 * Returns the index after the outermost evaluation loop that runs Python frames of the stack; 0:
 * there is no such loop.
 */
static size_t behind_owners(const struct merge *m)
{
	size_t behind = 0;

	for (size_t k = 0; k < m->raw->n; k++)
		behind = MAX(behind, m->raw->frames[k].flags >> FRAME_OWNER_SHIFT);
	return behind;
}

static size_t count_evals(const struct merge *m)
{
	size_t n = 0;

	vec_foreach(f, &m->frames)
		n += is_eval(m, f);
	return n;
}

/*
 * Merges by counting: each evaluation loop has one Python frame. But while the innermost loop is
 * entered or left, it has no Python frame, so there is one more loop than there are Python frames.
 * False: the numbers differ in any other way, or the outermost Python frames may be missing.
 */
static bool merge_counted(struct merge *m)
{
	size_t evals = count_evals(m), spare = evals - m->raw->n;

	if (evals < m->raw->n || spare > 1 || (m->raw->n && m->raw->outcome != WALK_OK))
		return false;
	for (size_t i = 0; i < m->frames.n; i++) {
		const struct native_frame *f = &m->frames.v[i];

		if (!is_eval(m, f) || spare)
			push_native(m, f);
		else
			push_loop(m, f, m->next + 1);
		spare -= spare && is_eval(m, f);
	}
	return true;
}

/*
 * Adds those native frames that the innermost Python function called, because only these frames are
 * certain.
 */
static void merge_leaf(struct merge *m)
{
	for (size_t i = 0; i < m->frames.n; i++) {
		const struct native_frame *f = &m->frames.v[i];

		if (m->raw->n && (is_eval(m, f) || owned_until(m, i)))
			return;
		push_native(m, f);
	}
}

/*
 * Merges a stack whose outermost Python frames belong to an evaluation loop that runs more frames,
 * which the kernel program didn't reach. That loop is the next evaluation loop further out among
 * the native frames. The native frames beyond it are left out, because their Python frames aren't
 * known. If that loop isn't known either, a mark (a frame like `[incomplete: ...]`) shows where
 * native frames are missing. This happens while greenlet switches: the chain of Python frames lacks
 * the frames that mark where one loop's frames end, because greenlet has taken them out. So the
 * chain ends as if it were complete.
 */
static void merge_partial(struct merge *m)
{
	size_t behind = behind_owners(m), loop = m->frames.n;

	if (!behind) {
		merge_leaf(m);
		return;
	}
	if (m->raw->outcome != WALK_OK)
		loop = next_loop(m, behind - 1);
	push_owned(m, loop < m->frames.n ? loop : behind);
	if (loop < m->frames.n)
		push_loop(m, &m->frames.v[loop], m->raw->n);
	else if (m->out->native != NATIVE_LEAF)
		m->out->native = NATIVE_CONTRADICTED;
}

static void mark_break(struct merge *m, enum native_outcome outcome)
{
	_cleanup_str_ struct str why = {};

	str_addf(&why, NATIVE_WORDS_OF "%s", native_words[outcome].words);
	push(m, why.failed ? 0 : stack_mark(m->c, MARK_INCOMPLETE, str_cstr(&why)));
}

/*
 * Did unwinding end in a file that had just been mapped, of which krait didn't know the mapping or
 * the unwind rows yet? The summary at the recording's end counts such stacks, so they get no mark
 * (`[incomplete: ...]`).
 */
static bool is_new_file(const struct merge *m)
{
	uint64_t vaddr,
		pc = m->native->n ? m->native->pc[m->native->n_kernel + m->native->n - 1] : 0;

	return m->native->outcome == NATIVE_NO_SPACE || !space_at(m->c, m->native->version) ||
	       space_find(m->c, m->native->version, m->raw->process, pc, &vaddr);
}

static bool is_broken(const struct merge *m, enum native_outcome outcome)
{
	return outcome >= NATIVE_LATE &&
	       (outcome > NATIVE_NO_ROWS || outcome <= NATIVE_TRUNCATED || !is_new_file(m));
}

/*
 * Did the outermost native frame call main()? If so, the stack is complete, even if that frame
 * can't be unwound.
 */
static bool is_at_start(const struct merge *m)
{
	const struct native_frame *f = m->frames.n ? &m->frames.v[m->frames.n - 1] : NULL;

	return f && f->file && native_file_called_main(f->file, f->vaddr);
}

/* Merges native and Python frames. False: native and Python frames contradict each other. */
static bool merge_native(struct merge *m, bool counted, bool whole)
{
	if (counted && whole)
		return !merge_is_switching(m) && merge_counted(m);
	if (counted)
		merge_leaf(m);
	else if ((whole && !merge_is_owned(m)) || merge_is_rewritten(m))
		return false;
	else if (is_partial(m))
		merge_partial(m);
	else
		push_owned(m, m->frames.n);
	return true;
}

/* Tells whether the evaluation loop of the innermost Python frame is among the native frames. */
static bool reaches_python(const struct merge *m)
{
	for (size_t i = 0; m->raw->n && i < m->frames.n; i++)
		if (is_eval(m, &m->frames.v[i]) || owned_until(m, i))
			return true;
	return false;
}

bool merge_ready(struct collect *c, const struct raw_stack *raw)
{
	bool ready = !raw->native || kernel_ready(c, raw->native->pc, raw->native->n_kernel);

	for (size_t i = 0; raw->native && i < raw->native->n; i++) {
		uint64_t vaddr, pc = raw->native->pc[raw->native->n_kernel + i];
		struct native_file *f =
			space_find(c, raw->native->version, raw->process, pc, &vaddr);

		if (!f) {
			ready &= made_ready(c, raw, pc);
			continue;
		}
		if (f->named == NAMES_NONE)
			native_work_names(c, f);
		ready &= f->named == NAMES_TRIED && f->rows != ROWS_ASKED;
	}
	return ready;
}

void merge_stack(struct collect *c, const struct raw_stack *raw, uint16_t version,
		 merge_python_fn *fn, void *arg, struct merged *ret)
{
	struct merge m = {.c = c,
			  .raw = raw,
			  .native = raw->native,
			  .python = fn,
			  .arg = arg,
			  .out = ret,
			  .version = version};
	bool counted = PY_HAS(py_can(version), FRAME_A_LOOP);

	for (size_t i = 0; m.native && i < m.native->n_kernel; i++)
		push(&m, kernel_location(c, m.native->pc[i]));
	if (!m.native) {
		python_until(&m, raw->n);
		return;
	}
	ret->failed |= name_frames(&m);
	ret->native = merge_cut_at_switch(&m)		   ? NATIVE_CONTRADICTED
		      : merge_cut_at_greenlet(&m, counted) ? NATIVE_WHOLE
							   : m.native->outcome;
	if (ret->native == NATIVE_NO_ROWS && !is_new_file(&m))
		/*
		 * The frame lies in code made at run time, and nothing says that unwind rows will
		 * come for it.
		 */
		ret->native = NATIVE_NO_RULE;
	if (!c->config.interpreter_frames)
		merge_find_nameless(&m, counted);
	if (ret->native == NATIVE_NO_RULE && is_at_start(&m))
		ret->native = NATIVE_WHOLE;
	m.leaf = c->config.leaf && ret->native != NATIVE_LEAF && reaches_python(&m);
	if (!merge_native(&m, counted, ret->native == NATIVE_WHOLE)) {
		merge_leaf(&m);
		ret->native = NATIVE_CONTRADICTED;
	}
	/* unwinding stopped early on purpose: all frames that config.leaf wants are there */
	if (m.leaf && ret->native != NATIVE_WHOLE)
		ret->native = NATIVE_LEAF;
	if (is_broken(&m, ret->native))
		mark_break(&m, ret->native);
	python_until(&m, raw->n);
	vec_fini(&m.frames);
}
