/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols of code by address: filled in any order from several tables, then sorted once. What is
 * kept is 24 bytes a symbol and its name. Hostile: everything may overlap, and does by accident.
 */
#ifndef SYMBOL_SYMBOL_TABLE_H
#define SYMBOL_SYMBOL_TABLE_H

#include "base/str.h"
#include "base/vec.h"

#define SYMBOLS_MAX	  (4u << 20)   /* Chromium has 1,500,000 */
#define SYMBOL_NAMES_MAX  (256u << 20) /* bytes of names */
#define SYMBOL_NAME_BYTES 8192	       /* of one name; "..." stands for the rest */
#define SYMBOLS_MEASURED                                                                           \
	(512u << 20) /* bytes of names that are looked at, to find out how long they are */

struct symbol_candidate {
	uint64_t start;
	const char *name; /* borrowed until symbol_table_sort() */
	uint32_t size;
	uint16_t bytes; /* of the name, SYMBOL_NAME_BYTES at most */
	uint8_t under;	/* underscores that it begins with, UINT8_MAX at most */
	uint8_t rank;	/* of those at one start the lowest wins */
};

struct symbol {
	uint64_t start;
	uint32_t size, name;
	uint32_t outer; /* nearest one before it that ends behind it */
};

struct symbol_table {
	VEC(struct symbol_candidate) candidates;
	VEC(struct symbol) list; /* ascending by start; of those at one start the best comes last */
	struct str names;
	size_t measured; /* bytes of candidates' names that were looked at */
	size_t dropped;	 /* beyond a limit */
};

void symbol_table_fini(struct symbol_table *t);

/*
 * @name stays valid until symbol_table_sort(). Empty names are left out. The name is measured now, within a limit:
 * comparing two names never reads more than some hundred bytes. 0 or -ENOMEM.
 */
_must_use_ int symbol_table_add(struct symbol_table *t, const char *name, uint64_t start,
				uint64_t size, uint8_t rank);

/*
 * Once, after the last one was added. 0 or -ENOMEM; -EFBIG: the thread's slice has no memory for all names, and only the
 * lowest ones are there.
 */
_must_use_ int symbol_table_sort(struct symbol_table *t);

/* The innermost one whose size covers @addr, or NULL. */
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t addr);

/* The last one that starts at or before @addr, or NULL. */
const struct symbol *symbol_table_before(const struct symbol_table *t, uint64_t addr);

#endif
