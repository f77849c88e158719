/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rows. A row says which rule leads to the caller's frame (abi/unwind.h), and from which
 * address of a file's code on that rule holds. Rows are compiled from call frame information
 * (unwind/compile.h) or proven from instructions (unwind/prove/code_rows.h).
 *
 * Rows name code by its offset: its address minus unwind_rows.base. In the sources such an offset
 * is called `key`.
 */
#ifndef UNWIND_ROWS_ROWS_H
#define UNWIND_ROWS_ROWS_H

#include "base/vec.h"
#include "elf/elf_file.h"
#include "unwind.h" /* this is abi/unwind.h */

struct unwind_row {
	/*
	 * offset (vaddr - rows.base) where the row begins; the row ends where the next row begins
	 */
	uint32_t key;
	uint32_t rule; /* index of the rule in unwind_rows.rules */
};

/*
 * Start and end of a function, as its FDE says. krait needs functions to name code, and to find the
 * evaluation loops.
 */
struct unwind_fde {
	uint32_t start, end; /* offsets (address - unwind_rows.base); end exclusive */
};

struct unwind_rows {
	/* the address that offsets count from: the lowest executable vaddr, page-aligned */
	uint64_t base;
	/*
	 * rows in ascending order; neighbouring rows never have the same rule; a gap between
	 * functions is a row with rule UNWIND_UNKNOWN
	 */
	VEC(struct unwind_row) rows;
	/* distinct rules of these rows; [0] is UNWIND_UNKNOWN, a rule of zeros */
	VEC(struct unwind_rule) rules;
	/* functions that have call frame information, in ascending order, not overlapping */
	VEC(struct unwind_fde) fdes;
	/*
	 * The rows are valid as long as the first .guarded bytes of the code at .base have this
	 * check (check_bytes() of abi/check.h). If .guarded is 0, the rows are always valid.
	 */
	uint32_t guarded;
	uint64_t check;
	/* how many FDEs were left out, because they are broken or contradict other FDEs */
	size_t bad;
	char why[96]; /* why the first FDE was left out, shown with -v; "": no FDE was left out */
};

typedef VEC(struct unwind_rows) unwind_rows_vec;

/*
 * Limits for a file. Rows, functions and rules beyond them are left out and counted in .bad.
 * PyTorch's largest library has half a million functions; polars has 1.6 million rows and 1,900
 * rules.
 */
#define UNWIND_MAX_ROWS	 (8u << 20)
#define UNWIND_MAX_FDES	 (2u << 20)
#define UNWIND_MAX_RULES (64u << 10)

void unwind_rows_fini(struct unwind_rows *r);
size_t unwind_rows_bytes(const struct unwind_rows *r); /* memory that @r holds, in bytes */
#define _cleanup_unwind_rows_ _cleanup_(unwind_rows_fini)

/* A rule for the code at offsets [start, end), which had no rule before. */
struct unwind_range {
	uint32_t start, end;
	struct unwind_rule rule;
};
typedef VEC(struct unwind_range) unwind_range_vec;

/* Adds @ranges, which ascend and don't overlap, to @rows. 0 or -ENOMEM. */
_must_use_ int unwind_rows_merge(struct unwind_rows *rows, const unwind_range_vec *ranges);

/* A range of code in memory, and the offset that its first byte has in a table of rows. */
struct unwind_place {
	uint64_t start, end;
	uint64_t key; /* offset of .start; this offset and that of .end are below 4 GiB */
};

/*
 * Joins the rows of @n_files into one table, as far as their code is in one of the @n ranges
 * @places (ascending by address and by offset, not overlapping). Each range begins with an entry in
 * .fdes, and no entry reaches into the next range. 0 or -ENOMEM. Call unwind_rows_fini() also after
 * a failure.
 */
_must_use_ int unwind_rows_join(const struct unwind_rows *files, size_t n_files,
				const struct unwind_place *places, size_t n,
				struct unwind_rows *ret);

/* Returns the rule at @vaddr; NULL: no row covers @vaddr. */
const struct unwind_rule *unwind_rows_find(const struct unwind_rows *r, uint64_t vaddr);

/*
 * Does rule @u say that the stack is as at a function's start (x86-64)? If @u is NULL, the answer
 * is no.
 */
bool unwind_rule_is_start(const struct unwind_rule *u);

/* Returns the FDE that contains offset @key, or NULL. @fdes: @n FDEs, which ascend. */
const struct unwind_fde *unwind_fde_find(const struct unwind_fde *fdes, size_t n, uint64_t key);

/* Returns the FDE that contains @vaddr, or NULL. */
const struct unwind_fde *unwind_rows_fde(const struct unwind_rows *r, uint64_t vaddr);

#endif
