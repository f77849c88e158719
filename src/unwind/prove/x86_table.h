/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a `switch` jumps. In position-independent code compilers write for it
 *	cmp $N,%i; ja default; lea table(%rip),%a; movslq (%a,%i,4),%d; add %a,%d; jmp *%d
 * The table has distances from its own beginning.
 */
#ifndef UNWIND_PROVE_X86_TABLE_H
#define UNWIND_PROVE_X86_TABLE_H

#include "base/util.h"

#define CODE_TABLE_MOST 1024u /* how many entries of a jump table are read at most */

struct code_table {
	int64_t at; /* key of the table's first entry; below 0 if the table lies before the code */
	uint32_t bound; /* number of the table's entries; 0: not known */
	/*
	 * key of the first instruction that computes the jump's address: nothing may jump to a
	 * place after it, up to the jump
	 */
	uint32_t since;
};

/*
 * Finds the table of the jump at @bytes[@jump] by the instructions before it, which follow one
 * another from @bytes[0] on. @key: that of @bytes[0]. False: it is no such jump.
 */
bool code_table_find(const uint8_t *bytes, size_t jump, size_t n, uint32_t key,
		     struct code_table *ret);

#endif
