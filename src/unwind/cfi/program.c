/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the instructions of CIEs and FDEs: DWARF 5, sections 6.4.2 and 6.4.3. */
#include "unwind/cfi/cfi.h"

enum {
	/* These three have an operand in their low six bits. */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC,
	CFA_ADVANCE_LOC1,
	CFA_ADVANCE_LOC2,
	CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER,
	CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/*
 * Returns the column of the state that has the rule of DWARF register @reg; CFI_COLUMNS: krait
 * doesn't follow that register.
 */
static size_t column(const struct cfi_run *r, uint64_t reg)
{
	const uint8_t *regs = r->section->arch->reg;
	size_t i = 0;

	while (i < CFI_COLUMNS && (regs[i] != reg || reg == CFI_NONE))
		i++;
	return i;
}

static void set_place(struct cfi_run *r, uint64_t reg, enum cfi_how how, int64_t v, int64_t scale)
{
	struct cfi_place place = {.how = (uint8_t)how};
	size_t col = column(r, reg);
	int64_t off;

	if (col == CFI_COLUMNS)
		return;
	if (__builtin_mul_overflow(v, scale, &off) || off != (int32_t)off)
		place.how = CFI_OTHER;
	else
		place.off = (int32_t)off;
	r->st.col[col] = place;
	r->changed = true;
}

static void set_plain(struct cfi_run *r, uint64_t reg, enum cfi_how how)
{
	set_place(r, reg, how, 0, 1);
}

static void set_register(struct cfi_run *r, uint64_t reg, uint64_t in)
{
	size_t col = column(r, reg);

	set_plain(r, reg, in < CFI_NONE ? CFI_IN_REG : CFI_OTHER);
	if (col != CFI_COLUMNS)
		r->st.col[col].reg = (uint8_t)in;
}

static void set_expression(struct cfi_run *r)
{
	size_t col = column(r, cfi_uleb(&r->in));
	struct cfi_reader e = cfi_block(&r->in, cfi_uleb(&r->in));

	if (col == CFI_COLUMNS)
		return;
	cfi_place_expression(e, &r->st.col[col]);
	r->changed = true;
}

static void restore(struct cfi_run *r, uint64_t reg)
{
	size_t col = column(r, reg);

	if (col == CFI_COLUMNS)
		return;
	r->st.col[col] = r->cie->initial.col[col];
	r->changed = true;
}

static void set_cfa_offset(struct cfi_run *r, int64_t v, int64_t scale)
{
	if (__builtin_mul_overflow(v, scale, &r->st.cfa.off))
		r->broken = "an offset of the CFA doesn't fit in 64 bits";
	r->changed = true;
}

static void set_cfa_register(struct cfi_run *r, uint64_t reg)
{
	r->st.cfa.kind = UNWIND_REG;
	r->st.cfa.reg = reg;
	r->changed = true;
}

static void set_cfa(struct cfi_run *r, uint64_t reg, int64_t v, int64_t scale)
{
	set_cfa_register(r, reg);
	set_cfa_offset(r, v, scale);
}

static void cfa_expression(struct cfi_run *r)
{
	cfi_cfa_expression(r->section->arch, cfi_block(&r->in, cfi_uleb(&r->in)), &r->st);
	r->changed = true;
}

static void remember(struct cfi_run *r)
{
	if (r->nested == CFI_NESTED_MAX)
		r->broken = "DW_CFA_remember_state is nested too deeply";
	else
		r->saved[r->nested++] = r->st;
}

static void recall(struct cfi_run *r)
{
	if (!r->nested) {
		r->broken = "DW_CFA_restore_state without DW_CFA_remember_state";
		return;
	}
	r->st = r->saved[--r->nested];
	r->changed = true;
}

static void advance(struct cfi_run *r, uint64_t delta)
{
	delta *= r->cie->code_align;
	r->to = delta < r->end - r->to ? r->to + delta : r->end;
}

static void set_loc(struct cfi_run *r)
{
	uint64_t to;

	if (!cfi_pointer(r->section, &r->in, r->cie->encoding, &to) || to < r->to)
		r->broken = "DW_CFA_set_loc leads to an address that is unreadable or lower";
	else
		r->to = MIN(to, r->end);
}

/* Runs the instructions that have a register and an offset as operands. */
static void step_register(struct cfi_run *r, uint8_t op)
{
	uint64_t reg = cfi_uleb(&r->in);
	int64_t align = r->cie->data_align;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		return set_place(r, reg, CFI_AT_CFA, (int64_t)cfi_uleb(&r->in), align);
	case CFA_OFFSET_EXTENDED_SF:
		return set_place(r, reg, CFI_AT_CFA, cfi_sleb(&r->in), align);
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		return set_place(r, reg, CFI_AT_CFA, (int64_t)cfi_uleb(&r->in), -align);
	case CFA_VAL_OFFSET:
		return set_place(r, reg, CFI_IS_CFA, (int64_t)cfi_uleb(&r->in), align);
	case CFA_VAL_OFFSET_SF:
		return set_place(r, reg, CFI_IS_CFA, cfi_sleb(&r->in), align);
	case CFA_RESTORE_EXTENDED:
		return restore(r, reg);
	case CFA_UNDEFINED:
		return set_plain(r, reg, CFI_UNDEFINED);
	case CFA_SAME_VALUE:
		return set_plain(r, reg, CFI_SAME);
	case CFA_REGISTER:
		return set_register(r, reg, cfi_uleb(&r->in));
	case CFA_VAL_EXPRESSION:
		cfi_block(&r->in, cfi_uleb(&r->in));
		return set_plain(r, reg, CFI_OTHER);
	case CFA_DEF_CFA:
		return set_cfa(r, reg, (int64_t)cfi_uleb(&r->in), 1);
	case CFA_DEF_CFA_SF:
		return set_cfa(r, reg, cfi_sleb(&r->in), align);
	default:
		r->broken = "unknown call frame instruction";
	}
}

static void step_other(struct cfi_run *r, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return;
	case CFA_SET_LOC:
		return set_loc(r);
	case CFA_ADVANCE_LOC1:
		return advance(r, cfi_fixed(&r->in, 1));
	case CFA_ADVANCE_LOC2:
		return advance(r, cfi_fixed(&r->in, 2));
	case CFA_ADVANCE_LOC4:
		return advance(r, cfi_fixed(&r->in, 4));
	case CFA_REMEMBER_STATE:
		return remember(r);
	case CFA_RESTORE_STATE:
		return recall(r);
	case CFA_DEF_CFA_REGISTER:
		return set_cfa_register(r, cfi_uleb(&r->in));
	case CFA_DEF_CFA_OFFSET:
		return set_cfa_offset(r, (int64_t)cfi_uleb(&r->in), 1);
	case CFA_DEF_CFA_OFFSET_SF:
		return set_cfa_offset(r, cfi_sleb(&r->in), r->cie->data_align);
	case CFA_DEF_CFA_EXPRESSION:
		return cfa_expression(r);
	case CFA_EXPRESSION:
		return set_expression(r);
	case CFA_GNU_ARGS_SIZE: /* only throwing an exception needs this instruction */
		cfi_uleb(&r->in);
		return;
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		/*
		 * the rule needn't show that a return address is signed: the unwinder strips all
		 * signatures
		 */
		if (!r->section->arch->ra_signing)
			r->broken = "unknown call frame instruction";
		return;
	default:
		return step_register(r, op);
	}
}

static void step(struct cfi_run *r)
{
	uint8_t op = *r->in.p++;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		advance(r, op & 0x3f);
		break;
	case CFA_OFFSET:
		set_place(r, op & 0x3f, CFI_AT_CFA, (int64_t)cfi_uleb(&r->in), r->cie->data_align);
		break;
	case CFA_RESTORE:
		restore(r, op & 0x3f);
		break;
	default:
		step_other(r, op);
	}
	if (r->in.bad)
		r->broken = "a call frame instruction is cut off";
}

void cfi_run_init(struct cfi_run *r, const struct cfi_section *section, const struct cfi_cie *cie,
		  const struct cfi_fde *fde)
{
	const uint8_t *program = section->bytes + fde->program;

	r->section = section;
	r->cie = cie;
	r->in = (struct cfi_reader){program, program + fde->program_n};
	r->from = r->to = fde->start;
	r->end = fde->end;
	r->broken = NULL;
	r->changed = true;
	r->nested = 0;
	r->st = cie->initial;
}

bool cfi_next_row(struct cfi_run *r)
{
	r->from = r->to;
	if (r->from == r->end)
		return false;
	while (r->to == r->from && !r->broken && r->in.p < r->in.end)
		step(r);
	if (r->broken) {
		r->st.cfa.kind = UNWIND_UNKNOWN;
		memset(r->st.col, 0, sizeof(r->st.col));
		r->changed = true;
		r->to = r->from;
	}
	if (r->to == r->from)
		r->to = r->end;
	return true;
}

const char *cfi_initial(const struct cfi_section *section, struct cfi_cie *cie,
			struct cfi_reader program)
{
	struct cfi_fde all = {.end = UINT64_MAX,
			      .program = (uint32_t)(program.p - section->bytes),
			      .program_n = (uint32_t)(program.end - program.p)};
	struct cfi_run r;

	if (section->arch->ra_in_register)
		cie->initial.col[CFI_RA].how = CFI_SAME;
	cfi_run_init(&r, section, cie, &all);
	cfi_next_row(&r);
	if (!r.broken && r.to != r.end)
		return "address advanced in a CIE";
	cie->initial = r.st;
	return r.broken;
}
