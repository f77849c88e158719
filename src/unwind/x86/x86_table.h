/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the jump table of a `switch`. In position-independent code, compilers translate a `switch`
 * to cmp $N,%i; ja default; lea table(%rip),%a; movslq (%a,%i,4),%d; add %a,%d; jmp *%d The table
 * has distances from its own beginning.
 */
#ifndef UNWIND_X86_X86_TABLE_H
#define UNWIND_X86_X86_TABLE_H

#include "base/util.h"

#define CODE_TABLE_MOST 1024u /* the most entries of a jump table that are read */

struct code_table {
	/*
	 * offset of the table's first entry (address - rows' base); negative: the table lies before
	 * the code
	 */
	int64_t at;
	uint32_t bound; /* number of the table's entries; 0: not known */
	/*
	 * offset of the first instruction that computes the jump's address. No jump may lead into
	 * the instructions between it and the jump.
	 */
	uint32_t since;
};

/*
 * Finds the table of the jump at @bytes[@jump] by the instructions before it, which follow one
 * another from @bytes[0] on. @key: offset of @bytes[0]. False: the jump doesn't go through a table.
 */
bool code_table_find(const uint8_t *bytes, size_t jump, size_t n, uint32_t key,
		     struct code_table *ret);

#endif
