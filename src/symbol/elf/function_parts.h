/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of functions that a compiler or BOLT has put elsewhere, in files without symbols of their own functions. By its
 * call frame information such a part begins in the middle of a function: it's no function itself. Whose it is, jumps
 * into it tell: at the same place in the frame as where it begins, so that they aren't calls at a function's end.
 */
#ifndef SYMBOL_FUNCTION_PARTS_H
#define SYMBOL_FUNCTION_PARTS_H

#include "elf/elf_file.h"

struct function_parts;

/*
 * Reads the call frame information and, where there are parts, the instructions: some ms a MB. 0; *@ret is NULL where nothing
 * is to be found (other machines than x86-64, files with a symbol table or more than 24 MiB of code); -ENOMEM with a
 * message.
 */
_must_use_ int function_parts_open(struct elf_file *f, struct function_parts **ret);
void function_parts_free(struct function_parts *p); /* NULL is fine */

/* Where the function begins of which a part begins at @start (vaddr) exactly; 0: that is none, or it isn't known. */
uint64_t function_parts_find(const struct function_parts *p, uint64_t start);

/* Memory that it holds. */
size_t function_parts_bytes(const struct function_parts *p);

#endif
