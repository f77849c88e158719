/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows for code that call frame information says nothing of: assembly (OpenBLAS, MKL), libraries built without it
 * (musl). Functions begin where symbols, pointers in relocations and calls say so; what is left is tried
 * where code follows padding. x86-64 only: aarch64 needs a decoder (x86_insn.h) and the effects of its instructions
 * (x86_state.h), and the way through a function (x86_flow.h).
 */
#ifndef UNWIND_PROVE_CODE_ROWS_H
#define UNWIND_PROVE_CODE_ROWS_H

#include "unwind/rows/rows.h"

/* Is the code of the machine that this runs on understood? */
#if defined(__x86_64__)
#define CODE_ROWS_OF_THIS_MACHINE true
#else
#define CODE_ROWS_OF_THIS_MACHINE false
#endif

/* Bytes of code that there is to look at: some 60 MB a second. */
uint64_t code_rows_bytes(struct elf_file *f, const struct unwind_rows *rows);

/* Adds to @rows (as from call frame information) what can be proven. 0 or -errno + message. */
_must_use_ int code_rows_add(struct elf_file *f, struct unwind_rows *rows);

/* A piece of a process's code, copied. */
struct code_memory {
	uint64_t vaddr;
	size_t n;
	const uint8_t *bytes;
};

/*
 * The same of x86-64 code at the @n places @code, in which functions begin at the @n_starts addresses @starts
 * and nowhere else. @tail_jumps: as in struct code_region. 0 or -ENOMEM.
 */
_must_use_ int code_rows_add_memory(const struct code_memory *code, size_t n,
				    const uint64_t *starts, size_t n_starts, bool tail_jumps,
				    struct unwind_rows *rows);

/*
 * The same of the one function that may begin where @code does, which is a guess (docs/decisions/0011); the rows are
 * guarded by all of its bytes. No rows: nothing is known. 0 or -ENOMEM. @rows: zeros.
 */
_must_use_ int code_rows_guess(const struct code_memory *code, struct unwind_rows *rows);

#endif
