/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code objects with the same content. Many processes may run the same program, one after another.
 * Each process has code objects of its own, at other addresses, but with the same names and lines.
 * So krait keeps these names and lines once, and looks up the locations of their frames once. Two
 * contents are the same if all their bytes are equal.
 */
#ifndef COLLECT_CODE_SAME_H
#define COLLECT_CODE_SAME_H

#include "collect/common/state.h"
#include "python/code/code.h"

/* Makes the state of same.c. False: out of memory. */
_must_use_ bool same_init(struct collect *c);
void same_fini(struct collect *c);

/*
 * Makes a code object from a record, as py_code_from_record() does. If an earlier code object has
 * the same content, the new one shares its names and lines.
 *
 * Call this only for processes that began after sampling did. Functions of older processes get a
 * mark, "ran before" (profile_ran_before()), when their locations are made. Shared code has its
 * locations already, so its functions wouldn't get that mark.
 */
_must_use_ int same_code(struct collect *c, const struct rec_code *rec, size_t n, unsigned version,
			 struct py_code **ret);
/* Frees @code, and adjusts the counts of bytes that are kept. */
void same_free_code(struct collect *c, struct py_code *code);
/*
 * Forgets all contents, so that later code objects don't share them. Frees the contents that no
 * code object uses.
 */
void same_forget(struct collect *c);

#endif
