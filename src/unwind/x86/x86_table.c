/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognizes the instructions before a jump through a table; see x86_table.h. */
#include "unwind/x86/x86_table.h"

#include "unwind/x86/x86_insn.h"

#define REX_W 8
#define REX_R 4
#define REX_B 1

/*
 * What is known of a register's value. NOTHING; TABLE: it is the address of a table; ENTRY: an
 * entry of a table; PLACE: the sum of a table's address and an entry.
 */
enum holds { NOTHING, TABLE, ENTRY, PLACE };

struct known {
	enum holds holds;
	int64_t at;
	uint32_t since;
};

struct search {
	struct known reg[X86_REGS];
	/*
	 * the number N in the last `cmp $N,%i`; -1: there was none, or another comparison came
	 * after it
	 */
	int64_t compared;
	uint32_t bound;
};

/* The first bytes of an instruction, as far as finding tables needs them. */
struct raw {
	uint8_t rex, op, modrm, sib;
};

static struct raw take_apart(const uint8_t *b, uint8_t len)
{
	struct raw w = {.op = b[0]};
	uint8_t i = 0;

	if ((b[0] & 0xf0) == 0x40 && len > 1) {
		w.rex = b[0];
		w.op = b[++i];
	}
	w.modrm = i + 1 < len ? b[i + 1] : 0;
	w.sib = i + 2 < len ? b[i + 2] : 0;
	return w;
}

static uint8_t reg_of(const struct raw *w)
{
	return (w->modrm >> 3 & 7) | (w->rex & REX_R ? 8 : 0);
}

static uint8_t rm_of(const struct raw *w)
{
	return (w->modrm & 7) | (w->rex & REX_B ? 8 : 0);
}

/* Returns what is known of %d after movslq (%a,%i,4),%d, which loads an entry of a table. */
static struct known load_entry(const struct search *s, const struct raw *w)
{
	struct known none = {}, k;

	if (!(w->rex & REX_W) || w->op != 0x63 || w->modrm >> 6 || (w->modrm & 7) != 4 ||
	    w->sib >> 6 != 2 || (w->sib & 7) == 5)
		return none;
	k = s->reg[(w->sib & 7) | (w->rex & REX_B ? 8 : 0)];
	if (k.holds != TABLE)
		return none;
	k.holds = ENTRY;
	return k;
}

/*
 * Returns what is known of %d after add %a,%d or add %d,%a, which adds a table's address and an
 * entry.
 */
static struct known add_base(const struct search *s, const struct raw *w, uint8_t *to)
{
	struct known none = {}, a, b;

	if (!(w->rex & REX_W) || (w->op != 0x01 && w->op != 0x03) || w->modrm >> 6 != 3)
		return none;
	*to = w->op == 0x01 ? rm_of(w) : reg_of(w);
	a = s->reg[rm_of(w)];
	b = s->reg[reg_of(w)];
	if (a.at != b.at ||
	    !((a.holds == TABLE && b.holds == ENTRY) || (a.holds == ENTRY && b.holds == TABLE)))
		return none;
	a.holds = PLACE;
	a.since = MIN(a.since, b.since);
	return a;
}

/*
 * Does the instruction keep the flags? Only moves and jumps are known to keep them, which is
 * enough.
 */
static bool keeps_flags(const struct raw *w, const struct x86_insn *insn)
{
	bool two = w->op == 0x0f;

	return insn->kind == X86_MOVE || insn->kind == X86_LOAD || insn->kind == X86_STORE ||
	       insn->kind == X86_LEA || insn->kind == X86_LEA_RIP || insn->kind == X86_BRANCH ||
	       (w->op >= 0x88 && w->op <= 0x8b) || w->op == 0x63 || (w->op & 0xf0) == 0xb0 ||
	       (two &&
		(w->modrm == 0xb6 || w->modrm == 0xb7 || w->modrm == 0xbe || w->modrm == 0xbf));
}

/* Notes cmp $N,%i, which bounds an index. False: @insn is another instruction. */
static bool note_comparison(struct search *s, const struct raw *w, const uint8_t *b, uint8_t len)
{
	bool group = (w->op & 0xfc) == 0x80 && (w->modrm >> 3 & 7) == 7;
	int32_t wide;

	if (len > 4 && ((group && w->op == 0x81) || w->op == 0x3d)) {
		memcpy(&wide, b + len - 4, sizeof(wide));
		s->compared = wide;
		return true;
	}
	if (!(group && w->op != 0x81) && w->op != 0x3c)
		return false;
	s->compared = (int8_t)b[len - 1];
	return true;
}

/*
 * Notes the number of a table's entries. Only the jump that is taken when the index is too large
 * shows this number.
 */
static void count_entries(struct search *s, const struct raw *w, const struct x86_insn *insn,
			  const uint8_t *b)
{
	uint8_t condition = w->op == 0x0f ? w->modrm - 0x80 : w->op - 0x70;
	bool known = s->compared >= 0 && s->compared < CODE_TABLE_MOST;

	/* after ja or jae that isn't taken, the index is below the bound */
	if (insn->kind == X86_BRANCH && (condition == 7 || condition == 3))
		s->bound = known ? (uint32_t)s->compared + (condition == 7) : 0;
	else if (!note_comparison(s, w, b, insn->len) && !keeps_flags(w, insn))
		s->compared = -1;
}

static void step(struct search *s, const struct x86_insn *insn, const uint8_t *b, uint32_t key)
{
	struct raw w = take_apart(b, insn->len);
	uint8_t to = reg_of(&w);
	struct known k = {};

	if (insn->kind == X86_LEA_RIP) {
		k = (struct known){TABLE, (int64_t)key + insn->len + insn->disp, key};
		to = insn->reg;
	} else if (insn->kind == X86_PLAIN) {
		k = load_entry(s, &w);
		if (!k.holds)
			k = add_base(s, &w, &to);
	}
	count_entries(s, &w, insn, b);
	for (int i = 0; i < X86_REGS; i++)
		if (insn->writes >> i & 1 || insn->kind == X86_CALL || insn->kind == X86_CALL_ANY)
			s->reg[i] = (struct known){};
	if (k.holds)
		s->reg[to] = k;
}

/* Returns the register of jmp *%d, which may have the prefix notrack. */
static uint8_t jump_register(const uint8_t *b, uint8_t len)
{
	struct raw w;

	if (len > 2 && b[0] == 0x3e) {
		b++;
		len--;
	}
	w = take_apart(b, len);
	return w.op == 0xff && w.modrm >> 6 == 3 && (w.modrm >> 3 & 7) == 4 ? rm_of(&w)
									    : X86_NO_REG;
}

bool code_table_find(const uint8_t *bytes, size_t jump, size_t n, uint32_t key,
		     struct code_table *ret)
{
	struct search s = {.compared = -1};
	struct x86_insn insn;
	uint8_t reg;

	for (size_t i = 0; i < jump; i += insn.len) {
		if (!x86_decode(bytes + i, n - i, &insn))
			return false;
		step(&s, &insn, bytes + i, key + (uint32_t)i);
	}
	if (!x86_decode(bytes + jump, n - jump, &insn))
		return false;
	reg = jump_register(bytes + jump, insn.len);
	if (reg == X86_NO_REG || s.reg[reg].holds != PLACE)
		return false;
	*ret = (struct code_table){s.reg[reg].at, s.bound, s.reg[reg].since};
	return true;
}
