/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns that match nothing of a profile: most likely a slip of the hand, and what is shown looks as if it
 * were an answer. The names that are nearest to them are said too.
 */
#ifndef VIEW_UNMATCHED_H
#define VIEW_UNMATCHED_H

#include "view/view.h"

struct unmatched_one;

struct unmatched {
	VEC(struct unmatched_one) list; /* all patterns */
	bool any;			/* there were samples */
};

/* @o is borrowed. 0 or -ENOMEM + message; fini in any case. */
_must_use_ int unmatched_init(struct unmatched *u, const struct view_options *o);
void unmatched_fini(struct unmatched *u);

/*
 * Looks for what is left in @p, before any view of it is made; for several profiles one after the other. 0 or
 * -ENOMEM + message.
 */
_must_use_ int unmatched_look(struct unmatched *u, struct profile *p);

/* Appends "--hide nosuch matches nothing; near it: ..." for pattern @i; false: it matches, or nothing is there to match. */
bool unmatched_words(const struct unmatched *u, size_t i, struct str *b);

#endif
