/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The patterns of filter options. A pattern is /regex/ (POSIX extended, found anywhere in the
 * name), a glob (a text with *, ? or [...] that must match the whole name), or a plain text that
 * must be the whole name.
 */
#ifndef VIEW_FILTER_PATTERN_H
#define VIEW_FILTER_PATTERN_H

#include <regex.h>
#include "base/vec.h"

struct pattern {
	const char *text; /* text of the pattern, borrowed */
	bool is_regex, is_glob;
	regex_t regex;
};

struct patterns {
	VEC(struct pattern) list;
};

typedef VEC(const char *) pattern_texts;

/* Checks a pattern. 0, or -EINVAL + a message that says what is wrong with the pattern. */
_must_use_ int pattern_check(const char *text);

/*
 * Prepares patterns for matching. @texts are borrowed and must outlive @p. 0 or -errno + message.
 */
_must_use_ int patterns_init(struct patterns *p, const pattern_texts *texts);
void patterns_fini(struct patterns *p);

/* Tells whether any pattern of @p matches @s. False if @p has no patterns. */
bool patterns_match(const struct patterns *p, const char *s);

/*
 * Do together what patterns_match() does, for a name in two forms: regular expressions are tried on
 * @frame only, all other patterns on @name only.
 */
bool patterns_match_name(const struct patterns *p, const char *name);
bool patterns_match_regex(const struct patterns *p, const char *frame);

#endif
