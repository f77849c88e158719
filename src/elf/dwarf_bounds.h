/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates how much memory libdw will take for a file's DWARF. libdw itself has no limit, so krait
 * estimates the memory before it calls libdw.
 */
#ifndef ELF_DWARF_BOUNDS_H
#define ELF_DWARF_BOUNDS_H

#include <libelf.h>
#include <stdint.h>

/*
 * Returns the sum of the unpacked sizes of all sections that libdw will read. If the sum exceeds
 * the memory that is left of the thread's slice (base/work/slice.h), the result is above
 * DWARF_BYTES_MAX. 0: there are no such sections, or libdw can't read them safely.
 */
uint64_t dwarf_sections_bytes(Elf *elf, int fd);

/*
 * Returns how many bytes the line program at offset @at of .debug_line has. DWARF_LINES_MAX + 1: it
 * has more than DWARF_LINES_MAX, or its size isn't known. 0: there is no line program at @at.
 */
uint64_t dwarf_program_bytes(Elf *elf, uint64_t at);

#endif
