/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * If the names of many threads differ only in numbers, gives these threads one common name, with N
 * in place of the numbers: "worker-N". A server that starts a thread for each request has such
 * threads.
 */
#ifndef VIEW_WAITS_FOLD_H
#define VIEW_WAITS_FOLD_H

#include "base/intern.h"
#include "base/text/str.h"

#define FOLD_FROM 4 /* if at least this many names differ only in numbers, they get a common name */

struct fold_names {
	/*
	 * .keys: names with N in place of numbers; .names: the names that fold_names_note() was
	 * given
	 */
	struct intern keys, names;
	VEC(uint32_t) counts; /* by key: how many of the names become this key */
};

void fold_names_init(struct fold_names *f);
void fold_names_fini(struct fold_names *f);

/* Notes a name, before fold_names_add() is called for it. Returns 0 or -ENOMEM. */
_must_use_ int fold_names_note(struct fold_names *f, const char *name);

/*
 * Appends @name, or the common name that replaces it. fold_names_note() must have been called for
 * all names before.
 */
void fold_names_add(struct fold_names *f, const char *name, struct str *b);

/* Appends a name with N in place of each number in it. */
void fold_name(const char *name, struct str *b);

#endif
