/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applies the effect of instructions to what is known of registers and stack; see x86_state.h.
 *
 * If a store goes through a pointer that isn't known to lead to the frame, krait assumes that the
 * store doesn't overwrite a saved register: a function that did this would return with a wrong
 * value. krait checks that each return of the function restores the caller's rbx and rbp.
 */
#include "unwind/x86/x86_state.h"

#define WORD	  8
#define RED_ZONE  128 /* signal handlers don't use this many bytes below rsp (psABI, 3.2.2) */
#define FRAME_MAX (64 << 20)
#define CALLER_SAVED                                                                               \
	(1 << X86_AX | 1 << X86_CX | 1 << X86_DX | 1 << X86_SI | 1 << X86_DI | 1 << X86_R8 |       \
	 1 << X86_R9 | 1 << X86_R10 | 1 << X86_R11)

static const struct code_value any = {};

void code_state_init(struct code_state *st)
{
	memset(st, 0, sizeof(*st));
	st->reg[X86_SP] = (struct code_value){CODE_CFA, 0, -WORD};
	st->reg[X86_BX] = (struct code_value){CODE_ENTRY, X86_BX, 0};
	st->reg[X86_BP] = (struct code_value){CODE_ENTRY, X86_BP, 0};
}

static bool is_place(const struct code_value *v)
{
	return v->kind == CODE_CFA || v->kind == CODE_BASE;
}

static bool same_base(const struct code_value *a, const struct code_value *b)
{
	return a->kind == b->kind && a->base == b->base;
}

static bool equal(const struct code_value *a, const struct code_value *b)
{
	return same_base(a, b) && a->off == b->off;
}

static void drop(struct code_state *st, uint32_t i)
{
	st->slot[i] = st->slot[--st->slots];
	memset(&st->slot[st->slots], 0, sizeof(*st->slot));
}

/*
 * Forgets the words of the stack below @off, an offset from the base that rsp is counted from,
 * because they may be overwritten from now on.
 */
static void drop_below(struct code_state *st, int64_t off)
{
	for (uint32_t i = st->slots; i-- > 0;)
		if (same_base(&st->slot[i].at, &st->reg[X86_SP]) && st->slot[i].at.off < off)
			drop(st, i);
}

/* Forgets the words of the stack that a store of @n bytes at @at overwrites. */
static void overwrite(struct code_state *st, const struct code_value *at, int64_t n)
{
	for (uint32_t i = st->slots; i-- > 0;)
		if (same_base(&st->slot[i].at, at) && st->slot[i].at.off < at->off + n &&
		    at->off < st->slot[i].at.off + WORD)
			drop(st, i);
}

static void store(struct code_state *st, struct code_value at, struct code_value value)
{
	if (!is_place(&at))
		return;
	overwrite(st, &at, WORD);
	if (value.kind != CODE_ANY && st->slots < CODE_SLOTS)
		st->slot[st->slots++] = (struct code_slot){at, value};
}

static struct code_value load(const struct code_state *st, const struct code_value *at)
{
	for (uint32_t i = 0; i < st->slots; i++)
		if (is_place(at) && equal(&st->slot[i].at, at))
			return st->slot[i].value;
	return any;
}

static struct code_value plus(struct code_value v, int64_t off)
{
	if (!is_place(&v) || off > FRAME_MAX || off < -FRAME_MAX)
		return any;
	v.off += off;
	return v.off > FRAME_MAX || v.off < -FRAME_MAX ? any : v;
}

static struct code_value address(const struct code_state *st, const struct x86_insn *insn)
{
	return insn->base == X86_NO_REG ? any : plus(st->reg[insn->base], insn->disp);
}

/*
 * Returns the stack pointer that the instruction at offset @key sets now, as a base from which
 * values are counted. Values that were counted from the base of an earlier run of the same
 * instruction are forgotten.
 */
static struct code_value new_base(struct code_state *st, uint32_t key)
{
	for (uint32_t i = st->slots; i-- > 0;) {
		const struct code_slot *slot = &st->slot[i];

		if ((slot->at.kind == CODE_BASE && slot->at.base == key) ||
		    (slot->value.kind == CODE_BASE && slot->value.base == key))
			drop(st, i);
	}
	for (int i = 0; i < X86_REGS; i++)
		if (st->reg[i].kind == CODE_BASE && st->reg[i].base == key)
			st->reg[i] = any;
	return (struct code_value){CODE_BASE, key, 0};
}

/*
 * Moves the stack pointer. Words below the stack pointer may be overwritten, and so may words of a
 * frame to which the function doesn't return.
 */
static void move_stack(struct code_state *st, const struct code_value *to, bool down)
{
	const struct code_value from = st->reg[X86_SP];

	if (same_base(to, &from)) {
		st->reg[X86_SP] = *to;
		return drop_below(st, to->off - RED_ZONE);
	}
	drop_below(st, from.off);
	st->reg[X86_SP] = *to;
	for (uint32_t i = st->slots; !down && i-- > 0;)
		if (st->slot[i].at.kind == CODE_BASE && !same_base(&st->slot[i].at, to))
			drop(st, i);
}

static void set(struct code_state *st, uint8_t reg, struct code_value v)
{
	if (reg == X86_SP && is_place(&v))
		move_stack(st, &v, false);
	else
		st->reg[reg] = v;
}

static void push(struct code_state *st, struct code_value v)
{
	set(st, X86_SP, plus(st->reg[X86_SP], -WORD));
	store(st, st->reg[X86_SP], v);
}

static struct code_value pop(struct code_state *st)
{
	struct code_value v = load(st, &st->reg[X86_SP]);

	set(st, X86_SP, plus(st->reg[X86_SP], WORD));
	return v;
}

static void leave(struct code_state *st)
{
	set(st, X86_SP, st->reg[X86_BP]);
	st->reg[X86_BP] = pop(st);
}

/*
 * Applies a call: registers keep their values if the ABI says so, and the stack above the call's
 * return address stays.
 */
static void call(struct code_state *st)
{
	for (int i = 0; i < X86_REGS; i++)
		if (CALLER_SAVED >> i & 1)
			st->reg[i] = any;
	drop_below(st, st->reg[X86_SP].off);
}

void code_state_forget(struct code_state *st, uint8_t reg)
{
	st->reg[reg] = any;
}

static void exchange(struct code_state *st, const struct x86_insn *insn)
{
	struct code_value v = st->reg[insn->from];

	set(st, insn->from, st->reg[insn->reg]);
	set(st, insn->reg, v);
}

/*
 * Lowers a register by an amount that isn't known, as alloca() does: the register's new value
 * becomes a base from which the stack below it is counted.
 */
static void lower(struct code_state *st, const struct x86_insn *insn, uint32_t key)
{
	struct code_value to = any;

	if (is_place(&st->reg[insn->reg]))
		to = new_base(st, key);
	if (insn->reg == X86_SP && is_place(&to) && is_place(&st->reg[X86_SP]))
		move_stack(st, &to, true);
	else
		set(st, insn->reg, to);
}

static void plain(struct code_state *st, const struct x86_insn *insn)
{
	struct code_value at = address(st, insn);

	if (insn->stores && is_place(&at))
		overwrite(st, &at, insn->stores);
	for (uint8_t i = 0; i < X86_REGS; i++)
		if (insn->writes >> i & 1)
			st->reg[i] = any;
}

static void step(struct code_state *st, const struct x86_insn *insn, uint32_t key)
{
	struct code_value at = address(st, insn);

	switch (insn->kind) {
	case X86_CALL:
		/*
		 * a call of the instruction right after it only pushes that instruction's address
		 */
		return insn->imm ? call(st) : push(st, any);
	/* returns need nothing: judge_end() of x86_flow.c checks the state at a return */
	case X86_RET:
		return;
	case X86_CALL_ANY:
		return call(st);
	case X86_PUSH:
		return push(st, insn->reg == X86_NO_REG ? any : st->reg[insn->reg]);
	case X86_POP:
		at = pop(st);
		return insn->reg == X86_NO_REG ? (void)0 : set(st, insn->reg, at);
	case X86_LEAVE:
		return leave(st);
	case X86_MOVE:
		return set(st, insn->reg, st->reg[insn->from]);
	case X86_EXCHANGE:
		return exchange(st, insn);
	case X86_LOAD:
		return set(st, insn->reg, load(st, &at));
	case X86_STORE:
		return store(st, at, st->reg[insn->reg]);
	case X86_LEA:
		return set(st, insn->reg, at);
	case X86_ADD:
		return set(st, insn->reg, plus(st->reg[insn->reg], insn->imm));
	case X86_AND:
	case X86_SUB_REG:
		return lower(st, insn, key);
	default:
		plain(st, insn);
	}
}

const char *code_state_step(struct code_state *st, const struct x86_insn *insn, uint32_t key)
{
	const struct code_value *sp = &st->reg[X86_SP];

	step(st, insn, key);
	if (!is_place(sp))
		return "the stack pointer gets a value that isn't known";
	if (sp->kind == CODE_CFA && sp->off > -WORD)
		return "the function pops more than it has pushed";
	return NULL;
}

static bool keep_common_slots(struct code_state *st, const struct code_state *other)
{
	bool changed = false;

	for (uint32_t i = st->slots; i-- > 0;) {
		struct code_value v = load(other, &st->slot[i].at);

		if (v.kind == CODE_ANY || !equal(&v, &st->slot[i].value)) {
			drop(st, i);
			changed = true;
		}
	}
	return changed;
}

const char *code_state_join(struct code_state *st, const struct code_state *other, bool *changed)
{
	*changed = false;
	if (!equal(&st->reg[X86_SP], &other->reg[X86_SP]))
		return "two paths to one instruction have different stack pointers";
	for (int i = 0; i < X86_REGS; i++) {
		if (st->reg[i].kind == CODE_ANY || equal(&st->reg[i], &other->reg[i]))
			continue;
		st->reg[i] = any;
		*changed = true;
	}
	*changed |= keep_common_slots(st, other);
	return NULL;
}

bool code_state_balanced(const struct code_state *st)
{
	return st->reg[X86_SP].kind == CODE_CFA && st->reg[X86_SP].off == -WORD;
}

static bool is_entry(const struct code_value *v, uint8_t reg)
{
	return v->kind == CODE_ENTRY && v->base == reg;
}

bool code_state_has_entry(const struct code_state *st, uint8_t reg)
{
	return is_entry(&st->reg[reg], reg);
}

static uint8_t dwarf_number(uint8_t reg)
{
	/* DWARF numbers of the first eight general registers: psABI, figure 3.36 */
	static const uint8_t of[8] = {0, 2, 1, 3, 7, 6, 4, 5};

	return reg < 8 ? of[reg] : reg;
}

/* Finds a register that gives the CFA. Registers that survive calls are tried first. */
static bool cfa_in_register(const struct code_state *st, struct unwind_rule *ret)
{
	static const uint8_t order[X86_REGS] = {X86_SP, X86_BP, X86_BX, 12,	13, 14, 15, X86_AX,
						X86_CX, X86_DX, X86_SI, X86_DI, 8,  9,	10, 11};

	for (int i = 0; i < X86_REGS; i++) {
		const struct code_value *v = &st->reg[order[i]];

		if (v->kind != CODE_CFA)
			continue;
		ret->cfa = UNWIND_REG;
		ret->reg = dwarf_number(order[i]);
		ret->off = (int32_t)-v->off;
		return true;
	}
	return false;
}

/* Finds a word of the stack that gives the CFA, where the stack was realigned. */
static bool cfa_in_memory(const struct code_state *st, struct unwind_rule *ret)
{
	const struct code_value *sp = &st->reg[X86_SP];

	for (uint32_t i = 0; i < st->slots; i++) {
		const struct code_slot *slot = &st->slot[i];

		if (slot->value.kind != CODE_CFA || !same_base(&slot->at, sp) ||
		    -slot->value.off != (int16_t)-slot->value.off)
			continue;
		ret->cfa = UNWIND_DEREF;
		ret->reg = dwarf_number(X86_SP);
		ret->off = (int32_t)(slot->at.off - sp->off);
		ret->off2 = (int16_t)-slot->value.off;
		return true;
	}
	return false;
}

static int16_t saved(const struct code_state *st, uint8_t reg)
{
	if (code_state_has_entry(st, reg))
		return UNWIND_SAME;
	for (uint32_t i = 0; i < st->slots; i++) {
		const struct code_slot *slot = &st->slot[i];

		if (slot->at.kind == CODE_CFA && is_entry(&slot->value, reg) &&
		    !(slot->at.off % WORD) && slot->at.off / WORD >= INT16_MIN)
			return (int16_t)(slot->at.off / WORD);
	}
	return UNWIND_LOST;
}

void code_state_rule(const struct code_state *st, uint16_t lost, struct unwind_rule *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!cfa_in_register(st, ret) && !cfa_in_memory(st, ret))
		return;
	ret->ra = -1;
	ret->fp = lost >> X86_BP & 1 ? UNWIND_LOST : saved(st, X86_BP);
	ret->bx = lost >> X86_BX & 1 ? UNWIND_LOST : saved(st, X86_BX);
}

bool code_state_judge(const struct code_state *st, const struct unwind_rule *rule, int64_t *ret)
{
	struct code_value v = any;

	for (uint8_t reg = 0; reg < X86_REGS; reg++)
		if (dwarf_number(reg) == rule->reg)
			v = plus(st->reg[reg], rule->off);
	if (rule->cfa == UNWIND_DEREF)
		v = plus(load(st, &v), rule->off2);
	else if (rule->cfa != UNWIND_REG)
		return false;
	*ret = v.off;
	return v.kind == CODE_CFA;
}

bool code_state_holds(const struct code_state *st, uint8_t reg, int16_t slot)
{
	struct code_value at = {CODE_CFA, 0, (int64_t)slot * WORD}, v;

	if (slot == UNWIND_LOST || saved(st, reg) == UNWIND_LOST)
		return true;
	/*
	 * The register still has the caller's value, and the function may have saved that value by
	 * an instruction that krait doesn't interpret (sanitizers' `lock or $0,(%rsp)`).
	 */
	if (slot != UNWIND_SAME && code_state_has_entry(st, reg))
		return true;
	v = slot == UNWIND_SAME ? st->reg[reg] : load(st, &at);
	return is_entry(&v, reg);
}
