/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes x86-64 instructions; see x86_insn.h. The tables are in x86_opcodes.c. */
#include "unwind/x86/x86_opcodes.h"

#define MAX_LEN 15

static uint8_t next(struct x86_decode *d)
{
	if (d->at < d->n)
		return d->bytes[d->at++];
	d->bad = true;
	return 0;
}

static int64_t number(struct x86_decode *d, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)next(d) << 8 * i;
	return bytes == 8 || !bytes ? (int64_t)v
				    : (int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

/* Reads the prefixes before the opcode; a REX prefix counts only right before the opcode. */
static uint8_t read_prefixes(struct x86_decode *d)
{
	for (;;) {
		uint8_t b = next(d);

		if (b == 0x66)
			d->opsize = true;
		else if (b == 0x67)
			d->addr32 = true;
		else if (b == 0xf2 || b == 0xf3)
			d->rep = b;
		else if (b == 0xf0)
			d->lock = true;
		else if (b == 0x64 || b == 0x65)
			d->segment = true;
		else if ((b & 0xf0) == 0x40)
			;
		else if (b != 0x26 && b != 0x2e && b != 0x36 && b != 0x3e)
			return b;
		d->rex = (b & 0xf0) == 0x40 ? b : 0;
	}
}

static void set_pp(struct x86_decode *d, uint8_t pp)
{
	d->opsize = pp == 1;
	d->rep = pp == 2 ? 0xf3 : pp == 3 ? 0xf2 : 0;
}

/* Reads what follows the first byte of a VEX (C5, C4) or XOP (AMD's 8F) prefix. */
static void read_vex(struct x86_decode *d, uint8_t first)
{
	uint8_t b = next(d), last = first == 0xc5 ? b : next(d);

	d->bad |= d->rex || d->rep || d->opsize || d->lock;
	d->form = first == 0x8f ? X86_XOP : X86_VEX;
	d->map = first == 0xc5 ? 1 : b & 31;
	d->rex = 0x40 | (~b >> 5 & 4);
	if (first != 0xc5)
		d->rex |= (~b >> 5 & 3) | (last >> 4 & 8);
	d->vvvv = ~last >> 3 & 15;
	set_pp(d, last & 3);
	d->op = next(d);
}

static void read_evex(struct x86_decode *d)
{
	uint8_t p0 = next(d), p1 = next(d);

	next(d);
	d->bad |= d->rex || d->rep || d->opsize || d->lock || (p0 & 8) || !(p1 & 4);
	d->form = X86_EVEX;
	d->map = p0 & 7;
	d->rex = 0x40 | (~p0 >> 5 & 7) | (p1 >> 4 & 8);
	d->vvvv = ~p1 >> 3 & 15;
	set_pp(d, p1 & 3);
	d->op = next(d);
}

static bool is_xop(const struct x86_decode *d)
{
	return d->at < d->n && (d->bytes[d->at] & 31) >= 8;
}

static void read_opcode(struct x86_decode *d)
{
	uint8_t b = read_prefixes(d);

	if (b == 0xc4 || b == 0xc5 || (b == 0x8f && is_xop(d))) {
		read_vex(d, b);
	} else if (b == 0x62) {
		read_evex(d);
	} else if (b == 0x0f) {
		b = next(d);
		d->map = b == 0x38 ? 2 : b == 0x3a ? 3 : 1;
		d->op = d->map == 1 ? b : next(d);
	} else {
		d->op = b;
	}
}

static void read_sib(struct x86_decode *d)
{
	uint8_t sib = next(d), index = (sib >> 3 & 7) | (d->rex & 2) << 2;

	d->base = (sib & 7) | (d->rex & 1) << 3;
	if ((sib & 7) == 5 && !d->mod) {
		d->base = X86_NO_REG;
		d->disp_bytes = 4;
	}
	if (index != X86_SP)
		d->base = X86_NO_REG;
}

static void read_modrm(struct x86_decode *d)
{
	uint8_t b = next(d);

	d->mod = b >> 6;
	d->reg = (b >> 3 & 7) | (d->rex & 4) << 1;
	d->rm = (b & 7) | (d->rex & 1) << 3;
	d->ext = b >> 3 & 7;
	if (d->mod == 3)
		return;
	d->disp_bytes = d->mod == 1 ? 1 : d->mod == 2 ? 4 : 0;
	d->base = d->rm;
	if ((b & 7) == 4)
		read_sib(d);
	if (!d->mod && (b & 7) == 5) {
		d->base = X86_NO_REG;
		d->rip = true;
		d->disp_bytes = 4;
	}
	d->disp = (int32_t)number(d, d->disp_bytes);
	/*
	 * Small displacements of EVEX count in elements of a vector. Operands with them aren't
	 * needed.
	 */
	if (d->addr32 || d->segment || (d->form == X86_EVEX && d->disp_bytes == 1))
		d->base = X86_NO_REG;
}

static unsigned immediate_bytes(const struct x86_decode *d, uint32_t flags)
{
	bool w = d->rex & 8, word = d->opsize && !w;
	unsigned bytes = 0;

	if (flags & X86_IMM8)
		bytes = 1;
	else if (flags & X86_IMMZ)
		bytes = word ? 2 : 4;
	else if (flags & X86_IMMV)
		bytes = w ? 8 : word ? 2 : 4;
	else if (flags & X86_IMM16)
		bytes = 2;
	else if (flags & X86_IMM32)
		bytes = 4;
	else if (flags & X86_MOFFS)
		bytes = d->addr32 ? 4 : 8;
	return bytes;
}

bool x86_decode(const uint8_t *bytes, size_t n, struct x86_insn *ret)
{
	struct x86_decode d = {.bytes = bytes, .n = MIN(n, (size_t)MAX_LEN), .base = X86_NO_REG};
	uint32_t flags;

	read_opcode(&d);
	if (d.bad)
		return false;
	flags = x86_opcode_flags(&d);
	if (flags & X86_MODRM)
		read_modrm(&d);
	flags = x86_group_flags(&d, flags);
	d.imm = number(&d, immediate_bytes(&d, flags));
	if (d.bad || (flags & X86_BAD))
		return false;
	*ret = (struct x86_insn){
		.len = (uint8_t)d.at, .base = d.base, .disp = d.disp, .imm = d.imm};
	x86_effect(&d, flags, ret);
	return true;
}
