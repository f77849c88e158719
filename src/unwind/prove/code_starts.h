/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells where functions begin, as far as the file shows that. */
#ifndef UNWIND_PROVE_CODE_STARTS_H
#define UNWIND_PROVE_CODE_STARTS_H

#include "base/vec.h"
#include "unwind/rows/rows.h"

typedef VEC(uint32_t) key_vec;
struct key_range {
	uint32_t start, end; /* offsets (address - rows' base); .end is exclusive */
};
typedef VEC(struct key_range) key_range_vec;

/* Tells whether offset @key is in one of the ranges @v, which are in ascending order. */
bool key_range_vec_has(const key_range_vec *v, uint64_t key);

/* Offsets (address - rows' base) where functions begin, in ascending order, without duplicates. */
struct code_starts {
	key_vec all;
	/*
	 * offsets in .all where a function certainly begins. The other offsets of .all may be
	 * labels, or the beginning of the second part of a function that was split.
	 */
	key_vec certain;
};
void code_starts_fini(struct code_starts *s);

/*
 * Adds the offsets *@keys, in any order, to .certain. After the call, *@keys has only the offsets
 * that are new in .certain, in ascending order, without duplicates. 0 or -ENOMEM.
 */
_must_use_ int code_starts_add(struct code_starts *s, key_vec *keys);

/*
 * Finds the starts of functions that a file shows. Symbols of functions, and global symbols without
 * a type (assembly), are certain starts. Targets of relative relocations in executable memory, and
 * beginnings of executable sections, aren't certain. @calls: also searches the functions that have
 * call frame information (some ms a MB). Functions that these functions call are certain starts;
 * targets of their jumps aren't certain. Only starts in the ranges @within (ascending) count.
 * *@ret: all zero at first. 0 or -ENOMEM.
 */
_must_use_ int code_starts(struct elf_file *f, const struct unwind_rows *rows,
			   const key_range_vec *within, bool calls, struct code_starts *ret);

/*
 * Fills *@ret, as code_starts() does, but with the @n addresses @vaddrs, which are in any order.
 * All of these starts are certain.
 */
_must_use_ int code_starts_list(const uint64_t *vaddrs, size_t n, uint64_t base,
				const key_range_vec *within, struct code_starts *ret);

/* Returns a pointer to the first offset in @v that isn't below @key, or to the end of @v. */
const uint32_t *key_vec_from(const key_vec *v, uint32_t key);
bool key_vec_has(const key_vec *v, uint32_t key);

#endif
