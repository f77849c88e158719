/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds in krait's own memory what native stacks are unwound with: the tables, rules and mappings
 * that sampler/unwind/store.h stores in the kernel's maps. Nothing is freed before the end, because
 * a dump is short.
 */
#ifndef DUMP_STORE_H
#define DUMP_STORE_H

#include "base/vec.h"
#include "unwind/rows/rows.h"

/*
 * Numbers of tables, rules and slots begin at 1; 0 means that there is none. A slot has the
 * mappings of a process.
 */
struct store {
	/* pieces of memory, each of which holds unwind rows or mappings (struct space_chunk) */
	VEC(struct unwind_chunk *) chunks;
	VEC(struct unwind_table) tables;
	VEC(struct unwind_rule) rules;
	VEC(struct unwind_space) spaces;
};

_must_use_ int store_init(struct store *s); /* returns 0 or -ENOMEM */
void store_fini(struct store *s);

/* These functions do what their namesakes in sampler/unwind/store.h do. 0 or -errno + message. */
_must_use_ int store_new_table(struct store *s, uint32_t *ret);
_must_use_ int store_fill(struct store *s, uint32_t table, const struct unwind_rows *rows,
			  const struct unwind_fde *eval, size_t n_eval);
_must_use_ int store_new_space(struct store *s, uint32_t *slot);
_must_use_ int store_set_space(struct store *s, uint32_t slot, const struct unwind_space *head,
			       const struct unwind_mapping *m, size_t n);

#endif
