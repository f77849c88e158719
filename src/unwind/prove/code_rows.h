/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes unwind rows for code without call frame information: assembly (OpenBLAS, MKL), and
 * libraries that are built without call frame information (musl). Symbols, pointers in relocations
 * and calls show where functions begin. In the rest of the code, krait looks for functions after
 * padding. x86-64 only: for aarch64, krait would need a decoder (x86_insn.h), the effects of its
 * instructions (x86_state.h), and the flow through a function (x86_flow.h).
 */
#ifndef UNWIND_PROVE_CODE_ROWS_H
#define UNWIND_PROVE_CODE_ROWS_H

#include "unwind/rows/rows.h"

/* Can machine code be analysed? Only x86-64 code can, and only if krait itself runs on x86-64. */
#if defined(__x86_64__)
#define CODE_ROWS_OF_THIS_MACHINE true
#else
#define CODE_ROWS_OF_THIS_MACHINE false
#endif

/* Returns how many bytes of code code_rows_add() would analyse: some 60 MB take a second. */
uint64_t code_rows_bytes(struct elf_file *f, const struct unwind_rows *rows);

/*
 * Adds rows to @rows, which has the rows from call frame information. The new rows are proven from
 * instructions. 0 or -errno + message.
 */
_must_use_ int code_rows_add(struct elf_file *f, struct unwind_rows *rows);

/* A piece of a process's code that was copied from its memory. */
struct code_memory {
	uint64_t vaddr;
	size_t n;
	const uint8_t *bytes;
};

/*
 * Adds rows as code_rows_add() does, but for x86-64 code in the @n ranges of memory @code.
 * Functions begin only at the @n_starts addresses @starts. @tail_jumps: as in struct code_region. 0
 * or -ENOMEM.
 */
_must_use_ int code_rows_add_memory(const struct code_memory *code, size_t n,
				    const uint64_t *starts, size_t n_starts, bool tail_jumps,
				    struct unwind_rows *rows);

/*
 * Makes the rows of the function that begins where @code does. That a function begins there is only
 * a guess (docs/decisions/0011). The rows are valid only as long as all bytes of the function stay
 * the same (.guarded). If nothing can be proven, there are no rows. @rows: all zero at first. 0 or
 * -ENOMEM.
 */
_must_use_ int code_rows_guess(const struct code_memory *code, struct unwind_rows *rows);

#endif
