/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds PyPy's GIL in a PyPy's ELF file. The word rpy_fastgil has no symbol, but PyPy exports
 * pypy_thread_attach(), which takes the GIL.
 */
#include "python/find/image_internal.h"

/* how far into pypy_thread_attach() the first locked instruction is looked for */
#define ATTACH_BYTES 96

/* pypy_thread_attach() compares the first word of the thread's block with this number */
#define READY 0x2a

static int32_t s32_at(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Returns the address of the word that the function at @vaddr locks, if the function first compares
 * a word with READY; 0: the function has another form.
 *
 *	83 b8 ?? ?? ?? ?? 2a     cmpl $0x2a, ready(%rax)
 *	f0 48 0f b1 ?? disp32    lock cmpxchg %reg, disp32(%rip)
 */
static uint64_t locked_word(const uint8_t *code, size_t n, uint64_t vaddr)
{
	bool compared = false;

	for (size_t i = 0; i + 9 <= n; i++) {
		compared |= code[i] == 0x83 && (code[i + 1] & 0xf8) == 0xb8 && code[i + 6] == READY;
		if (code[i] != 0xf0)
			continue;
		return compared && (code[i + 1] & 0xfb) == 0x48 && code[i + 2] == 0x0f &&
				       code[i + 3] == 0xb1 && (code[i + 4] & 0xc7) == 0x05
			       ? vaddr + i + 9 + (uint64_t)(int64_t)s32_at(code + i + 5)
			       : 0;
	}
	return 0;
}

uint64_t image_pypy_gil(struct image_ctx *c)
{
	const struct elf_symbol *f = &c->sym[SYM_pypy_thread_attach];
	uint8_t code[ATTACH_BYTES];
	size_t n = f->value ? elf_file_read(c->elf, f->value, code, sizeof(code)) : 0;

	return elf_file_machine(c->elf) == ELF_X86_64 ? locked_word(code, n, f->value) : 0;
}
