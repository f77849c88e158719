/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes accessors on AArch64: the instructions that gcc and clang emit for them. Offsets from the
 * thread pointer are positive, because the thread control block lies below it. Shared objects use
 * only TLS descriptors (ELF for the Arm 64-bit Architecture, thread-local storage).
 */
#include <elf.h>
#include "python/find/accessor_internal.h"

/* register 31 is either the stack pointer or the zero register; accessors need neither value */
enum { SP = 31 };

static struct value get(struct decoder *d, unsigned reg)
{
	return reg == SP ? (struct value){V_UNKNOWN} : d->reg[reg];
}

static void set(struct decoder *d, unsigned reg, struct value v)
{
	if (reg != SP)
		d->reg[reg] = v;
}

static int64_t sign_extend(uint64_t v, unsigned bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* Interprets adrp or adr. @pc: address of the instruction. */
static void page_address(struct decoder *d, uint32_t w, uint64_t pc)
{
	int64_t imm = sign_extend((w >> 29 & 3) | (uint64_t)(w >> 5 & 0x7ffff) << 2, 21);
	uint64_t addr = w >> 31 ? (pc & ~0xfffull) + (uint64_t)(imm * 4096) : pc + (uint64_t)imm;

	set(d, w & 31, (struct value){V_ADDR, addr, 0});
}

/* Interprets movz, movn or movk. */
static void move_immediate(struct decoder *d, uint32_t w)
{
	unsigned shift = (w >> 21 & 3) * 16, op = w >> 29 & 3;
	uint64_t imm = (uint64_t)(w >> 5 & 0xffff) << shift;
	struct value v = get(d, w & 31);

	if (op == 3 && v.kind == V_ADDR)
		v.x = (v.x & ~(0xffffull << shift)) | imm;
	else if (op == 3)
		v.kind = V_UNKNOWN;
	else
		v = (struct value){V_ADDR, op == 0 ? ~imm : imm, 0};
	set(d, w & 31, v);
}

/*
 * Interprets ldr with a scaled offset (the size is in bits 31:30), ldur, or ldr with a register
 * offset.
 */
static bool load(struct decoder *d, uint32_t w)
{
	bool wide = w >> 30 & 1;
	struct value base = get(d, w >> 5 & 31);

	if ((w & 0xbfc00000) == 0xb9400000)
		base = value_plus(base, (int64_t)(w >> 10 & 0xfff) << (wide ? 3 : 2));
	else if ((w & 0xbfe00c00) == 0xb8400000)
		base = value_plus(base, sign_extend(w >> 12 & 0x1ff, 9));
	/* ldr with a register offset that is neither extended nor shifted */
	else if ((w & 0xbfe0fc00) == 0xb8606800)
		base = value_add(base, get(d, w >> 16 & 31));
	else
		return false;
	set(d, w & 31, decoder_load(d, base, wide));
	return true;
}

/* Interprets add with an immediate or a register. */
static bool add(struct decoder *d, uint32_t w)
{
	struct value v = get(d, w >> 5 & 31);

	if ((w & 0xff800000) == 0x91000000)
		v = value_plus(v, (int64_t)(w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0));
	else if ((w & 0xffe0fc00) == 0x8b000000)
		v = value_add(v, get(d, w >> 16 & 31));
	else
		return false;
	set(d, w & 31, v);
	return true;
}

/*
 * Interprets instructions that store, and stp and ldp, which save and restore pairs of registers.
 * The values that ldp loads count as unknown.
 */
static bool save_restore(struct decoder *d, uint32_t w)
{
	if ((w & 0xbfc00000) == 0xb9000000 || (w & 0xbfe00000) == 0xb8000000) /* str or stur */
		return true;
	/* this instruction is neither stp nor ldp, in any addressing mode */
	if ((w & 0x7e000000) != 0x28000000)
		return false;
	if (w >> 22 & 1) {
		set(d, w & 31, (struct value){V_UNKNOWN});
		set(d, w >> 10 & 31, (struct value){V_UNKNOWN});
	}
	return true;
}

static bool branch(struct decoder *d, uint32_t w)
{
	const struct value unknown = {V_UNKNOWN};

	/* displacements count from the branch instruction, which begins 4 bytes before .at */
	if ((w & 0x7e000000) == 0x34000000 || (w & 0xff000010) == 0x54000000) /* cbz, b.cond */
		decoder_branch(d, sign_extend(w >> 5 & 0x7ffff, 19) * 4 - 4);
	else if ((w & 0x7c000000) == 0x14000000) /* b, bl */
		decoder_leave(d, w >> 31, unknown);
	else if ((w & 0xfffffc1f) ==
		 /* only calls of a TLS descriptor's resolver, with the descriptor in x0, use blr */
		 0xd63f0000)
		decoder_leave(d, true, get(d, 0));
	else if (w == 0xd65f03c0) /* ret */
		decoder_return(d);
	else
		return false;
	return true;
}

static void step(struct decoder *d)
{
	uint64_t pc = d->vaddr + d->at;
	uint32_t w;

	if (d->n - d->at < sizeof(w)) {
		d->bad = true;
		return;
	}
	memcpy(&w, d->code + d->at, sizeof(w));
	d->at += sizeof(w);
	if ((w & 0xfffff01f) == 0xd503201f || (w & 0x7f80001f) == 0x7100001f)
		/* nop, bti, paciasp, autiasp, or cmp with an immediate: these change no register */
		return;
	if ((w & 0xffffffe0) == 0xd53bd040) /* mrs x, tpidr_el0 */
		set(d, w & 31, (struct value){V_TP, 0, 0});
	else if ((w & 0x1f000000) == 0x10000000)
		page_address(d, w, pc);
	else if ((w & 0x1f800000) == 0x12800000)
		move_immediate(d, w);
	else if ((w & 0x7fe0ffe0) == 0x2a0003e0) /* mov between registers */
		set(d, w & 31, get(d, w >> 16 & 31));
	else if (!load(d, w) && !add(d, w) && !save_restore(d, w) && !branch(d, w))
		d->bad = true;
}

struct accessor accessor_arm64(struct elf_file *elf, const uint8_t *code, size_t n, uint64_t vaddr)
{
	static const struct tls_relocs relocs = {R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_TPREL,
						 R_AARCH64_TLSDESC};
	struct decoder d = {.elf = elf, .relocs = &relocs, .code = code, .n = n, .vaddr = vaddr};

	while (!d.done && !d.bad)
		step(&d);
	return d.done && !d.bad ? d.ret : (struct accessor){ACCESS_NONE};
}
