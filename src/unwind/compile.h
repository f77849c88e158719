/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the unwind rows of one ELF file (how to find callers) from its call frame information
 * (.eh_frame, or .debug_frame where only that exists) and from what its instructions prove. The
 * input is hostile: sizes, offsets and nesting are bounded. Code whose caller no rule can express
 * gets UNWIND_UNKNOWN, never a guess.
 */
#ifndef UNWIND_COMPILE_H
#define UNWIND_COMPILE_H

#include "unwind/rows/rows.h"

/*
 * Compiles the call frame information of @f. Returns 0 or -errno with a message. If @f has none,
 * returns 0, and *ret is empty. Call unwind_rows_fini() also after a failure.
 */
_must_use_ int unwind_rows_read_tables(struct elf_file *f, struct unwind_rows *ret);

/*
 * Compiles an .eh_frame section that a process has in memory, as unwind_rows_read_tables() compiles
 * the .eh_frame of a file. The code that the section describes is in the @n ranges of memory @code
 * (.vaddr, .memsz, .exec). 0 or -ENOMEM.
 */
struct cfi_section;
_must_use_ int unwind_rows_read_memory(const struct cfi_section *section,
				       const struct elf_load *code, size_t n,
				       struct unwind_rows *ret);

/*
 * Does what unwind_rows_read_tables() does. Also adds rows for functions without call frame
 * information, proven from their instructions (prove/code_rows.h).
 */
_must_use_ int unwind_rows_read(struct elf_file *f, struct unwind_rows *ret);

#endif
