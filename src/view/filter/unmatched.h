/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds patterns that match nothing in a profile. Most likely such a pattern is mistyped, but the
 * empty result would look like an answer. So krait tells the user, with the names that are nearest
 * to the pattern.
 */
#ifndef VIEW_FILTER_UNMATCHED_H
#define VIEW_FILTER_UNMATCHED_H

#include "view/filter/options.h"

struct unmatched_one;

struct unmatched {
	VEC(struct unmatched_one) list; /* all patterns of the user */
	bool any;			/* at least one of the profiles had samples */
};

/*
 * Prepares the search for patterns that match nothing. @o is borrowed. 0 or -errno + message. Call
 * unmatched_fini() in any case.
 */
_must_use_ int unmatched_init(struct unmatched *u, const struct view_options *o);
void unmatched_fini(struct unmatched *u);

/*
 * Looks in @p for matches of the patterns that have none so far. Call it before a view of @p is
 * made; it may be called for several profiles, one after the other. 0 or -ENOMEM + message.
 */
_must_use_ int unmatched_look(struct unmatched *u, struct profile *p);

/*
 * Appends "hide nosuch matches nothing; near it: ..." for pattern @i. The first word is the member
 * of struct view_options to which the pattern belongs. False: the pattern matches something, or no
 * profile had samples.
 */
bool unmatched_words(const struct unmatched *u, size_t i, struct str *b);

#endif
