/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives many threads whose names differ only in numbers one common name, with N for the numbers:
 * "worker-N". A server that starts a thread for each request has such threads.
 */
#ifndef VIEW_WAITS_FOLD_H
#define VIEW_WAITS_FOLD_H

#include "base/intern.h"
#include "base/text/str.h"

#define FOLD_FROM 4 /* if at least so many names differ only in numbers, they get a common name */

struct fold_names {
	struct intern keys, names; /* .keys: names with N for numbers */
	VEC(uint32_t) counts;	   /* by key: how many names have the key */
};

void fold_names_init(struct fold_names *f);
void fold_names_fini(struct fold_names *f);

/* Notes a name for fold_names_add(). Returns 0 or -ENOMEM. */
_must_use_ int fold_names_note(struct fold_names *f, const char *name);

/*
 * Appends @name, for which fold_names_note() was called, or the common name with N for numbers that
 * stands for it.
 */
void fold_names_add(struct fold_names *f, const char *name, struct str *b);

/* Appends a name with N for each number in it. */
void fold_name(const char *name, struct str *b);

#endif
