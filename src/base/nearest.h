/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of many words somebody may have meant who typed another one. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include "base/str.h"
#include "base/util.h"

enum { NEAREST_MOST = 3 };

/* Distance of two words in letters added, lost, changed or swapped; words over 31 are far apart. */
unsigned int word_distance(const char *a, const char *b);

struct nearest {
	char typed[64]; /* of a pattern what it has most of in one piece */
	struct {
		char *name;
		unsigned int score; /* 0 is nearest */
	} best[NEAREST_MOST];
	char *any[NEAREST_MOST]; /* the first ones, near or not */
	size_t n_best, n_any;
};

/* @typed: a word, a glob or a regular expression. */
void nearest_init(struct nearest *n, const char *typed);
void nearest_fini(struct nearest *n);

/* @word is one that could have been typed, @shown what is called by it; often met ones too. -ENOMEM is forgotten. */
void nearest_add(struct nearest *n, const char *word, const char *shown);

/* Appends "; near it: json.loads, json.load"; with @any, if none is near, "; there are a, b". */
void nearest_words(const struct nearest *n, bool any, struct str *b);

#endif
