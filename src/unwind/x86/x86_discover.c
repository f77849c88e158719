/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the instructions of a function; see x86_discover.h. */
#include "unwind/x86/x86_discover.h"

#include "unwind/x86/x86_table.h"

/*
 * The most blocks of a function; each takes 600 bytes. libtorch_cpu.so has a function with 2,800.
 */
#define BLOCKS_MAX (1u << 15)

static bool is_inside(const struct flow *f, uint32_t key)
{
	return key >= f->r->start && key < f->r->end;
}

bool code_flow_seen(const struct code_region *r, uint32_t key)
{
	return r->info[key - r->start] & SEEN;
}

uint32_t code_flow_seen_end(const struct code_region *r, uint32_t key)
{
	while (key < r->end && code_flow_seen(r, key))
		key += r->info[key - r->start] & LEN;
	return MIN(key, r->end);
}

uint32_t code_flow_next_seen(const struct code_region *r, uint32_t key)
{
	while (key < r->end && !code_flow_seen(r, key))
		key++;
	return key;
}

uint32_t code_flow_padding_end(const struct code_region *r, uint32_t key)
{
	struct x86_insn insn;

	while (key < r->end && !(r->info[key - r->start] & CODE_START) &&
	       x86_decode(r->bytes + (key - r->start), r->end - key, &insn) && !insn.writes &&
	       !insn.stores && (insn.kind == X86_PLAIN || insn.kind == X86_TRAP))
		key += insn.len;
	return key;
}

uint32_t flow_target(struct flow *f, uint32_t next, const struct x86_insn *insn)
{
	uint32_t to = next + (uint32_t)insn->imm;

	if (is_inside(f, to) && (to == f->start || !(*flow_info(f, to) & CODE_START)))
		return to;
	if (!is_inside(f, to) && !f->r->is_start(f->r->ctx, to))
		f->why = "a jump into the middle of another function";
	return NOWHERE;
}

/*
 * Does a function begin within the @len bytes at offset @key? If so, these bytes aren't an
 * instruction.
 */
static bool is_cut(const struct code_region *r, uint32_t key, uint8_t len)
{
	for (uint32_t i = 1; i < len; i++)
		if (r->info[key + i - r->start] & CODE_START)
			return true;
	return false;
}

/*
 * Does the call @insn, which ends at @next, return? It doesn't if only padding comes between the
 * call and another function: compilers put a call that never returns (of abort(), or by a stack
 * protector) at a function's end.
 */
static bool comes_back(const struct flow *f, uint32_t next, const struct x86_insn *insn)
{
	const struct code_region *r = f->r;
	struct x86_insn behind;
	uint32_t end;

	if (insn->kind == X86_CALL && r->never_returns &&
	    r->never_returns(r->ctx, next + (uint32_t)insn->imm))
		return false;
	end = code_flow_padding_end(r, next);
	if (end >= r->end || *flow_info(f, end) & CODE_START)
		return false;
	return !x86_decode(r->bytes + (end - r->start), r->end - end, &behind) ||
	       !is_cut(r, end, behind.len);
}

bool flow_goes_on(const struct flow *f, uint32_t next, const struct x86_insn *insn)
{
	switch (insn->kind) {
	case X86_JUMP:
	case X86_RET:
	case X86_TRAP:
	case X86_JUMP_GOT:
	case X86_JUMP_ANY:
		return false;
	case X86_CALL:
	case X86_CALL_ANY:
		return comes_back(f, next, insn);
	default:
		return true;
	}
}

static int add_leader(struct flow *f, uint32_t key)
{
	if (key == NOWHERE)
		return 0;
	if (!(*flow_info(f, key) & LEADER) && f->leaders++ == BLOCKS_MAX)
		f->why = "too many jumps";
	*flow_info(f, key) |= LEADER;
	return *flow_info(f, key) & VISITED ? 0 : vec_push(&f->todo, key);
}

/*
 * Notes the instruction at offset @key as part of the function. False: the instruction can't be
 * decoded.
 */
static bool visit(struct flow *f, uint32_t key, struct x86_insn *insn)
{
	uint16_t *at = flow_info(f, key);

	if (!flow_decode(f, key, insn) || is_cut(f->r, key, insn->len)) {
		f->why = "an instruction that isn't known";
		return false;
	}
	*at = (*at & ~LEN) | insn->len | VISITED | SEEN;
	if (insn->kind != X86_PLAIN || insn->writes || insn->stores)
		*at |= TOUCHES;
	return true;
}

/* Returns the offset where the next function begins, or where the region ends. */
static uint32_t function_end(const struct flow *f)
{
	struct code_region *r = f->r;

	if (f->start >= r->bare && f->start < r->bare_end)
		return r->bare_end;
	r->bare = f->start;
	r->bare_end = f->start + 1;
	while (r->bare_end < r->end && !(*flow_info(f, r->bare_end) & CODE_START))
		r->bare_end++;
	return r->bare_end;
}

/*
 * Adds the targets of a jump table. If the table's size isn't known, the first entry that leads out
 * of the function counts as the beginning of another table.
 */
static int add_targets(struct flow *f, const struct code_table *table, struct code_switch *sw)
{
	int32_t entry[CODE_TABLE_MOST];
	uint32_t n = table->bound ? MIN(table->bound, CODE_TABLE_MOST) : CODE_TABLE_MOST;
	uint32_t end = function_end(f);
	int r = 0;

	n = (uint32_t)(f->r->read(f->r->ctx, table->at, entry, n * sizeof(*entry)) /
		       sizeof(*entry));
	for (uint32_t i = 0; !r && i < n && flow_spend(f); i++) {
		int64_t to = table->at + entry[i];

		if (to < f->start || to >= end) {
			if (table->bound)
				f->why = "a jump into the middle of another function";
			break;
		}
		r = vec_push(&f->targets, (uint32_t)to);
		r = r ? r : add_leader(f, (uint32_t)to);
		sw->n += !r;
	}
	return r;
}

/*
 * Does the indirect jump at @jump lead to another function? It does if this function's frame was
 * taken down before the jump.
 */
static bool is_tail_jump(const struct flow *f, const struct code_run *run, uint32_t jump)
{
	const uint8_t *at = &f->r->bytes[jump - f->r->start], *bytes;
	struct code_table table;

	if (!f->r->tail_jumps)
		return false;
	at += *at == 0x3e;	    /* skips the prefix notrack, if there is one */
	at += (*at & 0xf0) == 0x40; /* REX */
	/* the jump must be jmp *%reg, not a jump through memory */
	if (at[0] != 0xff || (at[1] & 0xf8) != 0xe0)
		return false;
	bytes = f->r->bytes + (run->start - f->r->start);
	return !code_table_find(bytes, jump - run->start, f->r->end - run->start, run->start,
				&table);
}

/* Adds the targets of the indirect jump at @jump, if the jump goes through a table. */
static int follow_table(struct flow *f, const struct code_run *run, uint32_t jump)
{
	const uint8_t *bytes = f->r->bytes + (run->start - f->r->start);
	struct code_switch sw = {.jump = jump, .first = (uint32_t)f->targets.n};
	struct code_table table;
	int r;

	if (is_tail_jump(f, run, jump))
		return 0;
	if (!f->r->read || !code_table_find(bytes, jump - run->start, f->r->end - run->start,
					    run->start, &table)) {
		f->why = "an indirect jump whose targets aren't known";
		return 0;
	}
	sw.since = table.since;
	r = add_targets(f, &table, &sw);
	if (!r && !f->why && !sw.n)
		f->why = "an indirect jump whose targets aren't known";
	return r || f->why ? r : vec_push(&f->switches, sw);
}

/*
 * Follows @insn, the last instruction of @run. Sets *@on if the instruction after @insn may be
 * executed next.
 */
static int follow(struct flow *f, const struct code_run *run, const struct x86_insn *insn, bool *on)
{
	uint32_t next = run->end;
	int r = 0;

	*on = flow_goes_on(f, next, insn);
	if (insn->kind == X86_JUMP_ANY)
		r = follow_table(f, run, next - insn->len);
	else if (insn->kind == X86_JUMP || insn->kind == X86_BRANCH)
		r = add_leader(f, flow_target(f, next, insn));
	else if ((insn->kind == X86_CALL || insn->kind == X86_CALL_ANY) && f->guess)
		f->why = "the function makes calls, and its start isn't certain";
	if (*on && !f->why && (next >= f->r->end || (*flow_info(f, next) & CODE_START)))
		f->why = "control flow runs into the next function";
	return r || f->why || insn->kind != X86_BRANCH ? r : add_leader(f, next);
}

/*
 * Follows the code from offset @key to the next unconditional jump, or to code that was visited
 * already.
 */
static int run(struct flow *f, uint32_t key)
{
	struct code_run run = {key, key};
	struct x86_insn insn;
	bool on = true;
	int r = 0;

	while (!r && on && !f->why && !(*flow_info(f, run.end) & VISITED)) {
		if (!flow_spend(f) || !visit(f, run.end, &insn))
			break;
		run.end += insn.len;
		r = follow(f, &run, &insn, &on);
	}
	return r || run.end == run.start ? r : vec_push(&f->runs, run);
}

static int by_start(const void *a, const void *b)
{
	const struct code_run *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int by_jump(const void *a, const void *b)
{
	const struct code_switch *x = a, *y = b;

	return (x->jump > y->jump) - (x->jump < y->jump);
}

int flow_discover(struct flow *f)
{
	int r = add_leader(f, f->start);

	while (!r && !f->why && f->todo.n)
		r = run(f, f->todo.v[--f->todo.n]);
	/* if the analysis of the function was given up, .todo still has offsets */
	vec_foreach(key, &f->todo)
		*flow_info(f, *key) &= ~LEADER;
	if (r || f->why)
		return r;
	qsort(f->runs.v, f->runs.n, sizeof(*f->runs.v), by_start);
	for (size_t i = 1; i < f->runs.n; i++)
		if (f->runs.v[i].start < f->runs.v[i - 1].end)
			f->why = "a jump into the middle of an instruction";
	if (f->switches.n)
		qsort(f->switches.v, f->switches.n, sizeof(*f->switches.v), by_jump);
	vec_foreach(sw, &f->switches)
		for (uint32_t key = sw->since + 1; key <= sw->jump; key++)
			if (*flow_info(f, key) & LEADER)
				f->why = "an indirect jump whose targets aren't known";
	return 0;
}
