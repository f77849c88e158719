/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the words that are spelt most like a mistyped word; see nearest.h. */
#include "base/text/nearest.h"

#include <stdlib.h>

#define FAR UINT32_MAX

unsigned int word_distance(const char *a, const char *b)
{
	unsigned int d[32][32];
	size_t n = strlen(a), m = strlen(b);

	if (n >= ARRAY_SIZE(d) || m >= ARRAY_SIZE(d))
		return FAR;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = MIN(d[i - 1][j], d[i][j - 1]) + 1;
			d[i][j] = MIN(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[n][m];
}

void nearest_init(struct nearest *n, const char *typed)
{
	static const char special[] = "*?[]^$()|+{}\\/";
	size_t most = 0;

	*n = (struct nearest){};
	for (const char *s = typed; *s; s += !!*s) {
		size_t len = strcspn(s, special);

		if (len > most) {
			most = len;
			snprintf(n->typed, sizeof(n->typed), "%.*s", (int)MIN(len, 63u), s);
		}
		s += len;
	}
}

void nearest_fini(struct nearest *n)
{
	for (size_t i = 0; i < n->n_best; i++)
		free(n->best[i].name);
	for (size_t i = 0; i < n->n_any; i++)
		free(n->any[i]);
	*n = (struct nearest){};
}

/*
 * Returns how far @word is from @typed. A word that contains @typed is nearer than a misspelt one,
 * and a short word nearer than a long one.
 */
static unsigned int score(const char *typed, const char *word)
{
	size_t n = strlen(typed), m = strlen(word);
	unsigned int most = MIN(n / 3 + 1, 3u), d;

	if (!strcasecmp(typed, word))
		return 0;
	if (n >= 3 && strcasestr(word, typed))
		return 1 + MIN((unsigned int)(m - n), 1000u);
	if (n < 3 || m + most < n || n + most < m)
		return FAR;
	d = word_distance(typed, word);
	return d <= most ? 2000 + d : FAR;
}

static void add_any(struct nearest *n, const char *shown)
{
	for (size_t i = 0; i < n->n_any; i++)
		if (streq(n->any[i], shown))
			return;
	if (n->n_any < NEAREST_MOST && (n->any[n->n_any] = strdup(shown)))
		n->n_any++;
}

void nearest_add(struct nearest *n, const char *word, const char *shown)
{
	unsigned int s = *word ? score(n->typed, word) : FAR;
	size_t at = n->n_best;
	char *name;

	if (n->n_any < NEAREST_MOST && *shown)
		add_any(n, shown);
	if (s == FAR || (at == NEAREST_MOST && n->best[at - 1].score <= s))
		return;
	for (size_t i = 0; i < n->n_best; i++)
		if (streq(n->best[i].name, shown))
			return;
	name = strdup(shown);
	if (!name)
		return;
	if (at == NEAREST_MOST)
		free(n->best[--at].name);
	n->n_best = at + 1;
	for (; at && n->best[at - 1].score > s; at--)
		n->best[at] = n->best[at - 1];
	n->best[at].name = name;
	n->best[at].score = s;
}

void nearest_words(const struct nearest *n, bool any, struct str *b)
{
	for (size_t i = 0; i < n->n_best; i++)
		str_addf(b, "%s%s", i ? ", " : "; near it: ", n->best[i].name);
	for (size_t i = 0; any && !n->n_best && i < n->n_any; i++)
		str_addf(b, "%s%s", i ? ", " : "; there is, for example, ", n->any[i]);
}
