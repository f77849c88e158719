/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a file says that functions begin. */
#ifndef ELF_CODE_STARTS_H
#define ELF_CODE_STARTS_H

#include "base/vec.h"
#include "elf/unwind_rows.h"

typedef VEC(uint32_t) key_vec;
struct key_range {
	uint32_t start, end; /* exclusive */
};
typedef VEC(struct key_range) key_range_vec;

/*
 * Appends, ascending and once, as addresses from @rows' base on: symbols of functions, global ones without a type (assembly), what
 * relative relocations point to in executable memory, beginnings of executable sections. @calls: also what functions that have
 * call frame information call (some ms a MB). Only those @within ranges (ascending). 0 or -ENOMEM.
 */
_must_use_ int code_starts(struct elf_file *f, const struct unwind_rows *rows,
			   const key_range_vec *within, bool calls, key_vec *ret);

/* Those of @n addresses in any order. */
_must_use_ int code_starts_list(const uint64_t *vaddrs, size_t n, uint64_t base,
				const key_range_vec *within, key_vec *ret);

const uint32_t *key_vec_from(const key_vec *v,
			     uint32_t key); /* the first that isn't below @key, or the end */
bool key_vec_has(const key_vec *v, uint32_t key);

#endif
