/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of CPython 3.14's JIT compiler, which tells nobody what code it has made. krait finds the
 * code by its bytes. A name that krait finds is valid only for some samples, by the rules for names
 * of registered code (registered.c). While a program warms up, a new executor (a piece of such
 * code) comes every few milliseconds; only new executors are analysed.
 */
#include "base/cleanup.h"
#include "check.h" /* check.h of abi/ */
#include "collect/madecode/made.h"
#include "python/code/executor.h"
#include "python/heap/peek.h"

/* the most bytes of a process's code that are searched for executors */
#define MOST_BYTES (32u << 20)
/* the most new bytes of code that are analysed at one time, which takes some 100 ms */
#define MOST_NEW (4u << 20)
/*
 * the most bytes that an executor (a piece of JIT code) may have; the longest executor seen had 12
 * KiB
 */
#define LONGEST (256u << 10)
/*
 * the beginning of the names that CPython 3.15 gives to executors; krait doesn't know the rest of
 * an executor's name
 */
#define NAME "py::jit"
/* the most unwind rules of one executor (piece of JIT code); the most that were seen were 18 */
#define MOST_RULES 64

bool executors_possible(const struct collect *c, const struct process *p)
{
	return CODE_ROWS_OF_THIS_MACHINE && several_has(c, p, PY_CAN_HIDDEN_EXECUTORS);
}

static void executors_fini(executor_vec *v)
{
	vec_foreach(e, v)
		unwind_rows_fini(&e->rows);
	vec_fini(v);
}

/* Adds to @ret->compiled the ranges of code for which @rows have rules. */
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

struct search {
	pid_t pid;
	/*
	 * .before: the executors that were found when the code was last read; .now: those that are
	 * found in the present reading
	 */
	executor_vec *before, *now;
	/*
	 * .left: how many bytes may still be searched; .fresh: how many bytes of new executors may
	 * still be analysed
	 */
	size_t left, fresh;
	/* some new executors weren't analysed, because they have more bytes than .fresh */
	bool partial;
};

/*
 * Makes the unwind rows of a new executor. If these have more rules than rows of CPython's compiler
 * ever have, the executor gets no rows, because the kernel's maps have room for few rules.
 */
static int understand(struct search *s, const struct code_memory *code, struct executor *ret)
{
	int r;

	if (code->n > s->fresh || !slice_spend(code->n * WORK_CODE)) {
		s->partial = true;
		/*
		 * this piece of code (executor) isn't analysed now, but when the code is read next
		 */
		ret->bytes = 0;
		return 0;
	}
	s->fresh -= code->n;
	r = executor_rows(code, &ret->rows);
	if (ret->rows.rules.n > MOST_RULES) {
		unwind_rows_fini(&ret->rows);
		ret->rows = (struct unwind_rows){};
	}
	return r;
}

/*
 * Adds the executor (piece of JIT code) at @code. If it was found when the code was last read, its
 * unwind rows are taken over.
 */
static int add_executor(struct search *s, const struct code_memory *code)
{
	struct executor now = {.start = code->vaddr,
			       .bytes = code->n,
			       .check = check_bytes(0, code->bytes, code->n)};
	size_t i = count_upto(s->before->v, s->before->n, start, code->vaddr);
	struct executor *was = i ? &s->before->v[i - 1] : NULL;
	int r = 0;

	if (was && was->start == now.start && was->bytes == now.bytes && was->check == now.check) {
		now.rows = was->rows;
		was->rows = (struct unwind_rows){};
	} else {
		r = understand(s, code, &now);
	}
	if (!r && now.bytes)
		r = vec_push(s->now, now);
	if (r)
		unwind_rows_fini(&now.rows);
	return r;
}

/*
 * Reads code of a process. Pages that can't be read were unmapped since the mappings were read;
 * they become zeros, and no code of the JIT compiler begins with zeros.
 */
static void read_code(pid_t pid, uint64_t start, uint8_t *bytes, size_t n)
{
	if (!peek(pid, start, bytes, n))
		return;
	for (size_t at = 0; at < n; at += EXECUTOR_PAGE)
		if (peek(pid, start + at, bytes + at, EXECUTOR_PAGE))
			memset(bytes + at, 0, EXECUTOR_PAGE);
}

static int search_place(struct search *s, uint64_t start, size_t n)
{
	_cleanup_free_ uint8_t *bytes = malloc(n);
	size_t next, at;
	int r = bytes ? 0 : -ENOMEM;

	if (r)
		return r;
	read_code(s->pid, start, bytes, n);
	for (at = executor_next(bytes, n, 0); !r && at < n; at = next) {
		next = executor_next(bytes, n, at + EXECUTOR_PAGE);
		r = add_executor(s,
				 &(struct code_memory){start + at, MIN(next - at, (size_t)LONGEST),
						       bytes + at});
	}
	return r;
}

static int search_places(struct process *p, struct reading *ret, executor_vec *now)
{
	struct search s = {.pid = (pid_t)p->key.tgid,
			   .before = &p->made->registered.executors,
			   .now = now,
			   .left = MOST_BYTES,
			   .fresh = MOST_NEW};
	int r = 0;

	for (size_t i = 0; !r && s.left && i < ret->code.n; i++) {
		const struct unwind_place *at = &ret->code.v[i];
		size_t n = MIN(at->end - at->start, s.left);

		s.left -= n;
		r = search_place(&s, at->start, n);
	}
	ret->partial = s.partial;
	return r;
}

int executors_read(struct collect *c, struct process *p, struct reading *ret,
		   unwind_rows_vec *files)
{
	executor_vec now = {};
	int r = executors_possible(c, p) ? search_places(p, ret, &now) : 0;

	executors_fini(&p->made->registered.executors);
	p->made->registered.executors = now;
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
	executors_fini(&p->made->registered.executors);
}

/*
 * Names the code at @pc. Executors are found whenever krait reads the code that the process
 * registered for gdb, so their names hold for the same samples as the names of that code.
 */
static bool name(struct collect *c, const struct raw_stack *raw, uint64_t pc, struct made_name *ret)
{
	const struct reading *r = reading_of_stack(c, raw, pc);

	ret->symbol = r && executors_hold(r, pc, &ret->start) ? NAME : NULL;
	return ret->symbol;
}

const struct code_source executors_source = {.name = name, .dated = true};
