/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a struct unwind_rule from a state of call frame information. Decodes expressions as far as
 * a rule can express them.
 */
#include "unwind/cfi/cfi.h"

enum {
	OP_DEREF = 0x06,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_LIT8 = 0x38,
	OP_LIT15 = 0x3f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};

#define SLOT_BYTES 8

const struct cfi_arch *cfi_arch(enum elf_machine machine)
{
	static const struct cfi_arch x86_64 = {
		.reg = {[CFI_RA] = 16, [CFI_FP] = 6, [CFI_BX] = 3, [CFI_SP] = 7},
		.plt = true,
		.ucontext = true,
	};
	static const struct cfi_arch aarch64 = {
		.reg = {[CFI_RA] = 30, [CFI_FP] = 29, [CFI_BX] = 19, [CFI_SP] = 31},
		.ra_in_register = true,
		.ra_signing = true,
	};

	return machine == ELF_AARCH64 ? &aarch64 : &x86_64;
}

/* Reads DW_OP_breg<reg> <off>, which is register @reg plus @off. */
static bool read_breg(struct cfi_reader *e, uint8_t *reg, int32_t *off)
{
	uint8_t op = (uint8_t)cfi_fixed(e, 1);
	int64_t v;

	if (op < OP_BREG0 || op > OP_BREG31)
		return false;
	v = cfi_sleb(e);
	*reg = (uint8_t)(op - OP_BREG0);
	*off = (int32_t)v;
	return !e->bad && v == *off;
}

/*
 * Is @e the expression that binutils writes for lazy PLTs? That is: breg7 (rsp) 8, breg16 (rip) 0,
 * lit15, and, lit<n>, ge, lit3, shl, plus. The expression gives rsp + 8 and, from byte n of a
 * 16-byte entry on, rsp + 16. n is 11; with -z ibtplt it is 9 or 10.
 */
static bool is_plt(struct cfi_reader e, int32_t *literal)
{
	static const uint8_t head[] = {0x77, 8, 0x80, 0, OP_LIT15, 0x1a},
			     tail[] = {0x2a, 0x33, 0x24, 0x22};
	const uint8_t *p = e.p;

	if (e.end - p != sizeof(head) + 1 + sizeof(tail) || memcmp(p, head, sizeof(head)) ||
	    memcmp(p + sizeof(head) + 1, tail, sizeof(tail)))
		return false;
	*literal = p[sizeof(head)] - OP_LIT0;
	return *literal >= 0 && *literal <= 15;
}

/*
 * Reads the index of an expression: breg<index> 0, lit8, mul, plus. If there is no index, reads
 * nothing and returns true.
 */
static bool read_index(struct cfi_reader *e, bool *indexed, uint8_t *index)
{
	int32_t off;

	*indexed = e->p < e->end && *e->p >= OP_BREG0 && *e->p <= OP_BREG31;
	return !*indexed || (read_breg(e, index, &off) && !off && cfi_fixed(e, 1) == OP_LIT8 &&
			     cfi_fixed(e, 1) == OP_MUL && cfi_fixed(e, 1) == OP_PLUS);
}

void cfi_cfa_expression(const struct cfi_arch *arch, struct cfi_reader e, struct cfi_state *st)
{
	bool indexed = false;
	uint64_t plus;

	st->cfa.kind = UNWIND_UNKNOWN;
	st->cfa.off2 = 0;
	st->cfa.index = 0;
	if (arch->plt && is_plt(e, &st->cfa.eoff)) {
		st->cfa.kind = UNWIND_PLT;
		st->cfa.ereg = arch->reg[CFI_SP];
		return;
	}
	if (!read_breg(&e, &st->cfa.ereg, &st->cfa.eoff) ||
	    !read_index(&e, &indexed, &st->cfa.index) || cfi_fixed(&e, 1) != OP_DEREF)
		return;
	if (e.p < e.end) {
		if (cfi_fixed(&e, 1) != OP_PLUS_UCONST)
			return;
		plus = cfi_uleb(&e);
		if (plus > INT16_MAX)
			return;
		st->cfa.off2 = (int16_t)plus;
	}
	if (!e.bad && e.p == e.end)
		st->cfa.kind = indexed ? UNWIND_INDEXED : UNWIND_DEREF;
}

void cfi_place_expression(struct cfi_reader e, struct cfi_place *place)
{
	*place = (struct cfi_place){.how = CFI_OTHER};
	if (read_breg(&e, &place->reg, &place->off) && e.p == e.end)
		place->how = CFI_AT_REG;
}

/*
 * Is @st the state of glibc's __restore_rt on x86-64? The call frame information of __restore_rt
 * has an expression for every register. Each expression counts from rsp, which leads to a struct
 * ucontext. Three registers are checked: rsp, rip and rbp must be at their offsets in uc_mcontext.
 * Sets *@off to the ucontext's offset from rsp.
 */
static bool is_ucontext(const struct cfi_arch *arch, const struct cfi_state *st, int32_t *off)
{
	enum { UC_RBP = 120, UC_RSP = 160, UC_RIP = 168 };
	const struct cfi_place *ra = &st->col[CFI_RA], *fp = &st->col[CFI_FP];
	uint8_t sp = arch->reg[CFI_SP];

	if (!arch->ucontext || st->cfa.kind != UNWIND_DEREF || st->cfa.ereg != sp || st->cfa.off2 ||
	    ra->how != CFI_AT_REG || ra->reg != sp || fp->how != CFI_AT_REG || fp->reg != sp)
		return false;
	*off = st->cfa.eoff - UC_RSP;
	return *off >= 0 && *off <= INT16_MAX && ra->off == *off + UC_RIP &&
	       fp->off == *off + UC_RBP;
}

/*
 * Returns where a register is saved, as an offset in units of 8 bytes; or UNWIND_SAME, UNWIND_LOST.
 * With CFI_AT_REG, the offset may only count from register @fp.
 */
static int16_t slot(const struct cfi_place *place, uint8_t fp)
{
	if (place->how == CFI_UNSET || place->how == CFI_SAME)
		return UNWIND_SAME;
	if ((place->how != CFI_AT_CFA && (place->how != CFI_AT_REG || place->reg != fp)) ||
	    place->off % SLOT_BYTES || place->off / SLOT_BYTES < INT16_MIN ||
	    place->off / SLOT_BYTES >= UNWIND_LOST)
		return UNWIND_LOST;
	return (int16_t)(place->off / SLOT_BYTES);
}

/*
 * Does what slot() does, and sets @flag in .slots if the offset counts from the frame pointer. An
 * offset from the frame pointer is used only if the frame pointer surely belongs to this frame. In
 * the epilogue of a function that realigns its stack, after the pop of rbp, GCC 12 still states
 * such offsets, though rbp is the caller's again.
 */
static int16_t saved(const struct cfi_arch *arch, const struct cfi_place *place, uint8_t flag,
		     struct unwind_rule *ret)
{
	/* GCC and clang realign a stack with such a CFA */
	bool own = (ret->cfa == UNWIND_DEREF && ret->reg == arch->reg[CFI_FP]) ||
		   /* icc realigns a stack with such a CFA */
		   (ret->cfa == UNWIND_REG && ret->reg == arch->reg[CFI_BX]);
	int16_t at = slot(place, own ? arch->reg[CFI_FP] : CFI_NONE);

	if (place->how == CFI_AT_REG && at != UNWIND_LOST)
		ret->slots |= flag;
	return at;
}

/*
 * Sets in @ret where the return address is. On x86-64 it may be in any of the 16 registers. False:
 * the return address can't be found.
 */
static bool set_return(const struct cfi_arch *arch, const struct cfi_place *ra,
		       struct unwind_rule *ret)
{
	if (!arch->ra_in_register && ra->how == CFI_IN_REG && ra->reg < 16 &&
	    ret->cfa != UNWIND_INDEXED) {
		ret->ra = UNWIND_SAME;
		ret->index = ra->reg;
		ret->slots |= UNWIND_RA_IN_INDEX;
		return true;
	}
	ret->ra = slot(ra, CFI_NONE);
	return ret->ra != UNWIND_LOST && (ret->ra != UNWIND_SAME || arch->ra_in_register);
}

/* Sets in @ret where the caller's registers are; false: the caller can't be found. */
static bool set_slots(const struct cfi_arch *arch, const struct cfi_state *st,
		      struct unwind_rule *ret)
{
	const struct cfi_place *sp = &st->col[CFI_SP];

	/*
	 * the caller's stack pointer is the CFA, unless the call frame information says otherwise
	 */
	if (sp->how != CFI_UNSET && !(sp->how == CFI_IS_CFA && !sp->off))
		return false;
	ret->fp = saved(arch, &st->col[CFI_FP], UNWIND_FP_FROM_FP, ret);
	ret->bx = saved(arch, &st->col[CFI_BX], UNWIND_BX_FROM_FP, ret);
	return set_return(arch, &st->col[CFI_RA], ret);
}

static bool set_cfa(const struct cfi_state *st, struct unwind_rule *ret)
{
	ret->cfa = st->cfa.kind;
	ret->reg = st->cfa.ereg;
	ret->off = st->cfa.eoff;
	if (st->cfa.kind == UNWIND_DEREF || st->cfa.kind == UNWIND_INDEXED)
		ret->off2 = st->cfa.off2;
	if (st->cfa.kind == UNWIND_INDEXED)
		ret->index = st->cfa.index;
	if (st->cfa.kind == UNWIND_REG) {
		ret->reg = (uint8_t)st->cfa.reg;
		ret->off = (int32_t)st->cfa.off;
		return ret->reg == st->cfa.reg && ret->off == st->cfa.off;
	}
	return st->cfa.kind != UNWIND_UNKNOWN;
}

void cfi_rule(const struct cfi_arch *arch, const struct cfi_state *st, bool signal,
	      struct unwind_rule *ret)
{
	int32_t off;

	*ret = (struct unwind_rule){};
	if (st->col[CFI_RA].how == CFI_UNDEFINED) {
		ret->cfa = UNWIND_END;
	} else if (signal) {
		if (is_ucontext(arch, st, &off))
			*ret = (struct unwind_rule){
				.cfa = UNWIND_SIGNAL, .reg = st->cfa.ereg, .off = off};
	} else if (!set_cfa(st, ret) || !set_slots(arch, st, ret)) {
		*ret = (struct unwind_rule){};
	}
}
