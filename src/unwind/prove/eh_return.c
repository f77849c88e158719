/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the instructions by which a function of libgcc returns to another frame than its caller's,
 * to unwind an exception; see eh_return.h. At the function's end GCC sets the other frame's stack
 * pointer by `mov %rcx,%rsp`, where the CFA is rcx + 8, and jumps or returns into that frame. The
 * last two calls before that are to uw_install_context_1(), which overwrites the saved registers,
 * and to the debugger's hook. All this is so in libgcc from GCC 4 to 16. If a function has other
 * code, krait assumes none of this.
 *
 * Earlier the function handed its return address to uw_init_context_1(). uw_init_context_1() keeps
 * the address in a context, the first argument of uw_init_context_1() and of
 * uw_install_context_1(), where it can be found until the hook returns. After that, the address at
 * which the other frame continues is written to the stack, over the return address of a frame
 * further out. The caller's rbp and rbx aren't kept anywhere.
 */
#include "unwind/prove/eh_return.h"

#include "unwind/x86/x86_state.h"
#include "elf/elf_sections.h"
#include "unwind/rows/rule_numbers.h"

#define DWARF_CX 2
#define DWARF_BP 6
/*
 * a function with more bytes isn't examined; in libgcc the largest function that returns to another
 * frame than its caller's has 1,000
 */
#define FUNCTION_MAX 8192
/*
 * how many functions of a file are examined at most; libgcc has 4 that return to another frame than
 * their caller's
 */
#define LOOKED_AT 64

/* Offset of `cfa` in libgcc's struct _Unwind_Context (unwind-dw2.c), after 18 registers. */
#define CONTEXT_CFA 0x90
#define CONTEXT_RA  0x98

struct call {
	uint32_t at, end;
	struct code_value di, si;
};

/* What krait learns while it follows the instructions in the order of their addresses. */
struct look {
	const uint8_t *code;
	uint32_t n;
	/*
	 * .st: what is known at the present instruction; .body: what was known at the last call or
	 * branch
	 */
	struct code_state st, body;
	/* .last: the last call so far; .before: the call before .last */
	struct call before, last;
	bool ra_in_dx;
	/* offset, from the CFA, of the context that has the return address; 0: not known */
	int64_t context;
	bool lost; /* whether the values of registers have become unknown */
};

static bool is_leaving(const struct unwind_rule *u)
{
	return u->cfa == UNWIND_REG && u->reg == DWARF_CX && u->off == 8;
}

static bool in_frame(const struct code_value *v)
{
	return v->kind == CODE_CFA && v->off < 0;
}

static void note_call(struct look *l, uint32_t at, uint32_t end)
{
	const struct code_value *di = &l->st.reg[X86_DI], *si = &l->st.reg[X86_SI];

	l->before = l->last;
	l->last = (struct call){at, end, *di, *si};
	if (l->ra_in_dx && in_frame(di) && si->kind == CODE_CFA && !si->off)
		l->context = di->off;
}

static void step(struct look *l, uint32_t at, const struct x86_insn *insn)
{
	bool calls = insn->kind == X86_CALL || insn->kind == X86_CALL_ANY;

	if (calls)
		note_call(l, at, at + insn->len);
	if (insn->kind == X86_LOAD && insn->reg == X86_DX)
		l->ra_in_dx = insn->base == X86_BP && insn->disp == 8;
	else if (insn->writes >> X86_DX & 1)
		l->ra_in_dx = false;
	if (calls || insn->kind == X86_BRANCH)
		l->body = l->st;
	if (insn->kind == X86_RET || insn->kind == X86_JUMP || insn->kind == X86_TRAP)
		/*
		 * only a jump from earlier code leads to the next instruction, so what was known at
		 * the last call or branch (.body) is known there
		 */
		l->st = l->body;
	else if (code_state_step(&l->st, insn, at))
		l->lost = true;
}

/*
 * Follows the instructions up to the instruction at @leave. False: krait doesn't understand an
 * instruction.
 */
static bool look(struct look *l, uint32_t leave)
{
	struct x86_insn insn;
	uint32_t at = 0;

	code_state_init(&l->st);
	l->body = l->st;
	for (; at < leave; at += insn.len) {
		if (!x86_decode(l->code + at, l->n - at, &insn))
			return false;
		step(l, at, &insn);
	}
	return at == leave && l->before.at;
}

/*
 * Returns the offset where the jump or return ends that follows the `mov %rcx,%rsp` at @at; 0:
 * neither follows.
 */
static uint32_t find_end(const struct look *l, uint32_t at)
{
	struct x86_insn insn;

	if (!x86_decode(l->code + at, l->n - at, &insn) || insn.kind != X86_MOVE ||
	    insn.reg != X86_SP || insn.from != X86_CX)
		return 0;
	do {
		at += insn.len;
		if (!x86_decode(l->code + at, l->n - at, &insn))
			return 0;
	} while (insn.kind != X86_RET && insn.kind != X86_JUMP_ANY);
	return at + insn.len;
}

/* Is the word at CFA + @off read between .before and .last, the last two calls? */
static bool is_read(const struct look *l, int64_t off)
{
	struct x86_insn insn;

	for (uint32_t at = l->before.at; at < l->last.at; at += insn.len)
		if (!x86_decode(l->code + at, l->n - at, &insn))
			return false;
		else if (insn.kind == X86_LOAD && insn.base == X86_BP && insn.disp - 16 == off)
			return true;
	return false;
}

/*
 * Makes the rule that holds during the last two calls. Such a rule is made only if @usual, the rule
 * before these calls, is that of a frame with rbp, and if libgcc's contexts have the expected
 * layout. The arguments of the last call, that of the debugger's hook, show the layout, because
 * they are read from the other frame's context. Else *@ret is UNWIND_UNKNOWN.
 */
static void kept_rule(const struct look *l, const struct unwind_rule *usual,
		      struct unwind_rule *ret)
{
	const struct call *c = &l->before;

	*ret = (struct unwind_rule){};
	if (l->lost || !l->context || !in_frame(&c->di) || !in_frame(&c->si) ||
	    c->di.off != l->context || c->si.off == l->context ||
	    !is_read(l, c->si.off + CONTEXT_CFA) || !is_read(l, c->si.off + CONTEXT_RA) ||
	    l->context % 8 || l->context < -FUNCTION_MAX || usual->cfa != UNWIND_REG ||
	    usual->reg != DWARF_BP || usual->off != 16)
		return;
	*ret = *usual;
	ret->ra = (int16_t)((l->context + CONTEXT_RA) / 8);
	ret->fp = ret->bx = UNWIND_LOST;
}

/*
 * A part of a function: code in [.start, .behind) gets .rule; code in [.behind, .end) gets
 * UNWIND_UNKNOWN.
 */
struct part {
	uint32_t start, behind, end;
	struct unwind_rule rule;
};
typedef VEC(struct part) part_vec;

static struct part whole(const struct unwind_fde *fde)
{
	return (struct part){fde->start, fde->start, fde->end, {}};
}

static struct part part_of(struct elf_file *f, const struct unwind_rows *rows,
			   const struct unwind_fde *fde, uint32_t leave)
{
	uint8_t code[FUNCTION_MAX];
	struct look l = {.code = code, .n = fde->end - fde->start};
	struct part ret = whole(fde);
	uint32_t end;

	if (l.n > sizeof(code) || elf_file_read(f, rows->base + fde->start, code, l.n) != l.n ||
	    !look(&l, leave - fde->start))
		return ret;
	end = find_end(&l, leave - fde->start);
	if (!end)
		return ret;
	/* before and during the call l.before the rows are right */
	ret.start = fde->start + l.before.at + 1;
	ret.behind = fde->start + l.last.end;
	ret.end = fde->start + end;
	kept_rule(&l, unwind_rows_find(rows, rows->base + ret.start), &ret.rule);
	return ret;
}

static int find_parts(struct elf_file *f, const struct unwind_rows *rows, part_vec *ret)
{
	int r = 0;

	vec_foreach(row, &rows->rows) {
		const struct unwind_fde *fde;
		struct part *last = ret->n ? &ret->v[ret->n - 1] : NULL, part;

		if (!is_leaving(&rows->rules.v[row->rule]))
			continue;
		fde = unwind_fde_find(rows->fdes.v, rows->fdes.n, row->key);
		if (!fde)
			continue;
		/*
		 * krait corrects the rows of a function only if it returns to another frame than
		 * its caller's in one place; this function does so in two, so all of it gets
		 * UNWIND_UNKNOWN
		 */
		if (last && last->start >= fde->start) {
			*last = whole(fde);
			continue;
		}
		part = ret->n < LOOKED_AT ? part_of(f, rows, fde, row->key) : whole(fde);
		r = vec_push(ret, part);
		if (r)
			return r;
	}
	return 0;
}

typedef VEC(struct unwind_row) row_vec;

/* Appends a row to @v. If @v already has a row that begins at offset @key, replaces that row. */
static int put(row_vec *v, uint32_t key, uint32_t rule)
{
	if (v->n && v->v[v->n - 1].key == key)
		v->n--;
	if (v->n && v->v[v->n - 1].rule == rule)
		return 0;
	return vec_push(v, (struct unwind_row){key, rule});
}

/* Replaces the rows of the parts of functions in @parts, which ascend and don't overlap. */
static int replace(struct unwind_rows *rows, struct rule_numbers *numbers, const part_vec *parts,
		   row_vec *ret)
{
	const struct unwind_row *row = rows->rows.v, *end = row + rows->rows.n;
	uint32_t rule = 0, kept = 0;
	int r = rule_numbers_init(numbers, rows);

	vec_foreach(part, parts) {
		for (; !r && row < end && row->key < part->start; row++)
			r = put(ret, row->key, rule = row->rule);
		if (!r)
			r = rule_number(numbers, &part->rule, &kept);
		if (!r && part->start < part->behind)
			r = put(ret, part->start, kept);
		if (!r)
			r = put(ret, part->behind, 0);
		for (; row < end && row->key <= part->end; row++)
			rule = row->rule;
		if (!r)
			r = put(ret, part->end, rule);
	}
	for (; !r && row < end; row++)
		r = put(ret, row->key, row->rule);
	return r;
}

static int correct(struct unwind_rows *rows, const part_vec *parts)
{
	struct rule_numbers numbers = {};
	row_vec ret = {};
	int r = replace(rows, &numbers, parts, &ret);

	rule_numbers_fini(&numbers);
	if (r) {
		vec_fini(&ret);
		return r;
	}
	free(rows->rows.v);
	rows->rows.v = ret.v;
	rows->rows.n = ret.n;
	rows->rows.cap = ret.cap;
	return 0;
}

int eh_return_correct(struct elf_file *f, struct unwind_rows *rows)
{
	part_vec parts = {};
	bool any = false;
	int r;

	vec_foreach(rule, &rows->rules)
		any |= is_leaving(rule);
	if (!any || f->machine != ELF_X86_64)
		return 0;
	r = find_parts(f, rows, &parts);
	if (!r && parts.n)
		r = correct(rows, &parts);
	vec_fini(&parts);
	return r;
}
