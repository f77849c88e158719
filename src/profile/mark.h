/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The texts of marks (abi/marks.h), such as "[truncated]", which stand for frames that krait
 * couldn't get. All texts are constants.
 */
#ifndef PROFILE_MARK_H
#define PROFILE_MARK_H

#include "base/text/str.h"
#include "marks.h"

/* Returns the text of a mark that never has a reason, such as "[truncated]". */
const char *mark_text(enum mark mark);

/* Appends the text of @mark, with @what as the reason in it: "[incomplete: frame not readable]". */
void mark_add(struct str *s, enum mark mark, const char *what);

/*
 * Tells whether the @n bytes at @s are the text of a mark. If the mark has a reason, the text may
 * have any reason.
 */
bool mark_is(const char *s, size_t n);

/*
 * The words of a mark, which is shown in place of missing frames: the words in brackets, as in
 * "[truncated]", and the sentence that explains them. abi/marks.h lists both.
 */
struct mark_words {
	const char *words, *sentence;
};

extern const struct mark_words mark_rows[MARK_MAX];
extern const struct mark_words walk_words[WALK_OUTCOME_MAX];
extern const struct mark_words native_words[NATIVE_OUTCOME_MAX];
extern const struct mark_words naming_words[NAMING_OUTCOME_MAX];

/*
 * Returns the mark for a walk of Python frames that ended with @outcome. If the mark is
 * MARK_INCOMPLETE, walk_words[] has the reason.
 */
enum mark mark_of_walk(enum walk_outcome outcome);

#endif
