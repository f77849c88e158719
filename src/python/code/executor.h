/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that CPython 3.14's compiler makes (PYTHON_JIT=1) and registers nowhere. Each piece of it, an executor, has
 * pages of its own (Python/jit.c, _PyJIT_Compile()) and begins with the function of Tools/jit/shim.c, which calls what
 * comes behind it: a chain of machine code for instructions, each of which jumps to the next, and out of it to
 * another executor's.
 */
#ifndef PYTHON_EXECUTOR_H
#define PYTHON_EXECUTOR_H

#include "unwind/prove/code_rows.h"

#define EXECUTOR_PAGE 4096u

/* Where in @n bytes of code, whole pages, the first executor begins from @from on, a page's beginning; or @n. */
size_t executor_next(const uint8_t *bytes, size_t n, size_t from);

/*
 * How the executor that @code begins with is unwound; no rows: it is none, or isn't understood. 0 or -ENOMEM;
 * unwind_rows_fini() in every case.
 */
_must_use_ int executor_rows(const struct code_memory *code, struct unwind_rows *ret);

#endif
