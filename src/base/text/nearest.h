/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the words that are spelt most like a word that somebody mistyped. */
#ifndef BASE_TEXT_NEAREST_H
#define BASE_TEXT_NEAREST_H

#include "base/text/str.h"
#include "base/util.h"

enum { NEAREST_MOST = 3 };

/*
 * Returns the distance of two words: how many letters were added, lost, changed, or swapped with
 * the next letter. UINT32_MAX for words of more than 31 letters.
 */
unsigned int word_distance(const char *a, const char *b);

struct nearest {
	/* what the user typed; of a pattern, only its longest piece of plain text */
	char typed[64];
	struct {
		char *name;
		unsigned int score; /* how far the word is from what was typed; 0 is nearest */
	} best[NEAREST_MOST];
	/* the words that were added first, whatever their distance from the typed word */
	char *any[NEAREST_MOST];
	size_t n_best, n_any;
};

/* Begins a search for words near @typed, which is a word, a glob or a regular expression. */
void nearest_init(struct nearest *n, const char *typed);
void nearest_fini(struct nearest *n);

/*
 * Adds @word, which the user may have meant; messages show it as @shown. Adding a word twice does
 * nothing. If memory runs out, the word is left out.
 */
void nearest_add(struct nearest *n, const char *word, const char *shown);

/*
 * Appends the nearest words, as in "; near it: json.loads, json.load". If no word is near and @any
 * is set, appends some words: "; there is, for example, a, b".
 */
void nearest_words(const struct nearest *n, bool any, struct str *b);

#endif
