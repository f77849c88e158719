/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A compiler or BOLT may move a part of a function to another place. The functions of this file
 * find the function to which such a part belongs, in files without a symbol table. Call frame
 * information shows where parts are: at the first instruction of a part, the stack frame already is
 * as in the middle of a function. Jumps into the part show which function the part belongs to. At
 * such a jump the stack frame must be in the state in which the part begins; otherwise the jump is
 * a tail call.
 */
#ifndef SYMBOL_ELF_FUNCTION_PARTS_H
#define SYMBOL_ELF_FUNCTION_PARTS_H

#include "elf/elf_file.h"

struct function_parts;

/*
 * Reads the call frame information and, if there are parts, the instructions: some ms per MB. 0;
 * *@ret is NULL if no part is found. Nothing is searched in files for other machines than x86-64,
 * with a symbol table, or with more than 24 MiB of code. -ENOMEM with a message.
 */
_must_use_ int function_parts_open(struct elf_file *f, struct function_parts **ret);
void function_parts_free(struct function_parts *p); /* @p may be NULL */

/*
 * Returns the start of the function of which a part begins exactly at @start (vaddr). 0: no part
 * begins at @start, or the part's function isn't known.
 */
uint64_t function_parts_find(const struct function_parts *p, uint64_t start);

/* Returns the memory that @p holds, in bytes. */
size_t function_parts_bytes(const struct function_parts *p);

#endif
