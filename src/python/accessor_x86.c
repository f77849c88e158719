/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accessors on x86-64: a straight-line interpreter over symbolic register values for the handful of
 * instructions that gcc and clang emit for them, with and without -fpic, frame pointers, endbr64,
 * and in all TLS models (general and local dynamic, descriptors, initial and local exec, and the
 * forms a linker relaxes them to: ELF Handling For Thread-Local Storage, 4.4 and 5). Conditional
 * branches guard against a key or interpreter that isn't set up yet: first the way straight on is
 * tried, then the branch.
 */
#include <elf.h>
#include "python/accessor.h"

enum { RAX = 0, RSP = 4, RBP = 5, RDI = 7 };

/* What a register or memory operand is known to be. */
enum value_kind {
	V_UNKNOWN = 0,
	V_ADDR,	  /* constant, or address in the file: x */
	V_LOADED, /* 64 bits from address x */
	V_INT,	  /* 32 bits from address x */
	V_TP,	  /* thread pointer + off */
	V_BLOCK,  /* TLS block of the GOT pair at x, + off */
	V_DESC,	  /* offset from the thread pointer that the word at x leads to, + off */
	V_DESC_TP /* the same with the thread pointer added */
};

struct value {
	enum value_kind kind;
	uint64_t x;
	int64_t off;
};

struct decoder {
	struct elf_file *elf;
	const uint8_t *code;
	size_t n, at;
	uint64_t vaddr;
	struct value reg[16];
	size_t branch; /* where the last conditional branch goes; 0 = none */
	struct accessor ret;
	bool done, bad;
};

struct insn {
	uint8_t rex, op;
	bool fs;
	/* from ModRM */
	unsigned reg, rm;
	bool is_mem, absolute;
	struct value mem; /* the operand's address */
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

static void finish(struct decoder *d, enum access kind, uint64_t addr, int64_t offset)
{
	d->ret = (struct accessor){kind, addr, offset};
	d->done = true;
}

static struct value plus(struct value v, int64_t disp)
{
	if (v.kind == V_ADDR)
		v.x += (uint64_t)disp;
	else if (v.kind == V_TP || v.kind == V_BLOCK || v.kind >= V_DESC)
		v.off += disp;
	else if (disp)
		v.kind = V_UNKNOWN;
	return v;
}

/* @imm bytes of immediate follow: a RIP-relative operand counts from the instruction's end. */
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

		in->absolute = mod == 0 && sib == 0x25; /* no base, no index, disp32 */
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
		in->mem = plus(base, fetch_signed(d, mod == 1 ? 1 : 4));
}

/* 64-bit load from an address in the file: the loader's work is known, the program's isn't. */
static struct value load_global(struct decoder *d, uint64_t addr)
{
	struct elf_reloc reloc;
	uint64_t pointer;

	if (!elf_file_reloc(d->elf, addr, &reloc))
		return (struct value){V_LOADED, addr, 0};
	if (reloc.type == R_X86_64_TPOFF64)
		return (struct value){V_DESC, addr, 0};
	if (elf_file_pointer(d->elf, addr, &pointer))
		return (struct value){V_ADDR, pointer, 0};
	return (struct value){V_UNKNOWN};
}

static void load_fs(struct decoder *d, const struct insn *in)
{
	if (in->mem.kind == V_ADDR && in->mem.x == 0 && in->absolute)
		d->reg[in->reg] = (struct value){V_TP, 0, 0};
	else if (in->mem.kind == V_ADDR)
		finish(d, ACCESS_TLS, 0, (int64_t)in->mem.x);
	else if (in->mem.kind == V_DESC)
		finish(d, ACCESS_TLS_DESC, in->mem.x, in->mem.off);
	else
		d->bad = true;
}

static void load(struct decoder *d, const struct insn *in)
{
	struct value *dst = &d->reg[in->reg];

	if (!in->is_mem)
		*dst = d->reg[in->rm];
	else if (in->fs)
		load_fs(d, in);
	else if (in->mem.kind == V_ADDR && in->rex & 8)
		*dst = load_global(d, in->mem.x);
	else if (in->mem.kind == V_ADDR)
		*dst = (struct value){V_INT, in->mem.x, 0};
	else if (in->mem.kind == V_TP)
		finish(d, ACCESS_TLS, 0, in->mem.off);
	else if (in->mem.kind == V_BLOCK)
		finish(d, ACCESS_TLS_PAIR, in->mem.x, in->mem.off);
	else if (in->mem.kind == V_DESC_TP)
		finish(d, ACCESS_TLS_DESC, in->mem.x, in->mem.off);
	else
		*dst = (struct value){V_UNKNOWN};
}

/* add r, r/m: only the thread pointer is ever added (to a TLS offset). */
static void add(struct decoder *d, const struct insn *in)
{
	struct value *dst = &d->reg[in->reg];

	bool tp = in->fs && in->absolute && in->mem.x == 0;

	if (tp && dst->kind == V_ADDR)
		*dst = (struct value){V_TP, 0, (int64_t)dst->x};
	else if (tp && dst->kind == V_DESC)
		dst->kind = V_DESC_TP;
	else
		*dst = (struct value){V_UNKNOWN};
}

/*
 * A call or a jump out of the function. The callee is told by its argument: a GOT pair means
 * __tls_get_addr, a descriptor's address in rax its resolver, else it is the getter of a key:
 * PyThread_get_key_value(int), pthread_getspecific(key), PyThread_tss_get(Py_tss_t *); debug
 * builds up to 3.11 pass on the whole struct _gilstate_runtime_state.
 */
static void leave(struct decoder *d, bool is_call, const struct insn *indirect)
{
	struct value arg = d->reg[RDI];
	struct elf_reloc reloc;

	if (indirect && indirect->is_mem && indirect->mem.kind == V_ADDR &&
	    elf_file_reloc(d->elf, indirect->mem.x, &reloc) && reloc.type == R_X86_64_TLSDESC) {
		d->reg[RAX] = (struct value){V_DESC, indirect->mem.x + 8, 0};
	} else if (arg.kind == V_INT) {
		finish(d, ACCESS_KEY, arg.x, 0);
	} else if (arg.kind == V_ADDR && elf_file_reloc(d->elf, arg.x, &reloc) &&
		   reloc.type == R_X86_64_DTPMOD64 && is_call) {
		memset(d->reg, 0, sizeof(d->reg)); /* rbx is of no interest from here on */
		d->reg[RAX] = (struct value){V_BLOCK, arg.x, 0};
	} else if (arg.kind == V_ADDR) {
		finish(d, ACCESS_ARGUMENT, arg.x, 0);
	} else {
		d->bad = true;
	}
}

static void ret(struct decoder *d)
{
	struct value v = d->reg[RAX];

	if (v.kind == V_LOADED) {
		finish(d, ACCESS_GLOBAL, v.x, 0);
	} else if (d->branch) {
		d->at = d->branch;
		d->branch = 0;
	} else {
		d->bad = true;
	}
}

static void branch(struct decoder *d, int64_t disp)
{
	if (disp > 0 && (uint64_t)disp < d->n - d->at && !d->bad)
		d->branch = d->at + (size_t)disp;
}

static void two_bytes(struct decoder *d, struct insn *in)
{
	uint8_t op = (uint8_t)fetch(d, 1);

	if (op >= 0x80 && op <= 0x8f)
		branch(d, fetch_signed(d, 4));
	else if (op == 0x1e || op == 0x1f) /* endbr64, nop */
		modrm(d, in, 0);
	else
		d->bad = true;
}

/* Group FF: calls and jumps through memory. */
static void group_ff(struct decoder *d, struct insn *in)
{
	modrm(d, in, 0);
	if ((in->reg & 7) == 2)
		leave(d, true, in);
	else if ((in->reg & 7) == 4)
		leave(d, false, in);
	else
		d->bad = true;
}

static void move_immediate(struct decoder *d, const struct insn *in)
{
	uint64_t imm = in->rex & 8 ? fetch(d, 8) : fetch(d, 4);

	d->reg[(in->op & 7) | (in->rex & 1) << 3] = (struct value){V_ADDR, imm, 0};
}

/* Instructions without ModRM; false: not one of them. */
static bool plain(struct decoder *d, struct insn *in)
{
	if (in->op >= 0x50 && in->op <= 0x57)
		return true;
	if (in->op >= 0x58 && in->op <= 0x5f)
		d->reg[(in->op & 7) | (in->rex & 1) << 3].kind = V_UNKNOWN;
	else if (in->op >= 0x70 && in->op <= 0x7f)
		branch(d, fetch_signed(d, 1));
	else if (in->op >= 0xb8 && in->op <= 0xbf)
		move_immediate(d, in);
	else if (in->op == 0x90)
		;
	else if (in->op == 0xe8 || in->op == 0xe9) {
		fetch(d, 4);
		leave(d, in->op == 0xe8, NULL);
	} else if (in->op == 0xc3)
		ret(d);
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
	case 0x89: /* between registers; a store changes nothing we look at */
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
	case 0x81: /* sub $imm,%rsp; cmpq $imm,mem */
		modrm(d, in, 4);
		fetch(d, 4);
		break;
	case 0x83:
		modrm(d, in, 1);
		fetch(d, 1);
		break;
	case 0x39:
	case 0x3b:
	case 0x85: /* comparisons */
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
	struct decoder d = {.elf = elf, .code = code, .n = n, .vaddr = vaddr};

	/* A branch back isn't followed, so this ends at the latest with the bytes. */
	while (!d.done && !d.bad)
		step(&d);
	return d.done && !d.bad ? d.ret : (struct accessor){ACCESS_NONE};
}
