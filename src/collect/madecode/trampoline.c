/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPython's trampolines for perf (-X perf, 3.12+). Each Python function gets a copy of one small
 * stub, which calls the evaluation loop. In 3.12 and 3.13 the stub has no frame pointer and no
 * unwind information. Copies fill blocks of 64 KiB (Python/perf_trampoline.c, new_code_arena()). A
 * block is accepted if the effect of every instruction of its stub is known.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "collect/madecode/made.h"
#include "python/heap/peek.h"

#define STUB_MAX   64
#define PERIOD_MAX 512 /* the most bytes from one trampoline to the next */

/* the most bytes of a mapping with trampolines, enough for those of a million functions */
#define BLOCKS_MAX (16u << 20)

struct trampoline {
	uint8_t bytes[64], n;
	uint16_t period;
	uint32_t table;
};

struct trampolines {
	VEC(struct trampoline) list;
};

static bool init(struct collect *c)
{
	return (c->made->trampolines = calloc(1, sizeof(struct trampolines)));
}

static void fini(struct collect *c)
{
	if (c->made->trampolines)
		vec_fini(&c->made->trampolines->list);
	free(c->made->trampolines);
}

enum { RULE_NONE, RULE_ENTERED, RULE_CALLING, RULE_PUSHED };

static const struct unwind_rule rules[] = {
	[RULE_ENTERED] = {.cfa = UNWIND_REG,
			  .reg = 7,
			  .off = 8,
			  .ra = -1,
			  .fp = UNWIND_SAME,
			  .bx = UNWIND_SAME},
	[RULE_CALLING] = {.cfa = UNWIND_REG,
			  .reg = 7,
			  .off = 16,
			  .ra = -1,
			  .fp = UNWIND_SAME,
			  .bx = UNWIND_SAME},
	[RULE_PUSHED] =
		{.cfa = UNWIND_REG, .reg = 7, .off = 16, .ra = -1, .fp = -2, .bx = UNWIND_SAME},
};

/*
 * The x86-64 instructions of Python/asm_trampoline.S in 3.12 to 3.15. .from: the unwind rule that
 * holds before the instruction; .to: the rule that holds after it.
 */
static const struct {
	uint8_t n, bytes[4], from, to;
} instructions[] = {
	{4, {0xf3, 0x0f, 0x1e, 0xfa}, RULE_ENTERED, RULE_ENTERED}, /* endbr64 */
	{4, {0x48, 0x83, 0xec, 0x08}, RULE_ENTERED, RULE_CALLING}, /* sub $8, %rsp */
	{1, {0x55}, RULE_ENTERED, RULE_PUSHED},			   /* push %rbp */
	{3, {0x48, 0x89, 0xe5}, RULE_PUSHED, RULE_PUSHED},	   /* mov %rsp, %rbp */
	{2, {0xff, 0xd1}, RULE_CALLING, RULE_CALLING},		   /* call *%rcx */
	{2, {0xff, 0xd1}, RULE_PUSHED, RULE_PUSHED},
	{4, {0x48, 0x83, 0xc4, 0x08}, RULE_CALLING, RULE_ENTERED}, /* add $8, %rsp */
	{1, {0x5d}, RULE_PUSHED, RULE_ENTERED},			   /* pop %rbp */
	{1, {0xc3}, RULE_ENTERED, RULE_NONE},			   /* ret */
};

struct stub {
	const uint8_t *bytes;
	size_t n, period;
	uint8_t rule[STUB_MAX]; /* the unwind rule that holds at each byte of the stub */
};

/*
 * Returns the index in instructions[] of the instruction at @at, if unwind rule @rule holds before
 * it; -1: the instruction isn't known.
 */
static int find_instruction(const uint8_t *at, uint8_t rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(instructions); i++)
		if (instructions[i].from == rule &&
		    !memcmp(at, instructions[i].bytes, instructions[i].n))
			return (int)i;
	return -1;
}

/*
 * Reads the stub (a trampoline's code) at the beginning of @block. False: some instruction isn't
 * known.
 */
static bool read_stub(const uint8_t *block, struct stub *s)
{
	uint8_t rule = RULE_ENTERED;

	*s = (struct stub){.bytes = block};
	while (rule != RULE_NONE) {
		int i = s->n + 4 <= STUB_MAX ? find_instruction(block + s->n, rule) : -1;

		if (i < 0)
			return false;
		memset(s->rule + s->n, rule, instructions[i].n);
		s->n += instructions[i].n;
		rule = instructions[i].to;
	}
	return true;
}

/*
 * Is the block filled with copies of the stub, a copy every s->period bytes? The block may end with
 * fewer bytes than a copy has.
 */
static bool is_filled(struct stub *s)
{
	for (s->period = s->n; s->period <= PERIOD_MAX; s->period++)
		if (!memcmp(s->bytes + s->period, s->bytes, s->n))
			break;
	if (s->period > PERIOD_MAX)
		return false;
	for (size_t at = 0; at + s->period <= TRAMPOLINE_BYTES; at += s->period)
		if (memcmp(s->bytes + at, s->bytes, s->n))
			return false;
	return true;
}

static int add_row(struct unwind_rows *rows, size_t key, uint32_t rule)
{
	size_t n = rows->rows.n;

	if (n && rows->rows.v[n - 1].rule == rule)
		return 0;
	return vec_push(&rows->rows, (struct unwind_row){(uint32_t)key, rule});
}

static int make_rows(const struct stub *s, struct unwind_rows *rows)
{
	int r = vec_push(&rows->rules, (struct unwind_rule){});

	for (size_t i = RULE_ENTERED; !r && i < ARRAY_SIZE(rules); i++)
		r = vec_push(&rows->rules, rules[i]);
	for (size_t at = 0; !r && at + s->period <= TRAMPOLINE_BYTES; at += s->period) {
		for (size_t i = 0; !r && i < s->n; i++)
			r = add_row(rows, at + i, s->rule[i]);
		if (!r && s->period > s->n)
			r = add_row(rows, at + s->n, RULE_NONE);
	}
	return r ? r : add_row(rows, TRAMPOLINE_BYTES - TRAMPOLINE_BYTES % s->period, RULE_NONE);
}

/*
 * Returns the unwind table for blocks of this stub, which is made once for all processes; 0: it
 * can't be made.
 */
static uint32_t table_of(struct collect *c, const struct stub *s)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	struct trampoline t = {.n = (uint8_t)s->n, .period = (uint16_t)s->period};

	memcpy(t.bytes, s->bytes, s->n);
	vec_foreach(known, &c->made->trampolines->list)
		if (known->n == t.n && known->period == t.period &&
		    !memcmp(known->bytes, t.bytes, t.n))
			return known->table;
	if (c->config.unwind->new_table(c->config.ctx, &t.table))
		return 0;
	if (make_rows(s, &rows) || c->config.unwind->fill(c->config.ctx, t.table, &rows, NULL, 0) ||
	    vec_push(&c->made->trampolines->list, t)) {
		log_info("no unwind tables for perf trampolines: %s", err_msg());
		return 0;
	}
	return t.table;
}

static bool is_block(const struct collect *c, uint32_t version, uint64_t pc)
{
	const struct space *s = space_at(c, version);
	const struct space_map *m = s ? space_map_at(s, pc) : NULL;

	if (!m || !m->table)
		return false;
	vec_foreach(t, &c->made->trampolines->list)
		if (t->table == m->table)
			return true;
	return false;
}

static void given_up(struct collect *c, uint32_t table)
{
	for (size_t i = 0; i < c->made->trampolines->list.n; i++)
		if (c->made->trampolines->list.v[i].table == table)
			c->made->trampolines->list.v[i--] =
				c->made->trampolines->list.v[--c->made->trampolines->list.n];
}

/* Returns the table of unwind rows for the block at @start; 0: the block has no trampolines. */
static uint32_t table_at(struct collect *c, const struct process *p, uint64_t start)
{
	_cleanup_free_ uint8_t *block = malloc(TRAMPOLINE_BYTES);
	struct stub s;

	if (!block || !several_has(c, p, PY_CAN_TRAMPOLINES) ||
	    peek((pid_t)p->key.tgid, start, block, TRAMPOLINE_BYTES))
		return 0;
	return read_stub(block, &s) && is_filled(&s) ? table_of(c, &s) : 0;
}

/*
 * Returns the end of the part of mapping @m that begins at @at and has one unwind table. Blocks of
 * trampolines may lie next to each other, so such a part is one block long. Only a process with a
 * perf map has trampolines.
 */
static uint64_t until(const struct process *p, const struct mapping *m, uint64_t at)
{
	return p->made->jit.map && m->end - m->start <= BLOCKS_MAX ? at + TRAMPOLINE_BYTES : m->end;
}

static void table(struct collect *c, struct process *p, const struct mapping *m,
		  struct space_map *part)
{
	if (part->end - part->start == TRAMPOLINE_BYTES && m->prot == (PROT_READ | PROT_EXEC))
		part->table = table_at(c, p, part->start);
}

/*
 * Trampolines count as machinery (functions that are hidden). No stack waits for their names:
 * CPython writes a jitdump through a buffer, so the names may come only when the process ends.
 */
static bool name(struct collect *c, const struct raw_stack *raw, uint64_t pc, struct made_name *ret)
{
	ret->machinery = is_block(c, raw->native->version, pc);
	return ret->machinery;
}

const struct code_source trampoline_source = {.init = init,
					      .fini = fini,
					      .until = until,
					      .table = table,
					      .name = name,
					      .given_up = given_up};
