/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of opcodes: which bytes follow an opcode, and which general registers it may change (Intel
 * SDM volume 2, appendix A; AMD APM volume 3, appendix A). Vector registers don't matter to krait.
 * An opcode that isn't in a table is refused.
 */
#include "unwind/x86/x86_opcodes.h"

#define M    X86_MODRM
#define I8   X86_IMM8
#define IZ   X86_IMMZ
#define BAD  X86_BAD
#define RM   (M | X86_W_RM)
#define REG  (M | X86_W_REG)
#define RM8  (RM | X86_BYTE)
#define REG8 (REG | X86_BYTE)
#define W    X86_W

/* The eight arithmetic operations (add ... cmp) have six opcodes each. */
#define ARITHMETIC(op)                                                                             \
	[op] = RM8, [(op) + 1] = RM, [(op) + 2] = REG8, [(op) + 3] = REG,                          \
	[(op) + 4] = I8 | W(X86_AX), [(op) + 5] = IZ | W(X86_AX), [(op) + 6 ...(op) + 7] = BAD

/* clang-format off */
static const uint32_t one_byte[256] = {
	ARITHMETIC(0x00), ARITHMETIC(0x08), ARITHMETIC(0x10), ARITHMETIC(0x18),
	ARITHMETIC(0x20), ARITHMETIC(0x28), ARITHMETIC(0x30),
	[0x38 ... 0x3b] = M, [0x3c] = I8, [0x3d] = IZ,
	[0x3e ... 0x4f] = BAD, /* prefixes: they have been read before the opcode */
	[0x50 ... 0x57] = W(X86_SP), [0x58 ... 0x5f] = X86_W_LOW | W(X86_SP),
	[0x60 ... 0x62] = BAD, [0x63] = REG, [0x64 ... 0x67] = BAD,
	[0x68] = IZ | W(X86_SP), [0x69] = REG | IZ, [0x6a] = I8 | W(X86_SP), [0x6b] = REG | I8,
	[0x6c ... 0x6f] = BAD, /* ins and outs, which ordinary programs don't execute */
	[0x70 ... 0x7f] = I8,
	[0x80] = RM8 | I8, [0x81] = RM | IZ, [0x82] = BAD, [0x83] = RM | I8,
	[0x84 ... 0x85] = M, [0x86] = RM8 | REG8, [0x87] = RM | REG,
	[0x88] = RM8, [0x89] = RM, [0x8a] = REG8, [0x8b] = REG,
	/* these move from and to segment registers, or pop to memory */
	[0x8c] = RM, [0x8d] = REG, [0x8e ... 0x8f] = BAD,
	[0x90] = X86_W_LOW, [0x91 ... 0x97] = X86_W_LOW | W(X86_AX),
	[0x98] = W(X86_AX), [0x99] = W(X86_DX), [0x9a] = BAD, [0x9b] = 0,
	[0x9c] = W(X86_SP), [0x9d] = W(X86_SP), [0x9e] = 0, [0x9f] = W(X86_AX),
	[0xa0 ... 0xa1] = X86_MOFFS | W(X86_AX), [0xa2 ... 0xa3] = X86_MOFFS,
	[0xa4 ... 0xa5] = W(X86_SI) | W(X86_DI) | W(X86_CX),
	[0xa6 ... 0xa7] = W(X86_SI) | W(X86_DI) | W(X86_CX),
	[0xa8] = I8, [0xa9] = IZ,
	[0xaa ... 0xab] = W(X86_DI) | W(X86_CX),
	[0xac ... 0xad] = W(X86_AX) | W(X86_SI) | W(X86_CX),
	[0xae ... 0xaf] = W(X86_DI) | W(X86_CX),
	[0xb0 ... 0xb7] = I8 | X86_W_LOW | X86_BYTE, [0xb8 ... 0xbf] = X86_IMMV | X86_W_LOW,
	[0xc0] = RM8 | I8, [0xc1] = RM | I8, [0xc2] = X86_IMM16 | W(X86_SP), [0xc3] = W(X86_SP),
	[0xc4 ... 0xc5] = BAD, [0xc6] = RM8 | I8, [0xc7] = RM | IZ,
	[0xc8] = BAD, [0xc9] = W(X86_SP) | W(X86_BP), [0xca ... 0xcb] = BAD, [0xcc] = 0,
	[0xcd ... 0xcf] = BAD,
	[0xd0] = RM8, [0xd1] = RM, [0xd2] = RM8, [0xd3] = RM,
	[0xd4 ... 0xd6] = BAD, [0xd7] = W(X86_AX), [0xd8 ... 0xdf] = M,
	[0xe0 ... 0xe2] = I8 | W(X86_CX), [0xe3] = I8, [0xe4 ... 0xe7] = BAD,
	[0xe8] = IZ | W(X86_SP), [0xe9] = IZ, [0xea] = BAD, [0xeb] = I8, [0xec ... 0xf3] = BAD,
	[0xf4] = 0, [0xf5] = 0, [0xf6] = RM8, [0xf7] = RM,
	[0xf8 ... 0xf9] = 0, [0xfa ... 0xfb] = BAD, [0xfc ... 0xfd] = 0, [0xfe] = RM8, [0xff] = RM,
};

static const uint32_t two_bytes[256] = {
	[0x00] = BAD, [0x01] = M, [0x02 ... 0x03] = REG, [0x04] = BAD,
	[0x05] = W(X86_AX) | W(X86_CX) | W(X86_R11), [0x06 ... 0x0a] = BAD, [0x0b] = 0,
	[0x0c] = BAD, [0x0d] = M, [0x0e ... 0x0f] = BAD, /* 3DNow! instructions */
	[0x10 ... 0x1f] = M, [0x20 ... 0x27] = BAD, [0x28 ... 0x2b] = M,
	[0x2c ... 0x2d] = M, [0x2e ... 0x2f] = M,
	[0x30] = BAD, [0x31] = W(X86_AX) | W(X86_DX), [0x32] = BAD, [0x33] = W(X86_AX) | W(X86_DX),
	[0x34 ... 0x3f] = BAD,
	[0x40 ... 0x4f] = REG, [0x50] = REG, [0x51 ... 0x6f] = M,
	[0x70 ... 0x73] = M | I8, [0x74 ... 0x76] = M, [0x77] = 0, [0x78 ... 0x7b] = BAD,
	[0x7c ... 0x7d] = M, [0x7e] = M, [0x7f] = M,
	[0x80 ... 0x8f] = IZ, [0x90 ... 0x9f] = RM8, [0xa0 ... 0xa1] = BAD,
	[0xa2] = W(X86_AX) | W(X86_BX) | W(X86_CX) | W(X86_DX), [0xa3] = M,
	[0xa4] = RM | I8, [0xa5] = RM, [0xa6 ... 0xaa] = BAD,
	[0xab] = RM, [0xac] = RM | I8, [0xad] = RM, [0xae] = M, [0xaf] = REG,
	[0xb0] = RM8 | W(X86_AX), [0xb1] = RM | W(X86_AX), [0xb2] = BAD, [0xb3] = RM,
	[0xb4 ... 0xb5] = BAD, [0xb6 ... 0xb7] = REG, [0xb8] = REG, [0xb9] = M,
	[0xba] = RM | I8, [0xbb] = RM, [0xbc ... 0xbf] = REG,
	[0xc0] = RM8 | REG8, [0xc1] = RM | REG, [0xc2] = M | I8, [0xc3] = M, [0xc4] = M | I8,
	[0xc5] = REG | I8, [0xc6] = M | I8, [0xc7] = M, [0xc8 ... 0xcf] = X86_W_LOW,
	[0xd0 ... 0xd6] = M, [0xd7] = REG, [0xd8 ... 0xfe] = M, [0xff] = BAD,
};
/* clang-format on */

static bool scalar(const struct x86_decode *d)
{
	return d->rep;
}

/*
 * Flags of opcodes that follow 0F. With VEX and EVEX, conversions to integers and moves to general
 * registers have other flags.
 */
static uint32_t map1(const struct x86_decode *d)
{
	uint32_t flags = two_bytes[d->op];
	bool vector = d->form != X86_LEGACY;

	switch (d->op) {
	case 0x2c:
	case 0x2d:
		return scalar(d) ? REG : M;
	case 0x7e:
		return d->rep ? M : RM;
	case 0xb8:
		return vector || d->rep != 0xf3 ? BAD : REG;
	case 0x78:
	case 0x79:
		return d->form != X86_EVEX ? BAD : scalar(d) ? REG : M;
	case 0x7a:
	case 0x7b:
		return d->form == X86_EVEX ? M : BAD;
	default:
		break;
	}
	if (!vector)
		return flags;
	if (d->op == 0x93 && d->form == X86_VEX)
		return REG; /* kmov to a general register */
	if ((d->op >= 0x41 && d->op <= 0x4b) || (d->op >= 0x90 && d->op <= 0x99))
		/* kmov between mask registers (k0 to k7), or between one and memory */
		return d->form == X86_VEX ? M : BAD;
	if (d->op == 0xae)
		return M;
	/* The opcodes in these ranges are general instructions, which have no VEX form. */
	if (d->op < 0x10 || (d->op >= 0x18 && d->op < 0x28) || (d->op >= 0x30 && d->op < 0x50) ||
	    (d->op >= 0x80 && d->op < 0xc2) || (d->op > 0xc6 && d->op < 0xd0))
		return BAD;
	return flags;
}

/* Flags of opcodes that follow 0F 38. */
static uint32_t map2(const struct x86_decode *d)
{
	if (d->form == X86_LEGACY) {
		if (d->op >= 0x80 && d->op <= 0x82)
			return BAD; /* invept */
		if (d->op == 0xf0)
			return REG; /* movbe, crc32 */
		if (d->op == 0xf1)
			return d->rep == 0xf2 ? REG : M;
		if (d->op == 0xf6)
			return d->opsize || d->rep == 0xf3 ? REG : BAD; /* adcx, adox */
		return d->op < 0xf0 || d->op == 0xf9 ? M : BAD;
	}
	if (d->form == X86_EVEX)
		return d->op < 0xf0 ? M : BAD;
	if (d->op < 0xe0)
		return M;
	switch (d->op) {
	case 0xf2: /* andn */
	case 0xf5: /* bzhi, pdep, pext */
	case 0xf7: /* bextr, shlx, ... */
		return REG;
	case 0xf3: /* blsr, blsi, blsmsk */
		return M | X86_W_VVVV;
	case 0xf6: /* mulx */
		return REG | X86_W_VVVV;
	default:
		return BAD;
	}
}

/* Flags of opcodes that follow 0F 3A. */
static uint32_t map3(const struct x86_decode *d)
{
	if (d->op >= 0x14 && d->op <= 0x17)
		return RM | I8; /* pextr, extractps */
	if ((d->op == 0x61 || d->op == 0x63) && d->form != X86_EVEX)
		return M | I8 | W(X86_CX); /* pcmpestri, pcmpistri */
	if (d->op == 0xf0)
		return d->form == X86_VEX ? REG | I8 : BAD; /* rorx */
	return d->op < 0xf0 ? M | I8 : BAD;
}

/* Flags of opcodes of AVX512-FP16 (map 5). */
static uint32_t map5(const struct x86_decode *d)
{
	if ((d->op == 0x2c || d->op == 0x2d || d->op == 0x78 || d->op == 0x79) && scalar(d))
		return REG;
	return d->op == 0x7e ? RM : M;
}

static uint32_t xop(const struct x86_decode *d)
{
	if (d->map == 8)
		return M | I8;
	/* Opcodes below 0x80 are TBM and LWP, which change general registers. */
	return d->map == 9 && d->op >= 0x80 ? M : BAD;
}

uint32_t x86_opcode_flags(const struct x86_decode *d)
{
	if (d->form == X86_XOP)
		return xop(d);
	switch (d->map) {
	case 0:
		return d->form == X86_LEGACY ? one_byte[d->op] : BAD;
	case 1:
		return map1(d);
	case 2:
		return map2(d);
	case 3:
		return map3(d);
	case 5:
		return d->form == X86_EVEX ? map5(d) : BAD;
	case 6:
		return d->form == X86_EVEX ? M : BAD;
	default:
		return BAD;
	}
}

/* Flags of 0F 01, for the few instructions that programs execute. */
static uint32_t group7(const struct x86_decode *d)
{
	if (d->mod != 3)
		return BAD;
	switch (d->ext << 3 | (d->rm & 7)) {
	case 0x10: /* xgetbv */
	case 0x3f: /* rdpru, which reads the register that ECX names */
		return M | W(X86_AX) | W(X86_DX);
	case 0x15: /* xend */
	case 0x16: /* xtest */
		return M;
	case 0x2e: /* rdpkru */
		return M | W(X86_AX) | W(X86_DX);
	case 0x2f: /* wrpkru */
		return M;
	case 0x39: /* rdtscp */
		return M | W(X86_AX) | W(X86_DX) | W(X86_CX);
	default:
		return BAD;
	}
}

static uint32_t group9(const struct x86_decode *d)
{
	if (d->mod != 3)
		return d->ext == 1		    ? M | W(X86_AX) | W(X86_DX)
		       : d->ext >= 3 && d->ext <= 5 ? M
						    : BAD;
	return d->ext >= 6 ? RM : BAD; /* rdrand, rdseed, rdpid */
}

static uint32_t groups_0f(const struct x86_decode *d, uint32_t flags)
{
	switch (d->op) {
	case 0x01:
		return group7(d);
	case 0x1e: /* hints that do nothing, except rdssp, which writes a register */
		return d->rep == 0xf3 && d->mod == 3 && d->ext == 1 ? RM : flags;
	case 0xae: /* rdfsbase and rdgsbase; ordinary programs don't use wrfsbase */
		if (d->mod != 3 || !d->rep || (d->rep == 0xf3 && d->ext == 5)) /* incssp */
			return flags;
		return d->rep == 0xf3 && d->ext < 2 ? RM : BAD;
	case 0xba:
		return d->ext < 4 ? BAD : d->ext == 4 ? M | I8 : flags;
	case 0xc7:
		return group9(d);
	default:
		return flags;
	}
}

static uint32_t groups(const struct x86_decode *d, uint32_t flags)
{
	switch (d->op) {
	case 0x80 ... 0x83:
		/* cmp doesn't write to its operands */
		return d->ext == 7 ? flags & ~X86_W_RM : flags;
	case 0x8f:
		return BAD;
	case 0xc6:
	case 0xc7: /* the instruction is mov only if .ext is 0; else it is xabort or xbegin */
		return d->ext ? BAD : flags;
	case 0xdf: /* fnstsw ax writes AX */
		return d->mod == 3 && d->ext == 4 ? flags | W(X86_AX) : flags;
	case 0xf6:
	case 0xf7:
		if (d->ext < 2)
			return (flags & ~X86_W_RM) | (d->op == 0xf6 ? I8 : IZ);
		return d->ext < 4 ? flags : M | W(X86_AX) | W(X86_DX);
	case 0xfe:
		return d->ext < 2 ? flags : BAD;
	case 0xff:
		if (d->ext == 3 || d->ext == 5 || d->ext == 7)
			return BAD;
		return d->ext < 2 ? flags : d->ext == 4 ? M : M | W(X86_SP);
	default:
		return flags;
	}
}

/*
 * Does the instruction jump, call, return, push or pop? With prefix 66 such instructions have other
 * sizes, or differ between Intel and AMD.
 */
static bool moves_control(const struct x86_decode *d)
{
	if (d->map == 1)
		return (d->op & 0xf0) == 0x80;
	return d->op == 0xc2 || d->op == 0xc3 || d->op == 0xc9 || (d->op & 0xf0) == 0x70 ||
	       (d->op & 0xf0) == 0x50 || d->op == 0x68 || d->op == 0x6a || d->op == 0x9c ||
	       d->op == 0x9d || (d->op >= 0xe0 && d->op <= 0xeb) || (d->op == 0xff && d->ext >= 2);
}

uint32_t x86_group_flags(const struct x86_decode *d, uint32_t flags)
{
	if (d->form != X86_LEGACY || d->map > 1 || (flags & BAD))
		return flags;
	if (moves_control(d) && d->opsize && !(d->rex & 8))
		return BAD;
	return d->map ? groups_0f(d, flags) : groups(d, flags);
}

/* Returns the bit of register @reg, the operand of an instruction with flags @flags. */
static uint16_t bit(const struct x86_decode *d, uint32_t flags, uint8_t reg)
{
	return (uint16_t)(1u << ((flags & X86_BYTE) && !d->rex && reg >= 4 && reg < 8 ? reg - 4
										      : reg));
}

static uint16_t writes(const struct x86_decode *d, uint32_t flags)
{
	uint8_t low = (d->op & 7) | (d->rex & 1) << 3;
	uint16_t set = (uint16_t)(flags >> X86_W_SHIFT);

	if ((flags & X86_W_RM) && d->mod == 3)
		set |= bit(d, flags, d->rm);
	if (flags & X86_W_REG)
		set |= bit(d, flags, d->reg);
	if (flags & X86_W_VVVV)
		set |= (uint16_t)(1u << d->vvvv);
	if ((flags & X86_W_LOW) && !(d->map == 0 && d->op == 0x90 && !(d->rex & 1)))
		set |= bit(d, flags, low);
	if (d->map == 0 && d->op == 0x90 && (d->rex & 1))
		set |= 1 << X86_AX; /* xchg r8, rax */
	return set;
}

static void set_regs(struct x86_insn *ret, enum x86_kind kind, uint8_t reg, uint8_t from)
{
	ret->kind = kind;
	ret->reg = reg;
	ret->from = from;
}

/* Describes 64-bit operations between registers, or a register and memory. */
static void wide_effect(const struct x86_decode *d, struct x86_insn *ret)
{
	bool reg = d->mod == 3;

	if (d->op == 0x89)
		set_regs(ret, reg ? X86_MOVE : X86_STORE, reg ? d->rm : d->reg, d->reg);
	else if (d->op == 0x8b)
		set_regs(ret, reg ? X86_MOVE : X86_LOAD, d->reg, d->rm);
	else if (d->op == 0x87 && reg)
		set_regs(ret, X86_EXCHANGE, d->reg, d->rm);
	else if (d->op == 0x8d)
		set_regs(ret, d->rip ? X86_LEA_RIP : X86_LEA, d->reg, 0);
	else if (d->op == 0x29 && reg)
		set_regs(ret, X86_SUB_REG, d->rm, d->reg);
	else if (d->op == 0x2b && reg)
		set_regs(ret, X86_SUB_REG, d->reg, d->rm);
	else if ((d->op == 0x81 || d->op == 0x83) && reg && (d->ext == 0 || d->ext == 5))
		set_regs(ret, X86_ADD, d->rm, 0);
	else if ((d->op == 0x81 || d->op == 0x83) && reg && d->ext == 4 && ret->imm < 0)
		set_regs(ret, X86_AND, d->rm, 0);
	if (ret->kind == X86_ADD && d->ext == 5)
		ret->imm = -ret->imm;
}

static void group5_effect(const struct x86_decode *d, struct x86_insn *ret)
{
	if (d->ext == 2)
		ret->kind = X86_CALL_ANY;
	else if (d->ext == 4)
		ret->kind = d->mod != 3 && d->rip ? X86_JUMP_GOT : X86_JUMP_ANY;
	else if (d->ext == 6)
		set_regs(ret, X86_PUSH, X86_NO_REG, 0);
}

static void one_byte_effect(const struct x86_decode *d, struct x86_insn *ret)
{
	uint8_t low = (d->op & 7) | (d->rex & 1) << 3;

	switch (d->op) {
	case 0x50 ... 0x57:
		return set_regs(ret, X86_PUSH, low, 0);
	case 0x58 ... 0x5f:
		return set_regs(ret, X86_POP, low, 0);
	case 0x68:
	case 0x6a:
	case 0x9c:
		return set_regs(ret, X86_PUSH, X86_NO_REG, 0);
	case 0x9d:
		return set_regs(ret, X86_POP, X86_NO_REG, 0);
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		ret->kind = X86_BRANCH;
		return;
	/* ret that pops arguments; MKL's assembly uses this instruction to pop 0 bytes */
	case 0xc2:
		if (!d->imm)
			ret->kind = X86_RET;
		return;
	case 0xc3:
		ret->kind = X86_RET;
		return;
	case 0xc9:
		ret->kind = X86_LEAVE;
		return;
	case 0xcc:
	case 0xf4:
		ret->kind = X86_TRAP;
		return;
	case 0xe8:
		ret->kind = X86_CALL;
		return;
	case 0xe9:
	case 0xeb:
		ret->kind = X86_JUMP;
		return;
	case 0xff:
		return group5_effect(d, ret);
	default:
		if (d->rex & 8)
			wide_effect(d, ret);
	}
}

void x86_effect(const struct x86_decode *d, uint32_t flags, struct x86_insn *ret)
{
	ret->writes = writes(d, flags);
	if ((flags & X86_W_RM) && d->mod != 3)
		ret->stores = flags & X86_BYTE ? 1 : d->rex & 8 ? 8 : d->opsize ? 2 : 4;
	if (d->form != X86_LEGACY)
		return;
	if (d->map == 0)
		one_byte_effect(d, ret);
	else if (d->map == 1 && (d->op & 0xf0) == 0x80)
		ret->kind = X86_BRANCH;
	else if (d->map == 1 && (d->op == 0x0b || d->op == 0xb9))
		ret->kind = X86_TRAP;
}
