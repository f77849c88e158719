/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a file says that functions begin. */
#ifndef UNWIND_PROVE_CODE_STARTS_H
#define UNWIND_PROVE_CODE_STARTS_H

#include "base/vec.h"
#include "unwind/rows/rows.h"

typedef VEC(uint32_t) key_vec;
struct key_range {
	uint32_t start, end; /* exclusive */
};
typedef VEC(struct key_range) key_range_vec;

/* In one of the ranges, which are ascending? */
bool key_range_vec_has(const key_range_vec *v, uint64_t key);

/* Ascending, each once, as addresses from the rows' base on. */
struct code_starts {
	key_vec all;
	key_vec certain; /* of these; the others may be labels, or the rest of a function that was split */
};
void code_starts_fini(struct code_starts *s);

/* *@keys, in any order, become those that weren't known, ascending and once; they are certain from then on. 0 or -ENOMEM. */
_must_use_ int code_starts_add(struct code_starts *s, key_vec *keys);

/*
 * Symbols of functions, global ones without a type (assembly); not certain: what relative relocations point to in executable
 * memory, beginnings of executable sections. @calls: also what functions that have call frame information call (some ms a MB),
 * and, not certain, what they jump to.
 * Only those @within ranges (ascending). *@ret: zeros. 0 or -ENOMEM.
 */
_must_use_ int code_starts(struct elf_file *f, const struct unwind_rows *rows,
			   const key_range_vec *within, bool calls, struct code_starts *ret);

/* Those of @n addresses in any order, all certain. */
_must_use_ int code_starts_list(const uint64_t *vaddrs, size_t n, uint64_t base,
				const key_range_vec *within, struct code_starts *ret);

const uint32_t *key_vec_from(const key_vec *v,
			     uint32_t key); /* the first that isn't below @key, or the end */
bool key_vec_has(const key_vec *v, uint32_t key);

#endif
