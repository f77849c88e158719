/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of CPython 3.14's compiler, which nobody registers: found by its bytes, and held against what came to be executable
 * as registered code is (registered.c). While a program warms up a piece comes every few milliseconds: those that were
 * there are understood once.
 */
#include "base/cleanup.h"
#include "check.h" /* abi */
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

static void executors_fini(executor_vec *v)
{
	vec_foreach(e, v)
		unwind_rows_fini(&e->rows);
	vec_fini(v);
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
		if (ret->compiled.n && ret->compiled.v[ret->compiled.n - 1].end == start)
			ret->compiled.v[ret->compiled.n - 1].end = end;
		else
			r = vec_push(&ret->compiled, (struct compiled_code){start, end});
	}
	return r;
}

/* Understands the one at @code, or takes what is known of it from @before, those of the last reading. */
static int add_executor(const struct code_memory *code, executor_vec *before, executor_vec *ret)
{
	struct executor now = {.start = code->vaddr,
			       .bytes = code->n,
			       .check = check_bytes(0, code->bytes, (uint32_t)code->n)};
	size_t i = count_upto(before->v, before->n, start, code->vaddr);
	struct executor *was = i ? &before->v[i - 1] : NULL;
	int r = 0;

	if (was && was->start == now.start && was->bytes == now.bytes && was->check == now.check) {
		now.rows = was->rows;
		was->rows = (struct unwind_rows){};
	} else {
		r = executor_rows(code, &now.rows);
	}
	r = r ? r : vec_push(ret, now);
	if (r)
		unwind_rows_fini(&now.rows);
	return r;
}

/* Those in the @n bytes at @start. What can't be read has gone: that is no error. */
static int read_place(pid_t pid, uint64_t start, size_t n, executor_vec *before, executor_vec *ret)
{
	_cleanup_free_ uint8_t *bytes = malloc(n);
	size_t next, at;
	int r = bytes ? 0 : -ENOMEM;

	if (r || peek(pid, start, bytes, n))
		return r;
	for (at = executor_next(bytes, n, 0); !r && at < n; at = next) {
		next = executor_next(bytes, n, at + EXECUTOR_PAGE);
		r = add_executor(&(struct code_memory){start + at, next - at, bytes + at}, before,
				 ret);
	}
	return r;
}

static int read_places(struct process *p, const struct reading *ret, executor_vec *now)
{
	size_t left = MOST_BYTES;
	int r = 0;

	for (size_t i = 0; !r && i < ret->code.n; i++) {
		const struct unwind_place *at = &ret->code.v[i];
		size_t n = at->end - at->start;

		if (n > left)
			continue;
		left -= n;
		r = read_place((pid_t)p->key.tgid, at->start, n, &p->registered.executors, now);
	}
	return r;
}

int executors_read(struct process *p, struct reading *ret, unwind_rows_vec *files)
{
	executor_vec now = {};
	int r = executors_possible(p) ? read_places(p, ret, &now) : 0;

	executors_fini(&p->registered.executors);
	p->registered.executors = now;
	vec_foreach(e, &now) {
		r = r ? r : note_code(&e->rows, ret);
		r = r ? r : vec_push(files, e->rows);
	}
	return r;
}

bool executors_hold(const struct reading *r, uint64_t pc, uint64_t *start)
{
	size_t i = count_upto(r->compiled.v, r->compiled.n, end, pc);

	if (i == r->compiled.n || r->compiled.v[i].start > pc)
		return false;
	*start = r->compiled.v[i].start;
	return true;
}

void executors_close(struct process *p)
{
	executors_fini(&p->registered.executors);
}
