/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of addresses with a name where a later one covers what an earlier one claimed: code that a
 * process makes, throws away and makes anew at the same place.
 */
#ifndef SYMBOL_CODE_MAP_H
#define SYMBOL_CODE_MAP_H

#include "base/vec.h"

struct code_range {
	uint64_t start, end; /* end exclusive, start < end */
	uint64_t first;	     /* where the code began before others covered parts of it */
	uint32_t name;	     /* the owner's */
};

struct code_map {
	VEC(struct code_range) list; /* [0, sorted): ascending, apart; behind: in order of time */
	size_t sorted;
};

void code_map_fini(struct code_map *m);

/* Later than all before. @start + @size doesn't wrap, @size isn't 0. 0 or -ENOMEM. */
_must_use_ int code_map_add(struct code_map *m, uint64_t start, uint64_t size, uint32_t name);

/* Before a search: n log n of what was added since, n of the others. 0 or -ENOMEM (nothing is lost). */
_must_use_ int code_map_settle(struct code_map *m);

/* The range that holds @addr, or NULL; of what is settled. */
const struct code_range *code_map_find(const struct code_map *m, uint64_t addr);

#endif
