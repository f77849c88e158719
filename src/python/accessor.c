/* SPDX-License-Identifier: BSD-2-Clause */
/* Entry of the accessor decoders, one per machine. */
#include "python/accessor.h"

#define CODE_BYTES 128 /* the longest one seen has 60 */

struct accessor accessor_read(struct elf_file *elf, uint64_t vaddr)
{
	uint8_t code[CODE_BYTES];
	size_t n = vaddr ? elf_file_read(elf, vaddr, code, sizeof(code)) : 0;

	if (elf_file_machine(elf) == ELF_X86_64)
		return accessor_x86(elf, code, n, vaddr);
	return accessor_arm64(elf, code, n, vaddr);
}
