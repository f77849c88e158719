/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as x86-64 code. A decoded instruction must lie within them, and what krait proves
 * about a function must be as src/unwind/x86/x86_flow.h promises. The first two bytes say where the
 * function begins.
 */
#include <stdlib.h>

#include "unwind/x86/x86_flow.h"
#include "python/code/executor.h"

#define BASE   0x1000
#define MOST   (1u << 20)
#define BUDGET 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Checks that bytes after an instruction don't change how it is decoded. */
static void decode(const uint8_t *data, size_t n)
{
	struct x86_insn insn, again;

	for (size_t at = 0; at < n; at++) {
		if (!x86_decode(data + at, n - at, &insn))
			continue;
		check(insn.len && insn.len <= 15 && insn.len <= n - at);
		check(insn.reg <= X86_NO_REG && insn.from < X86_REGS && insn.base <= X86_NO_REG);
		check(x86_decode(data + at, insn.len, &again) && again.len == insn.len &&
		      again.kind == insn.kind && again.writes == insn.writes);
		check(insn.len == 1 || !x86_decode(data + at, insn.len - 1u, &again));
	}
}

struct bytes {
	const uint8_t *data;
	uint32_t n;
};

/* Reads jump tables from the bytes of the code, as if the tables lay among the instructions. */
static size_t read_bytes(void *ctx, int64_t key, void *ret, size_t n)
{
	const struct bytes *b = ctx;

	if (key < BASE || key >= BASE + b->n)
		return 0;
	n = MIN(n, (size_t)(BASE + b->n - key));
	memcpy(ret, b->data + (key - BASE), n);
	return n;
}

static bool starts(void *ctx, uint32_t key)
{
	(void)ctx;
	return key & 1;
}

static void flow(const uint8_t *data, uint32_t n, uint32_t start)
{
	struct bytes bytes = {data, n};
	struct code_region r = {.bytes = data,
				.start = BASE,
				.end = BASE + n,
				.info = calloc(n, sizeof(*r.info)),
				.budget = BUDGET,
				.is_start = starts,
				.read = read_bytes,
				.ctx = &bytes,
				.tail_jumps = start & 2};
	unwind_range_vec ranges = {};
	const char *why = NULL;

	check(r.info && !code_flow(&r, BASE + start, start & 1, &ranges, &why));
	check(!why || !ranges.n);
	for (size_t i = 0; i < ranges.n; i++) {
		const struct unwind_range *range = &ranges.v[i];

		check(range->start >= BASE && range->start < range->end && range->end <= BASE + n);
		check(!i || range[-1].end <= range->start);
		check(range->rule.cfa == UNWIND_REG || range->rule.cfa == UNWIND_DEREF);
		check(range->rule.ra == -1 && range->rule.reg < 16 && !range->rule.slots);
	}
	vec_fini(&ranges);
	free(r.info);
}

/* Reads the bytes as code that CPython's JIT compiler has made. */
static void executors(const uint8_t *data, size_t n)
{
	struct unwind_rows rows;

	check(executor_next(data, n, 0) <= n);
	check(!executor_rows(&(struct code_memory){BASE, n, data}, &rows));
	for (size_t i = 0; i < rows.rows.n; i++)
		check(rows.rows.v[i].key <= n && rows.rows.v[i].rule < rows.rules.n);
	unwind_rows_fini(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 3 || n > MOST)
		return 0;
	n -= 2;
	decode(data + 2, n);
	flow(data + 2, (uint32_t)n, (uint32_t)((data[0] | data[1] << 8) % n));
	executors(data + 2, n);
	return 0;
}
