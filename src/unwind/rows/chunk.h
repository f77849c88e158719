/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the chunks of abi/unwind.h with a file's rows, as a search tree, or with a process's
 * mappings. The caller decides where it keeps chunks: in the kernel's maps or in krait's own
 * memory.
 */
#ifndef UNWIND_ROWS_CHUNK_H
#define UNWIND_ROWS_CHUNK_H

#include "unwind/rows/rows.h"

/*
 * The lowest level of a file's search tree: its rows. At first .rule is an index;
 * unwind_entries_number() replaces it by a number.
 */
struct unwind_entries {
	VEC(struct unwind_row) list;
	uint32_t guarded; /* copies of .guarded and .check of struct unwind_rows */
	uint64_t check;
};

/*
 * Makes entries of @rows; the first entry has offset 0, and .rule is an index in @rows->rules. Each
 * function begins with an entry of its own, even if the rule stays the same: a stack names a
 * function's code by the address of an entry. @eval: @n_eval functions, ascending, whose entries
 * are marked UNWIND_EVAL. 0 or -ENOMEM. Call unwind_entries_fini() also after a failure.
 */
_must_use_ int unwind_entries_make(const struct unwind_rows *rows, const struct unwind_fde *eval,
				   size_t n_eval, struct unwind_entries *ret);
void unwind_entries_fini(struct unwind_entries *e);
#define _cleanup_unwind_entries_ _cleanup_(unwind_entries_fini)

/* Replaces .rule, the index i of a rule, by @number[i] in all entries. */
void unwind_entries_number(struct unwind_entries *e, const uint32_t *number);

struct unwind_tree_size {
	size_t chunks;
	uint32_t depth; /* how many levels of chunks the tree has */
};
/* Returns the size of the search tree over @n entries. */
struct unwind_tree_size unwind_tree_size(size_t n);

/* Stores @chunk, and sets *@number to the chunk's number. 0 or -errno. */
typedef int unwind_put_fn(void *ctx, const struct unwind_chunk *chunk, uint32_t *number);

/*
 * Writes the search tree over the entries @e, its lowest level first, and overwrites @e. Sets all
 * of *ret except .used. 0; -errno of @put; -ENOMEM; -E2BIG: the tree needs more than UNWIND_LEVELS
 * levels.
 */
_must_use_ int unwind_tree_write(struct unwind_entries *e, unwind_put_fn *put, void *ctx,
				 struct unwind_table *ret);

/*
 * Reads chunk @i, counted in the order in which unwind_tree_write() stored the chunks. 0 or -errno.
 */
typedef int unwind_get_fn(void *ctx, size_t i, struct unwind_chunk *chunk);

/*
 * Tells whether the tree whose chunks @get reads is the tree over @e. Only the lowest level is
 * compared, because the levels above follow from it.
 */
bool unwind_tree_is(const struct unwind_entries *e, unwind_get_fn *get, void *ctx);

/* Fills chunk @c with @n mappings, which ascend; at most SPACE_MAPPINGS. */
void space_chunk_fill(struct space_chunk *c, const struct unwind_mapping *m, size_t n);

#endif
