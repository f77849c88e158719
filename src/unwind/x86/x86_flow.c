/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows a function's instructions; see x86_flow.h. There are three passes. The first finds all
 * instructions, in runs without gaps (x86_discover.c). The second computes what is known at the
 * start of each block, until nothing changes any more. The third finds the blocks from which the
 * function's end is reached.
 */
#include "unwind/x86/x86_flow.h"

#include "unwind/x86/x86_discover.h"

/*
 * How often spread_exits() goes through the blocks at most. If code reaches the end only by a
 * longer chain of backward jumps, its rules aren't proven.
 */
#define PASSES 64

static int add_blocks(struct flow *f, const struct code_run *run)
{
	for (uint32_t key = run->start, next; key < run->end; key = next) {
		struct code_block *b = f->blocks.n ? &f->blocks.v[f->blocks.n - 1] : NULL;
		int r = 0;

		next = key + (*flow_info(f, key) & LEN);
		if (key == run->start || *flow_info(f, key) & LEADER)
			r = vec_push(&f->blocks,
				     (struct code_block){.start = key, .next = {NOWHERE, NOWHERE}});
		if (r)
			return r;
		b = &f->blocks.v[f->blocks.n - 1];
		b->last = key;
		b->end = next;
	}
	return 0;
}

static uint32_t block_at(const struct flow *f, uint32_t key)
{
	size_t n = count_upto(f->blocks.v, f->blocks.n, start, key);

	return n && f->blocks.v[n - 1].start == key ? (uint32_t)(n - 1) : NOWHERE;
}

static void connect_switch(const struct flow *f, struct code_block *b)
{
	size_t n = count_upto(f->switches.v, f->switches.n, jump, b->last);

	if (!n || f->switches.v[n - 1].jump != b->last)
		return;
	b->first = f->switches.v[n - 1].first;
	b->n = f->switches.v[n - 1].n;
}

/* Sets .next of @b: which blocks come after it. */
static void connect(struct flow *f, struct code_block *b)
{
	struct x86_insn insn;
	uint32_t to = NOWHERE;

	if (!flow_decode(f, b->last, &insn))
		return;
	if (insn.kind == X86_JUMP || insn.kind == X86_BRANCH) {
		to = flow_target(f, b->end, &insn);
		b->exits = to == NOWHERE;
	}
	b->exits |= insn.kind == X86_RET || insn.kind == X86_JUMP_GOT ||
		    (insn.kind == X86_JUMP_ANY && f->r->tail_jumps);
	b->next[0] = flow_goes_on(f, b->end, &insn) ? block_at(f, b->end) : NOWHERE;
	b->next[1] = to == NOWHERE ? NOWHERE : block_at(f, to);
	connect_switch(f, b);
}

/* Returns the @i-th of the 2 + .n blocks that may come after @b, or NOWHERE. */
static uint32_t successor(const struct flow *f, const struct code_block *b, uint32_t i)
{
	return i < 2 ? b->next[i] : block_at(f, f->targets.v[b->first + i - 2]);
}

static const char *step(const struct flow *f, struct code_state *st, const struct x86_insn *insn,
			uint32_t key)
{
	const char *why = code_state_step(st, insn, key);

	if (f->r->tail_jumps && (insn->kind == X86_CALL || insn->kind == X86_CALL_ANY))
		code_state_forget(st, X86_BX);
	return why;
}

/* Changes @st from the state at the beginning of block @b to the state at the end of @b. */
static void run_block(struct flow *f, const struct code_block *b, struct code_state *st)
{
	struct x86_insn insn;

	for (uint32_t key = b->start; key < b->end && !f->why && flow_spend(f);
	     key += *flow_info(f, key) & LEN)
		if ((*flow_info(f, key) & TOUCHES) && flow_decode(f, key, &insn))
			f->why = step(f, st, &insn, key);
}

/* Checks the state at an end of the function, before RET takes the return address. */
static void judge_end(struct flow *f, const struct code_state *st)
{
	if (!code_state_balanced(st)) {
		f->why = "a return with another stack pointer than at the entry";
		return;
	}
	for (uint8_t reg = 0; reg < X86_REGS; reg++)
		if ((reg == X86_BX || reg == X86_BP) && !code_state_has_entry(st, reg))
			f->lost |= (uint16_t)(1u << reg);
}

static int enter(struct flow *f, uint32_t number, const struct code_state *st)
{
	struct code_block *b = &f->blocks.v[number];
	bool changed = true;

	if (b->known)
		f->why = code_state_join(&b->st, st, &changed);
	else
		b->st = *st;
	b->known = true;
	if (!changed || b->queued || f->why)
		return 0;
	b->queued = true;
	return vec_push(&f->todo, number);
}

static int solve(struct flow *f)
{
	struct code_state st;
	int r;

	code_state_init(&st);
	f->todo.n = 0;
	r = enter(f, block_at(f, f->start), &st);
	while (!r && !f->why && f->todo.n) {
		uint32_t number = f->todo.v[--f->todo.n];
		struct code_block *b = &f->blocks.v[number];

		b->queued = false;
		st = b->st;
		run_block(f, b, &st);
		if (!f->why && b->exits)
			judge_end(f, &st);
		for (uint32_t i = 0; i < 2 + b->n && !r && !f->why; i++) {
			uint32_t next = i < 2 || flow_spend(f) ? successor(f, b, i) : NOWHERE;

			if (next != NOWHERE)
				r = enter(f, next, &st);
		}
	}
	return r;
}

/*
 * Sets .exits of the blocks that lead to an end of the function. The end of a function proves only
 * the rules of blocks that lead to it.
 */
static void spread_exits(struct flow *f)
{
	bool more = true;

	for (int pass = 0; more && pass < PASSES; pass++) {
		more = false;
		for (size_t i = f->blocks.n; i-- > 0;) {
			struct code_block *b = &f->blocks.v[i];

			for (uint32_t k = 0; k < 2 + b->n && !b->exits && (k < 2 || flow_spend(f));
			     k++) {
				uint32_t next = successor(f, b, k);

				if (next != NOWHERE && f->blocks.v[next].exits)
					more = b->exits = true;
			}
		}
	}
}

/*
 * Accepts a function that never ends. No end proves its rules, but krait uses them if a function
 * certainly begins at its start.
 */
static void let_endless_be(struct flow *f)
{
	vec_foreach(b, &f->blocks)
		if (b->exits)
			return;
	vec_foreach(b, &f->blocks)
		b->exits = true;
}

static int analyze(struct flow *f)
{
	int r = flow_discover(f);

	for (size_t i = 0; i < f->runs.n && !r && !f->why; i++)
		r = add_blocks(f, &f->runs.v[i]);
	if (r || f->why)
		return r;
	vec_foreach(b, &f->blocks)
		connect(f, b);
	r = solve(f);
	if (r || f->why)
		return r;
	spread_exits(f);
	if (f->why)
		return 0;
	if (!f->guess && (*flow_info(f, f->start) & CODE_CERTAIN))
		let_endless_be(f);
	return 0;
}

/*
 * Reports that @insn, which ends at @end, calls another function or takes its address (for example
 * to pass it to a new thread).
 */
static int tell_call(const struct flow *f, const struct x86_insn *insn, uint32_t end)
{
	if (f->r->calls && insn->kind == X86_LEA_RIP)
		return f->r->calls(f->r->ctx, end + (uint32_t)insn->disp);
	if (!f->r->calls || insn->kind != X86_CALL || !insn->imm)
		/* such a call of the next instruction only gets that instruction's address */
		return 0;
	return f->r->calls(f->r->ctx, end + (uint32_t)insn->imm);
}

static int report(struct flow *f, struct code_block *b, code_visit_fn *fn, void *arg)
{
	struct code_visit v = {.key = b->start, .st = &b->st};
	struct x86_insn insn;
	bool changed = true;
	int r = 0;

	for (; v.key < b->end && !r; v.key = v.end) {
		v.end = v.key + (*flow_info(f, v.key) & LEN);
		if (changed)
			code_state_rule(&b->st, f->lost, &v.rule);
		r = fn(&v, arg);
		changed = *flow_info(f, v.key) & TOUCHES;
		if (r || !changed || !flow_decode(f, v.key, &insn))
			continue;
		(void)step(f, &b->st, &insn, v.key);
		r = tell_call(f, &insn, v.end);
	}
	return r;
}

static void forget(struct flow *f)
{
	vec_foreach(run, &f->runs)
		for (uint32_t key = run->start; key < run->end; key += *flow_info(f, key) & LEN)
			*flow_info(f, key) &= ~(VISITED | LEADER);
}

int code_flow_visit(struct code_region *r, uint32_t start, bool guess, code_visit_fn *fn, void *arg,
		    const char **why)
{
	struct flow f = {.r = r, .start = start, .guess = guess};
	int ret = analyze(&f);

	vec_foreach(b, &f.blocks)
		if (!ret && !f.why && b->known && b->exits)
			ret = report(&f, b, fn, arg);
	*why = f.why;
	forget(&f);
	vec_fini(&f.todo);
	vec_fini(&f.runs);
	vec_fini(&f.switches);
	vec_fini(&f.targets);
	vec_fini(&f.blocks);
	return ret;
}

struct function_ranges {
	unwind_range_vec *all;
	size_t first; /* index of the first range in .ret that belongs to this function */
};

static int add_range(const struct code_visit *v, void *arg)
{
	const struct function_ranges *f = arg;
	unwind_range_vec *ret = f->all;
	struct unwind_range *last = ret->n > f->first ? &ret->v[ret->n - 1] : NULL;

	if (v->rule.cfa == UNWIND_UNKNOWN)
		return 0;
	if (last && last->end == v->key && !memcmp(&last->rule, &v->rule, sizeof(v->rule))) {
		last->end = v->end;
		return 0;
	}
	return vec_push(ret, (struct unwind_range){v->key, v->end, v->rule});
}

int code_flow(struct code_region *r, uint32_t start, bool guess, unwind_range_vec *ret,
	      const char **why)
{
	struct function_ranges f = {ret, ret->n};

	return code_flow_visit(r, start, guess, add_range, &f, why);
}
