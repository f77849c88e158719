/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Named ranges of addresses, where a later range covers the parts of earlier ranges that it
 * overlaps. This suits a process that makes code, discards it and makes new code at the same
 * addresses.
 */
#ifndef SYMBOL_MADECODE_CODE_MAP_H
#define SYMBOL_MADECODE_CODE_MAP_H

#include "base/vec.h"

struct code_range {
	uint64_t start, end; /* addresses of the code; end exclusive, start < end */
	/*
	 * where the code began when its range was added; later ranges may have covered the
	 * beginning of the range
	 */
	uint64_t first;
	/* a number that the map's user chose; only the user knows its meaning */
	uint32_t name;
};

struct code_map {
	/*
	 * list[0 .. sorted) is in ascending order, without overlaps; the ranges after these are in
	 * the order in which they were added
	 */
	VEC(struct code_range) list;
	size_t sorted;
};

void code_map_fini(struct code_map *m);

/*
 * Adds a range. Where it overlaps ranges that were added before, the new range covers them. @size
 * mustn't be 0, and @start + @size mustn't wrap around. 0 or -ENOMEM.
 */
_must_use_ int code_map_add(struct code_map *m, uint64_t start, uint64_t size, uint32_t name);

/*
 * Sorts in the ranges that were added since the last call; call this function before a search.
 * Takes n log n steps for these n ranges, and a step for each older range. 0 or -ENOMEM (nothing is
 * lost).
 */
_must_use_ int code_map_settle(struct code_map *m);

/*
 * Returns the range that holds @addr, or NULL. Ranges that were added since the last
 * code_map_settle() aren't found.
 */
const struct code_range *code_map_find(const struct code_map *m, uint64_t addr);

#endif
