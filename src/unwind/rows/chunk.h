/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the chunks of abi/unwind.h hold: a file's rows as a search tree, a process's mappings. Where they
 * lie, in the kernel's maps or in krait's own memory, is their owner's matter.
 */
#ifndef UNWIND_ROWS_CHUNK_H
#define UNWIND_ROWS_CHUNK_H

#include "unwind/rows/rows.h"

/* The lowest level of a tree: .rule is what a row's value will be, by unwind_entries_number(). */
struct unwind_entries {
	VEC(struct unwind_row) list;
	uint32_t guarded; /* as in unwind_rows */
	uint64_t check;
};

/*
 * @rows as entries, the first one at key 0, values being numbers of @rows->rules. A function begins with one
 * of its own, even if the rule goes on: the address that stands for a function's code in a stack is
 * that of an entry. @eval: @n_eval functions, ascending, whose entries are marked UNWIND_EVAL. 0 or -ENOMEM;
 * unwind_entries_fini() in every case.
 */
_must_use_ int unwind_entries_make(const struct unwind_rows *rows, const struct unwind_fde *eval,
				   size_t n_eval, struct unwind_entries *ret);
void unwind_entries_fini(struct unwind_entries *e);
#define _cleanup_unwind_entries_ _cleanup_(unwind_entries_fini)

/* Rule i becomes @number[i]. */
void unwind_entries_number(struct unwind_entries *e, const uint32_t *number);

/* Chunks of the tree over @n entries. */
size_t unwind_tree_chunks(size_t n);

/* Keeps @chunk, whose number is then *number. 0 or -errno. */
typedef int unwind_put_fn(void *ctx, const struct unwind_chunk *chunk, uint32_t *number);

/*
 * Writes the tree over @e, which is used up, its lowest level first. *ret: all but .used. 0, -errno of
 * @put, -ENOMEM, -E2BIG: more than UNWIND_LEVELS hold.
 */
_must_use_ int unwind_tree_write(struct unwind_entries *e, unwind_put_fn *put, void *ctx,
				 struct unwind_table *ret);

/* Reads the chunk that was kept as the @i-th. 0 or -errno. */
typedef int unwind_get_fn(void *ctx, size_t i, struct unwind_chunk *chunk);

/* Would the tree over @e be the one that @get reads? Its lowest level is looked at: the others follow from it. */
bool unwind_tree_is(const struct unwind_entries *e, unwind_get_fn *get, void *ctx);

/* @c holds @n mappings, ascending, at most SPACE_MAPPINGS. */
void space_chunk_fill(struct space_chunk *c, const struct unwind_mapping *m, size_t n);

#endif
