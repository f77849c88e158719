/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds gaps: ranges of code that lie between the functions which call frame information describes.
 * code_rows.c analyses the code in the gaps.
 */
#ifndef UNWIND_PROVE_CODE_GAPS_H
#define UNWIND_PROVE_CODE_GAPS_H

#include "elf/elf_file.h"
#include "unwind/prove/code_starts.h"
#include "unwind/rows/rows.h"

/*
 * Appends the gaps in the @n bytes of code at @vaddr. Small gaps, which are padding, and huge gaps
 * are left out. 0 or -ENOMEM.
 */
_must_use_ int code_gaps_add(const struct unwind_rows *rows, uint64_t vaddr, uint64_t n,
			     key_range_vec *ret);

/*
 * Sorts the gaps. Drops gaps that overlap (sections may overlap in a hostile file), and gaps that
 * would make the sum of all gaps too large.
 */
void code_gaps_bound(key_range_vec *gaps);

/*
 * Finds the gaps in the executable sections of a file, and then sorts and bounds them as
 * code_gaps_bound() does. 0 or -ENOMEM.
 */
_must_use_ int code_gaps_find(struct elf_file *f, const struct unwind_rows *rows,
			      key_range_vec *ret);

/* Returns how many bytes the gaps have together. */
uint64_t code_gaps_bytes(const key_range_vec *gaps);

#endif
