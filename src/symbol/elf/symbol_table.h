/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds symbols of code by address. Symbols of several tables are added in any order, then sorted
 * once. A symbol takes 24 bytes, and its name. Symbols may be hostile, and may overlap in any way;
 * some overlap by accident.
 */
#ifndef SYMBOL_ELF_SYMBOL_TABLE_H
#define SYMBOL_ELF_SYMBOL_TABLE_H

#include "base/text/str.h"
#include "base/vec.h"

#define SYMBOLS_MAX	 (4u << 20)   /* the most symbols of a file; Chromium has 1,500,000 */
#define SYMBOL_NAMES_MAX (256u << 20) /* the most bytes of all names together */
/* the most bytes of one name; the rest of a longer name is replaced by "..." */
#define SYMBOL_NAME_BYTES 8192
/* how many bytes of names are read at most to find the lengths of names */
#define SYMBOLS_MEASURED (512u << 20)

struct symbol_candidate {
	uint64_t start;
	const char *name; /* the symbol's name, which must stay valid until symbol_table_sort() */
	uint32_t size;
	uint16_t bytes; /* length of .name, at most SYMBOL_NAME_BYTES */
	uint8_t under;	/* number of leading underscores, at most UINT8_MAX */
	/*
	 * rank of the symbol: of several symbols with the same start, the one with the lowest rank
	 * is kept
	 */
	uint8_t rank;
};

struct symbol {
	uint64_t start;
	uint32_t size, name;
	/* index of the nearest symbol that starts before this symbol and ends after it */
	uint32_t outer;
};

struct symbol_table {
	VEC(struct symbol_candidate) candidates;
	/*
	 * symbols in ascending order of start; of symbols with the same start the best comes last
	 */
	VEC(struct symbol) list;
	struct str names;
	size_t measured; /* how many bytes of names were read to find their lengths */
	size_t dropped;	 /* how many symbols were left out because of a limit */
};

void symbol_table_fini(struct symbol_table *t);

/*
 * Adds a symbol. @name must stay valid until symbol_table_sort(). A symbol with an empty name is
 * left out. The name's length is measured when the symbol is added, within a limit, so that a
 * comparison of two names never reads more than some hundred bytes. 0 or -ENOMEM.
 */
_must_use_ int symbol_table_add(struct symbol_table *t, const char *name, uint64_t start,
				uint64_t size, uint8_t rank);

/*
 * Sorts the symbols. Call it once, after the last symbol was added. 0 or -ENOMEM; -EFBIG: the
 * thread's slice (base/work/slice.h) hasn't enough memory for all names, and the table has only the
 * symbols with the lowest addresses.
 */
_must_use_ int symbol_table_sort(struct symbol_table *t);

/* Returns the innermost symbol whose size covers @addr, or NULL. */
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t addr);

/* Returns the last symbol that starts at or before @addr, or NULL. */
const struct symbol *symbol_table_before(const struct symbol_table *t, uint64_t addr);

#endif
