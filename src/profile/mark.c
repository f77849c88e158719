/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns the lists in abi/marks.h (marks such as "[truncated]", and the outcomes of walks of Python
 * frames) into tables; see mark.h.
 */
#include "profile/mark.h"

#include "base/util.h"

#define WORDS(name, words, sentence) {words, sentence},

const struct mark_words mark_rows[] = {MARKS(WORDS)};
const struct mark_words native_words[] = {NATIVE_OUTCOMES(WORDS)};
const struct mark_words naming_words[] = {NAMING_OUTCOMES(WORDS)};

const struct mark_words walk_words[] = {
#define X(name, mark, words, sentence) {words, sentence},
	WALK_OUTCOMES(X)
#undef X
};

enum mark mark_of_walk(enum walk_outcome outcome)
{
	static const uint8_t marks[] = {
#define X(name, mark, words, sentence) MARK_##mark,
		WALK_OUTCOMES(X)
#undef X
	};

	return marks[outcome];
}

const char *mark_text(enum mark mark)
{
	return mark_rows[mark].words;
}

void mark_add(struct str *s, enum mark mark, const char *what)
{
	const char *text = mark_text(mark), *place = strstr(text, "%s");

	if (!place)
		str_add(s, text);
	else
		str_addf(s, "%.*s%s%s", (int)(place - text), text, what, place + 2);
}

/*
 * Returns the length of the part of a mark that doesn't depend on the reason: "[incomplete". Also
 * works for marks without a reason, because older files have a reason in some of these: "[no
 * Python: why]".
 */
static size_t fixed_part(const char *text)
{
	return strcspn(text, ":]");
}

bool mark_is(const char *s, size_t n)
{
	if (!n || s[n - 1] != ']')
		return false;
	for (size_t i = 0; i < MARK_MAX; i++) {
		size_t fixed = fixed_part(mark_text(i));

		if (n > fixed && !memcmp(s, mark_text(i), fixed) &&
		    (s[fixed] == ':' || fixed == n - 1))
			return true;
	}
	return false;
}
