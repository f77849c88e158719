/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code objects with the same content. Many processes may run the same program, one after another.
 * The code objects of each come anew, at other addresses, but with the same names and lines. These
 * are kept once, and so the locations of their frames are looked up once. Contents are the same if
 * all their bytes are.
 */
#ifndef COLLECT_CODE_SAME_H
#define COLLECT_CODE_SAME_H

#include "collect/common/state.h"
#include "python/code/code.h"

/* Makes the state of same.c. False: out of memory. */
_must_use_ bool same_init(struct collect *c);
void same_fini(struct collect *c);

/*
 * As py_code_from_record(), but the code object shares the content of earlier ones with the same.
 * Only for processes that began after sampling did: frames of others are noted in the profile when
 * their locations are made (profile_ran_before()).
 */
_must_use_ int same_code(struct collect *c, const struct rec_code *rec, size_t n, unsigned version,
			 struct py_code **ret);
/* Frees @code, and counts what that frees. */
void same_free_code(struct collect *c, struct py_code *code);
/* Frees the contents that no code object has. Later code objects don't share those of others. */
void same_forget(struct collect *c);

#endif
