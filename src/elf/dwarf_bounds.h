/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory libdw will take for a file's DWARF. Asked before, because libdw has no limit. */
#ifndef ELF_DWARF_BOUNDS_H
#define ELF_DWARF_BOUNDS_H

#include <libelf.h>
#include <stdint.h>

/*
 * The bytes of all sections that libdw will read at once, unpacked. More than DWARF_BYTES_MAX also
 * if they exceed what is left of the thread's slice (base/slice.h). 0: there are none, or libdw
 * can't read them safely.
 */
uint64_t dwarf_sections_bytes(Elf *elf, int fd);

/*
 * Bytes of the line program at @at of .debug_line. DWARF_LINES_MAX + 1: more, or not known; 0:
 * there is none.
 */
uint64_t dwarf_program_bytes(Elf *elf, uint64_t at);

#endif
