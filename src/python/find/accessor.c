/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interprets loads, calls and returns of accessor functions, in ways that are the same for all
 * machines.
 */
#include "python/find/accessor_internal.h"

/* how many bytes of an accessor are read; the longest known accessor has 80 */
#define CODE_BYTES 128

struct accessor accessor_read(struct elf_file *elf, uint64_t vaddr)
{
	uint8_t code[CODE_BYTES];
	size_t n = vaddr ? elf_file_read(elf, vaddr, code, sizeof(code)) : 0;

	if (elf_file_machine(elf) == ELF_X86_64)
		return accessor_x86(elf, code, n, vaddr);
	return accessor_arm64(elf, code, n, vaddr);
}

void decoder_finish(struct decoder *d, enum access kind, uint64_t addr, int64_t offset)
{
	d->ret = (struct accessor){kind, addr, offset};
	d->done = true;
}

struct value value_plus(struct value v, int64_t disp)
{
	if (v.kind == V_ADDR)
		v.x += (uint64_t)disp;
	else if (v.kind >= V_TP)
		v.off = (int64_t)((uint64_t)v.off + (uint64_t)disp);
	else if (disp)
		v.kind = V_UNKNOWN;
	return v;
}

struct value value_add(struct value a, struct value b)
{
	if (a.kind == V_ADDR && b.kind != V_ADDR)
		return value_add(b, a);
	if (b.kind == V_ADDR)
		return value_plus(a, (int64_t)b.x);
	if (a.kind == V_TP && b.kind == V_DESC)
		return (struct value){V_DESC_TP, b.x, b.off + a.off};
	if (a.kind == V_DESC && b.kind == V_TP)
		return (struct value){V_DESC_TP, a.x, b.off + a.off};
	return (struct value){V_UNKNOWN};
}

/*
 * Returns what an 8-byte load from address @addr of the file gives. What the loader writes at that
 * address is known; what the program writes there isn't.
 */
static struct value load_global(struct decoder *d, uint64_t addr)
{
	struct elf_reloc reloc;
	uint64_t pointer;

	if (!elf_file_reloc(d->elf, addr, &reloc))
		return (struct value){V_LOADED, addr, 0};
	if (reloc.type == d->relocs->offset)
		return (struct value){V_DESC, addr, 0};
	if (elf_file_pointer(d->elf, addr, &pointer))
		return (struct value){V_ADDR, pointer, 0};
	return (struct value){V_UNKNOWN};
}

struct value decoder_load(struct decoder *d, struct value mem, bool wide)
{
	switch (mem.kind) {
	case V_ADDR:
		return wide ? load_global(d, mem.x) : (struct value){V_INT, mem.x, 0};
	case V_TP:
		decoder_finish(d, ACCESS_TLS, 0, mem.off);
		break;
	case V_BLOCK:
		decoder_finish(d, ACCESS_TLS_PAIR, mem.x, mem.off);
		break;
	case V_DESC_TP:
		decoder_finish(d, ACCESS_TLS_DESC, mem.x, mem.off);
		break;
	default:
		break;
	}
	return (struct value){V_UNKNOWN};
}

void decoder_branch(struct decoder *d, int64_t disp)
{
	if (disp > 0 && (uint64_t)disp < d->n - d->at && !d->bad)
		d->branch = d->at + (size_t)disp;
}

static bool reloc_is(struct decoder *d, struct value v, uint32_t type)
{
	struct elf_reloc reloc;

	return v.kind == V_ADDR && elf_file_reloc(d->elf, v.x, &reloc) && reloc.type == type;
}

/*
 * Follows a call, or a jump out of the accessor. The argument shows which function is called. A GOT
 * pair is for __tls_get_addr(), and a TLS descriptor for the descriptor's resolver. Any other
 * argument is for a function that returns a key's value: PyThread_get_key_value(int),
 * pthread_getspecific(key) or PyThread_tss_get(Py_tss_t *). Debug builds up to 3.11 pass the whole
 * struct _gilstate_runtime_state.
 */
void decoder_leave(struct decoder *d, bool is_call, struct value through)
{
	struct value arg = d->reg[d->arg];

	if (is_call && reloc_is(d, through, d->relocs->desc)) {
		d->reg[d->result] = (struct value){V_DESC, through.x + 8, 0};
	} else if (is_call && reloc_is(d, arg, d->relocs->module)) {
		/* registers that the called function preserves aren't needed after the call */
		memset(d->reg, 0, sizeof(d->reg));
		d->reg[d->result] = (struct value){V_BLOCK, arg.x, 0};
	} else if (arg.kind == V_INT) {
		decoder_finish(d, ACCESS_KEY, arg.x, 0);
	} else if (arg.kind == V_ADDR) {
		decoder_finish(d, ACCESS_ARGUMENT, arg.x, 0);
	} else {
		d->bad = true;
	}
}

void decoder_return(struct decoder *d)
{
	struct value v = d->reg[d->result];

	if (v.kind == V_LOADED) {
		decoder_finish(d, ACCESS_GLOBAL, v.x, 0);
	} else if (d->branch) {
		d->at = d->branch;
		d->branch = 0;
	} else {
		d->bad = true;
	}
}
