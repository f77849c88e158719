/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that the JIT compiler of CPython 3.14 makes (PYTHON_JIT=1) and doesn't register anywhere.
 * The code is made in pieces, called executors, and each piece has pages of its own (Python/jit.c,
 * _PyJIT_Compile()). An executor begins with the function of Tools/jit/shim.c, which calls the code
 * after it: a chain of machine code, one part for each instruction. Each part jumps to the next
 * one. A jump into another executor's chain leaves the chain.
 */
#ifndef PYTHON_CODE_EXECUTOR_H
#define PYTHON_CODE_EXECUTOR_H

#include "unwind/prove/code_rows.h"

#define EXECUTOR_PAGE 4096u

/*
 * Returns the offset of the first executor at or after offset @from in @n bytes of code. If there
 * is no executor, returns @n. @from is the beginning of a page, and @n a multiple of the page size.
 */
size_t executor_next(const uint8_t *bytes, size_t n, size_t from);

/*
 * Computes the unwind rows (how to find the caller) of the executor at the beginning of @code. @ret
 * has no rows if there is no executor, or if krait doesn't understand its code. 0 or -ENOMEM. Call
 * unwind_rows_fini() also after a failure.
 */
_must_use_ int executor_rows(const struct code_memory *code, struct unwind_rows *ret);

#endif
