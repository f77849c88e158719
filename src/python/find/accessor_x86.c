/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes accessors on x86-64: interprets, over symbolic values of registers, the few instructions
 * that gcc and clang emit for them. The decoder knows code with and without -fpic, frame pointers
 * and endbr64, and all TLS models: general and local dynamic, descriptors, initial and local exec,
 * and the forms to which a linker relaxes these (ELF Handling For Thread-Local Storage, 4.4 and 5).
 */
#include <elf.h>
#include "python/find/accessor_internal.h"

enum { RAX = 0, RDI = 7 };

struct insn {
	uint8_t rex, op;
	bool fs;
	/* register operands, as the ModRM byte says */
	unsigned reg, rm;
	bool is_mem, absolute;
	struct value mem; /* address of the operand in memory */
};

static uint64_t fetch(struct decoder *d, size_t bytes)
{
	uint64_t v = 0;

	if (bytes > d->n - d->at) {
		d->bad = true;
		return 0;
	}
	memcpy(&v, d->code + d->at, bytes);
	d->at += bytes;
	return v;
}

static int64_t fetch_signed(struct decoder *d, size_t bytes)
{
	uint64_t v = fetch(d, bytes);

	return bytes == 1 ? (int8_t)v : (int32_t)v;
}

/*
 * Reads a ModRM byte, and the SIB byte and displacement that belong to it. @imm: how many bytes the
 * immediate after them has. A RIP-relative operand counts from the end of the instruction, after
 * the immediate.
 */
static void modrm(struct decoder *d, struct insn *in, size_t imm)
{
	uint8_t b = (uint8_t)fetch(d, 1), mod = b >> 6;
	struct value base = {V_UNKNOWN};

	in->reg = (b >> 3 & 7) | (in->rex & 4) << 1;
	in->rm = (b & 7) | (in->rex & 1) << 3;
	in->is_mem = mod != 3;
	in->absolute = false;
	if (!in->is_mem)
		return;
	if ((b & 7) == 4) {
		uint8_t sib = (uint8_t)fetch(d, 1);

		/*
		 * the operand has neither base nor index register, only a displacement of 32 bits
		 */
		in->absolute = mod == 0 && sib == 0x25;
		d->bad |= mod == 0 && (sib & 7) == 5 && !in->absolute;
	} else if (mod == 0 && (b & 7) == 5) {
		int64_t disp = fetch_signed(d, 4);

		in->mem = (struct value){V_ADDR, d->vaddr + d->at + imm + (uint64_t)disp, 0};
		return;
	} else {
		base = d->reg[in->rm];
	}
	if (in->absolute)
		in->mem = (struct value){V_ADDR, (uint64_t)fetch_signed(d, 4), 0};
	else if (mod == 0)
		in->mem = base;
	else
		in->mem = value_plus(base, fetch_signed(d, mod == 1 ? 1 : 4));
}

/* Loads a word at an address that counts from the thread pointer (segment register fs). */
static void load_fs(struct decoder *d, const struct insn *in)
{
	/* the word at the thread pointer is the thread pointer itself */
	if (in->absolute && in->mem.x == 0)
		d->reg[in->reg] = (struct value){V_TP, 0, 0};
	else
		d->reg[in->reg] =
			decoder_load(d, value_add((struct value){V_TP, 0, 0}, in->mem), true);
}

static void load(struct decoder *d, const struct insn *in)
{
	if (!in->is_mem)
		d->reg[in->reg] = d->reg[in->rm];
	else if (in->fs)
		load_fs(d, in);
	else
		d->reg[in->reg] = decoder_load(d, in->mem, in->rex & 8);
}

/* Interprets add r, r/m. An accessor only adds the thread pointer to a TLS offset. */
static void add(struct decoder *d, const struct insn *in)
{
	struct value v = {V_UNKNOWN};

	if (in->fs && in->absolute && in->mem.x == 0)
		v = value_add(d->reg[in->reg], (struct value){V_TP, 0, 0});
	d->reg[in->reg] = v;
}

static void two_bytes(struct decoder *d, struct insn *in)
{
	uint8_t op = (uint8_t)fetch(d, 1);

	if (op >= 0x80 && op <= 0x8f)
		decoder_branch(d, fetch_signed(d, 4));
	else if (op == 0x1e || op == 0x1f) /* endbr64 or nop */
		modrm(d, in, 0);
	else
		d->bad = true;
}

/* Interprets an instruction of group FF: a call or a jump through memory. */
static void group_ff(struct decoder *d, struct insn *in)
{
	modrm(d, in, 0);
	if ((in->reg & 7) == 2)
		decoder_leave(d, true, in->mem);
	else if ((in->reg & 7) == 4)
		decoder_leave(d, false, in->mem);
	else
		d->bad = true;
}

static void move_immediate(struct decoder *d, const struct insn *in)
{
	uint64_t imm = in->rex & 8 ? fetch(d, 8) : fetch(d, 4);

	d->reg[(in->op & 7) | (in->rex & 1) << 3] = (struct value){V_ADDR, imm, 0};
}

/* Interprets a jump inside the function. Only forward jumps are followed. */
static void jump(struct decoder *d, int64_t disp)
{
	if (disp < 0 || (uint64_t)disp >= d->n - d->at)
		d->bad = true;
	else
		d->at += (size_t)disp;
}

/* Interprets an instruction without a ModRM byte. False: the instruction is of another kind. */
static bool plain(struct decoder *d, struct insn *in)
{
	if (in->op >= 0x50 && in->op <= 0x57)
		return true;
	if (in->op >= 0x58 && in->op <= 0x5f)
		d->reg[(in->op & 7) | (in->rex & 1) << 3].kind = V_UNKNOWN;
	else if (in->op >= 0x70 && in->op <= 0x7f)
		decoder_branch(d, fetch_signed(d, 1));
	else if (in->op >= 0xb8 && in->op <= 0xbf)
		move_immediate(d, in);
	else if (in->op == 0x90)
		;
	else if (in->op == 0xe8 || in->op == 0xe9) {
		fetch(d, 4);
		decoder_leave(d, in->op == 0xe8, (struct value){V_UNKNOWN});
	} else if (in->op == 0xeb)
		jump(d, fetch_signed(d, 1));
	else if (in->op == 0xc3)
		decoder_return(d);
	else
		return false;
	return true;
}

static void with_modrm(struct decoder *d, struct insn *in)
{
	switch (in->op) {
	case 0x8b:
		modrm(d, in, 0);
		load(d, in);
		break;
	case 0x8d:
		modrm(d, in, 0);
		d->reg[in->reg] = in->mem;
		break;
	/* mov from one register to another; a mov to memory changes nothing that is needed */
	case 0x89:
		modrm(d, in, 0);
		if (!in->is_mem)
			d->reg[in->rm] = d->reg[in->reg];
		break;
	case 0xc7:
		modrm(d, in, 4);
		in->mem = (struct value){V_ADDR, (uint64_t)fetch_signed(d, 4), 0};
		if (!in->is_mem)
			d->reg[in->rm] = in->mem;
		break;
	case 0x03:
		modrm(d, in, 0);
		add(d, in);
		break;
	case 0x31:
	case 0x33:
		modrm(d, in, 0);
		d->reg[in->rm].kind = V_UNKNOWN;
		break;
	case 0x81: /* sub $imm,%rsp, or cmpq $imm,mem: neither changes a register that is needed */
		modrm(d, in, 4);
		fetch(d, 4);
		break;
	case 0x83:
		modrm(d, in, 1);
		fetch(d, 1);
		break;
	case 0x39:
	case 0x3b:
	case 0x85: /* a comparison, which changes no register */
		modrm(d, in, 0);
		break;
	case 0xff:
		group_ff(d, in);
		break;
	default:
		d->bad = true;
	}
}

static void step(struct decoder *d)
{
	struct insn in = {0};
	uint8_t b = (uint8_t)fetch(d, 1);

	for (; b == 0x66 || b == 0x64 || b == 0xf3; b = (uint8_t)fetch(d, 1)) {
		in.fs |= b == 0x64;
		if (d->bad)
			return;
	}
	if ((b & 0xf0) == 0x40) {
		in.rex = b;
		b = (uint8_t)fetch(d, 1);
	}
	in.op = b;
	if (b == 0x0f)
		two_bytes(d, &in);
	else if (!plain(d, &in))
		with_modrm(d, &in);
}

struct accessor accessor_x86(struct elf_file *elf, const uint8_t *code, size_t n, uint64_t vaddr)
{
	static const struct tls_relocs relocs = {R_X86_64_DTPMOD64, R_X86_64_TPOFF64,
						 R_X86_64_TLSDESC};
	struct decoder d = {.elf = elf,
			    .relocs = &relocs,
			    .code = code,
			    .n = n,
			    .vaddr = vaddr,
			    .arg = RDI,
			    .result = RAX};

	/* This loop ends at the end of the bytes, because only forward jumps are followed. */
	while (!d.done && !d.bad)
		step(&d);
	return d.done && !d.bad ? d.ret : (struct accessor){ACCESS_NONE};
}
