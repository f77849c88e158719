/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows a function's instructions; see x86_flow.h. Three passes: find all instructions, in runs
 * without gaps; compute what is known at the start of each block, until nothing changes any more;
 * find the blocks from which the function's end is reached.
 */
#include "unwind/prove/x86_flow.h"

#include "unwind/prove/x86_table.h"

#define NOWHERE UINT32_MAX
/*
 * The most blocks of a function; each takes 600 bytes. libtorch_cpu.so has a function with 2,800.
 */
#define BLOCKS_MAX (1u << 15)
/*
 * How often spread_exits() goes through the blocks. Code that reaches the end only by more backward
 * jumps isn't proven.
 */
#define PASSES 64

/* Bits of code_region.info; they belong to the byte where an instruction begins. */
enum {
	LEN = 0x0f,	/* the instruction's length; 0 = not decoded */
	VISITED = 0x10, /* this instruction belongs to the function that is analysed now */
	LEADER = 0x20,	/* a jump of the function that is analysed now leads to this instruction */
	TOUCHES = 0x40, /* the instruction changes the state of registers or stack */
	SEEN = 0x80,	/* the instruction belongs to some function that was analysed */
};

struct code_run {
	uint32_t start, end;
};

/* A jump through a table; its targets are .n of flow.targets from .first on. */
struct code_switch {
	/*
	 * offsets of the jump and of the first instruction that computes its address; see
	 * x86_table.h
	 */
	uint32_t jump, since;
	uint32_t first, n;
};

struct code_block {
	/* offsets of the block's beginning, its end, and its last instruction */
	uint32_t start, end, last;
	uint32_t next[2]; /* indexes of the blocks that follow, or NOWHERE */
	/*
	 * the block ends with a jump through a table: its .n targets from flow.targets[.first] on
	 */
	uint32_t first, n;
	bool known, queued;
	bool exits; /* this block or one after it leaves the function with the stack balanced */
	struct code_state st;
};

struct flow {
	struct code_region *r;
	uint32_t start;
	bool guess;
	const char *why;
	/* registers that don't have the caller's value at some end of the function */
	uint16_t lost;
	uint32_t leaders; /* how many bytes have LEADER; there can't be more .blocks */
	VEC(uint32_t) todo;
	VEC(struct code_run) runs;
	VEC(struct code_switch) switches;
	VEC(uint32_t) targets; /* offsets that jumps through tables lead to */
	VEC(struct code_block) blocks;
};

static uint16_t *info(const struct flow *f, uint32_t key)
{
	return &f->r->info[key - f->r->start];
}

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

static bool decode(struct flow *f, uint32_t key, struct x86_insn *insn)
{
	return x86_decode(f->r->bytes + (key - f->r->start), f->r->end - key, insn);
}

/* Returns the offset that a jump leads to; NOWHERE: another function. */
static uint32_t target(struct flow *f, uint32_t next, const struct x86_insn *insn)
{
	uint32_t to = next + (uint32_t)insn->imm;

	if (is_inside(f, to) && (to == f->start || !(*info(f, to) & CODE_START)))
		return to;
	if (!is_inside(f, to) && !f->r->is_start(f->r->ctx, to))
		f->why = "a jump into the middle of another function";
	return NOWHERE;
}

/* Does a function begin within the @len bytes at offset @key? Then they are no instruction. */
static bool is_cut(const struct code_region *r, uint32_t key, uint8_t len)
{
	for (uint32_t i = 1; i < len; i++)
		if (r->info[key + i - r->start] & CODE_START)
			return true;
	return false;
}

/*
 * Does the call @insn, which ends at @next, return? Not if only padding follows up to another
 * function: compilers put a call that never returns last (abort(), a stack protector's).
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
	if (end >= r->end || *info(f, end) & CODE_START)
		return false;
	return !x86_decode(r->bytes + (end - r->start), r->end - end, &behind) ||
	       !is_cut(r, end, behind.len);
}

/* Tells whether @next, the instruction after @insn, can be executed after it. */
static bool goes_on(const struct flow *f, uint32_t next, const struct x86_insn *insn)
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
	if (!(*info(f, key) & LEADER) && f->leaders++ == BLOCKS_MAX)
		f->why = "too many jumps";
	*info(f, key) |= LEADER;
	return *info(f, key) & VISITED ? 0 : vec_push(&f->todo, key);
}

static int spend(struct flow *f)
{
	if (!f->r->budget) {
		f->why = "too much code";
		return 0;
	}
	f->r->budget--;
	return 1;
}

/* Notes the instruction at offset @key as part of the function; false: it can't be decoded. */
static bool visit(struct flow *f, uint32_t key, struct x86_insn *insn)
{
	uint16_t *at = info(f, key);

	if (!decode(f, key, insn) || is_cut(f->r, key, insn->len)) {
		f->why = "an instruction that isn't known";
		return false;
	}
	*at = (*at & ~LEN) | insn->len | VISITED | SEEN;
	if (insn->kind != X86_PLAIN || insn->writes || insn->stores)
		*at |= TOUCHES;
	return true;
}

/* Returns where the next function begins, or the region ends. */
static uint32_t function_end(const struct flow *f)
{
	struct code_region *r = f->r;

	if (f->start >= r->bare && f->start < r->bare_end)
		return r->bare_end;
	r->bare = f->start;
	r->bare_end = f->start + 1;
	while (r->bare_end < r->end && !(*info(f, r->bare_end) & CODE_START))
		r->bare_end++;
	return r->bare_end;
}

/*
 * Adds the targets of a jump table. If its size isn't known, the first entry that leads out of the
 * function belongs to another table already.
 */
static int add_targets(struct flow *f, const struct code_table *table, struct code_switch *sw)
{
	int32_t entry[CODE_TABLE_MOST];
	uint32_t n = table->bound ? MIN(table->bound, CODE_TABLE_MOST) : CODE_TABLE_MOST;
	uint32_t end = function_end(f);
	int r = 0;

	n = (uint32_t)(f->r->read(f->r->ctx, table->at, entry, n * sizeof(*entry)) /
		       sizeof(*entry));
	for (uint32_t i = 0; !r && i < n && spend(f); i++) {
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
 * Does the indirect jump at @jump lead to another function, after this function's frame was taken
 * down?
 */
static bool is_tail_jump(const struct flow *f, const struct code_run *run, uint32_t jump)
{
	const uint8_t *at = &f->r->bytes[jump - f->r->start], *bytes;
	struct code_table table;

	if (!f->r->tail_jumps)
		return false;
	at += *at == 0x3e;	    /* skips the prefix notrack */
	at += (*at & 0xf0) == 0x40; /* REX */
	/* only jmp *%reg is wanted, not a jump through memory */
	if (at[0] != 0xff || (at[1] & 0xf8) != 0xe0)
		return false;
	bytes = f->r->bytes + (run->start - f->r->start);
	return !code_table_find(bytes, jump - run->start, f->r->end - run->start, run->start,
				&table);
}

/* Adds the targets of the indirect jump at @jump, if it goes through a table. */
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
		f->why = "a jump to where a table or a register says";
		return 0;
	}
	sw.since = table.since;
	r = add_targets(f, &table, &sw);
	if (!r && !f->why && !sw.n)
		f->why = "a jump to where a table or a register says";
	return r || f->why ? r : vec_push(&f->switches, sw);
}

/* Follows @insn, the last of @run. *@on: the next instruction may be executed after it. */
static int follow(struct flow *f, const struct code_run *run, const struct x86_insn *insn, bool *on)
{
	uint32_t next = run->end;
	int r = 0;

	*on = goes_on(f, next, insn);
	if (insn->kind == X86_JUMP_ANY)
		r = follow_table(f, run, next - insn->len);
	else if (insn->kind == X86_JUMP || insn->kind == X86_BRANCH)
		r = add_leader(f, target(f, next, insn));
	else if ((insn->kind == X86_CALL || insn->kind == X86_CALL_ANY) && f->guess)
		f->why = "calls, and may begin elsewhere";
	if (*on && !f->why && (next >= f->r->end || (*info(f, next) & CODE_START)))
		f->why = "runs into another function";
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

	while (!r && on && !f->why && !(*info(f, run.end) & VISITED)) {
		if (!spend(f) || !visit(f, run.end, &insn))
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

static int discover(struct flow *f)
{
	int r = add_leader(f, f->start);

	while (!r && !f->why && f->todo.n)
		r = run(f, f->todo.v[--f->todo.n]);
	vec_foreach(key, &f->todo) /* left from a function that the analysis gave up */
		*info(f, *key) &= ~LEADER;
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
			if (*info(f, key) & LEADER)
				f->why = "a jump to where a table or a register says";
	return 0;
}

static int add_blocks(struct flow *f, const struct code_run *run)
{
	for (uint32_t key = run->start, next; key < run->end; key = next) {
		struct code_block *b = f->blocks.n ? &f->blocks.v[f->blocks.n - 1] : NULL;
		int r = 0;

		next = key + (*info(f, key) & LEN);
		if (key == run->start || *info(f, key) & LEADER)
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

/* Sets which blocks come after @b. */
static void connect(struct flow *f, struct code_block *b)
{
	struct x86_insn insn;
	uint32_t to = NOWHERE;

	if (!decode(f, b->last, &insn))
		return;
	if (insn.kind == X86_JUMP || insn.kind == X86_BRANCH) {
		to = target(f, b->end, &insn);
		b->exits = to == NOWHERE;
	}
	b->exits |= insn.kind == X86_RET || insn.kind == X86_JUMP_GOT ||
		    (insn.kind == X86_JUMP_ANY && f->r->tail_jumps);
	b->next[0] = goes_on(f, b->end, &insn) ? block_at(f, b->end) : NOWHERE;
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

/* Changes @st from the state at the beginning of block @b to that at its end. */
static void run_block(struct flow *f, const struct code_block *b, struct code_state *st)
{
	struct x86_insn insn;

	for (uint32_t key = b->start; key < b->end && !f->why && spend(f);
	     key += *info(f, key) & LEN)
		if ((*info(f, key) & TOUCHES) && decode(f, key, &insn))
			f->why = step(f, st, &insn, key);
}

/* Checks the state at an end of the function, before RET takes the return address. */
static void judge_end(struct flow *f, const struct code_state *st)
{
	if (!code_state_balanced(st)) {
		f->why = "an end with another stack pointer than at the start";
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
			uint32_t next = i < 2 || spend(f) ? successor(f, b, i) : NOWHERE;

			if (next != NOWHERE)
				r = enter(f, next, &st);
		}
	}
	return r;
}

/*
 * Marks the blocks that lead to an end of the function. The end proves the rules of these blocks
 * only.
 */
static void spread_exits(struct flow *f)
{
	bool more = true;

	for (int pass = 0; more && pass < PASSES; pass++) {
		more = false;
		for (size_t i = f->blocks.n; i-- > 0;) {
			struct code_block *b = &f->blocks.v[i];

			for (uint32_t k = 0; k < 2 + b->n && !b->exits && (k < 2 || spend(f));
			     k++) {
				uint32_t next = successor(f, b, k);

				if (next != NOWHERE && f->blocks.v[next].exits)
					more = b->exits = true;
			}
		}
	}
}

/*
 * Accepts a function that never ends. No end proves its rules then, only that a function certainly
 * begins here.
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
	int r = discover(f);

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
	if (!f->guess && (*info(f, f->start) & CODE_CERTAIN))
		let_endless_be(f);
	return 0;
}

/*
 * Reports that @insn, which ends at @end, calls another function or takes its address (a thread's
 * first function).
 */
static int tell_call(const struct flow *f, const struct x86_insn *insn, uint32_t end)
{
	if (f->r->calls && insn->kind == X86_LEA_RIP)
		return f->r->calls(f->r->ctx, end + (uint32_t)insn->disp);
	if (!f->r->calls || insn->kind != X86_CALL || !insn->imm)
		return 0; /* a call of the next instruction only asks for its address */
	return f->r->calls(f->r->ctx, end + (uint32_t)insn->imm);
}

static int report(struct flow *f, struct code_block *b, code_visit_fn *fn, void *arg)
{
	struct code_visit v = {.key = b->start, .st = &b->st};
	struct x86_insn insn;
	bool changed = true;
	int r = 0;

	for (; v.key < b->end && !r; v.key = v.end) {
		v.end = v.key + (*info(f, v.key) & LEN);
		if (changed)
			code_state_rule(&b->st, f->lost, &v.rule);
		r = fn(&v, arg);
		changed = *info(f, v.key) & TOUCHES;
		if (r || !changed || !decode(f, v.key, &insn))
			continue;
		(void)step(f, &b->st, &insn, v.key);
		r = tell_call(f, &insn, v.end);
	}
	return r;
}

static void forget(struct flow *f)
{
	vec_foreach(run, &f->runs)
		for (uint32_t key = run->start; key < run->end; key += *info(f, key) & LEN)
			*info(f, key) &= ~(VISITED | LEADER);
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
	size_t first; /* index of the first range that is of this function */
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
