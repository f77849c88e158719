/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of CPython 3.14's compiler, which nobody registers: found by its bytes, and held against what came to be executable
 * as registered code is (registered.c).
 */
#include "base/cleanup.h"
#include "collect/internal.h"
#include "python/executor.h"
#include "python/peek.h"

#define COMPILES                                                                                   \
	0x30e /* 3.13's saves no registers as its callers expect; 3.15's registers its code */
#define MOST_BYTES (32u << 20) /* of a process */

#if defined(__x86_64__)
#define IS_UNDERSTOOD true
#else
#define IS_UNDERSTOOD false /* elf/code_rows.h */
#endif

bool executors_possible(const struct process *p)
{
	return IS_UNDERSTOOD && p->version == COMPILES;
}

/* Stretches of @rows' code of which something is known. */
static int note_code(const struct unwind_rows *rows, struct reading *ret)
{
	int r = 0;

	for (size_t i = 0; !r && i + 1 < rows->rows.n; i++) {
		uint64_t start = rows->base + rows->rows.v[i].key;
		uint64_t end = rows->base + rows->rows.v[i + 1].key;

		if (!rows->rows.v[i].rule)
			continue;
		if (ret->executors.n && ret->executors.v[ret->executors.n - 1].end == start)
			ret->executors.v[ret->executors.n - 1].end = end;
		else
			r = vec_push(&ret->executors, (struct executor_code){start, end});
	}
	return r;
}

/* Those in the @n bytes at @start. What can't be read has gone: that is no error. */
static int read_place(pid_t pid, uint64_t start, size_t n, struct reading *ret,
		      unwind_rows_vec *files)
{
	_cleanup_free_ uint8_t *bytes = malloc(n);
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	int r;

	if (!bytes)
		return -ENOMEM;
	if (peek(pid, start, bytes, n))
		return 0;
	r = executor_rows(&(struct code_memory){start, n, bytes}, &rows);
	r = r ? r : note_code(&rows, ret);
	if (r || !rows.rows.n)
		return r;
	r = vec_push(files, rows);
	if (!r)
		rows = (struct unwind_rows){};
	return r;
}

int executors_read(const struct process *p, struct reading *ret, unwind_rows_vec *files)
{
	size_t left = MOST_BYTES;
	int r = 0;

	for (size_t i = 0; !r && executors_possible(p) && i < ret->code.n; i++) {
		const struct unwind_place *at = &ret->code.v[i];

		if (at->end - at->start > left)
			continue;
		left -= at->end - at->start;
		r = read_place((pid_t)p->key.tgid, at->start, at->end - at->start, ret, files);
	}
	return r;
}

bool executors_hold(const struct reading *r, uint64_t pc, uint64_t *start)
{
	size_t i = count_upto(r->executors.v, r->executors.n, end, pc);

	if (i == r->executors.n || r->executors.v[i].start > pc)
		return false;
	*start = r->executors.v[i].start;
	return true;
}
