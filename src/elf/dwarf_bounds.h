/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory a file's DWARF takes before libdw, which asks nobody, takes it. */
#ifndef ELF_DWARF_BOUNDS_H
#define ELF_DWARF_BOUNDS_H

#include <libelf.h>
#include <stdint.h>

/*
 * The bytes of all sections that libdw will read at once, unpacked, more than DWARF_BYTES_MAX also where they are more than
 * the thread's slice has memory (base/slice.h); 0 also for what it can't read safely.
 */
uint64_t dwarf_sections_bytes(Elf *elf, int fd);

/* Bytes of the line program at @at of .debug_line, DWARF_LINES_MAX + 1 for more, or if that can't be told; 0: it isn't there. */
uint64_t dwarf_program_bytes(Elf *elf, uint64_t at);

#endif
