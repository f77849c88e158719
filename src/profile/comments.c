/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the comments of a profile; see comments.h. */
#include "profile/comments.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"

static void take_last(struct comments *c)
{
	char *last = c->list.v[--c->list.n];

	c->bytes -= strlen(last);
	free(last);
}

static int insert(struct comments *c, size_t at, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy || vec_push(&c->list, copy))
		return -ENOMEM;
	c->bytes += strlen(copy);
	memmove(c->list.v + at + 1, c->list.v + at, (c->list.n - 1 - at) * sizeof(*c->list.v));
	c->list.v[at] = TAKE_PTR(copy);
	return 0;
}

/*
 * Tells whether another comment fits. Room is kept free for a last comment, which says how many
 * comments were left out.
 */
static bool fits(const struct comments *c, size_t bytes)
{
	return c->list.n < COMMENTS_MAX - 1 && bytes <= COMMENTS_MAX_BYTES - c->bytes;
}

static int add(struct comments *c, const char *text)
{
	bool warning = str_starts(text, COMMENTS_WARNING ": ");
	size_t n = strlen(text);

	while (warning && n <= COMMENTS_MAX_BYTES && !fits(c, n) && c->list.n > c->n_warnings) {
		take_last(c);
		c->left_out++;
	}
	if (!fits(c, n)) {
		c->left_out++;
		return 0;
	}
	return insert(c, warning ? c->n_warnings++ : c->list.n, text);
}

static int tell(struct comments *c)
{
	char text[64];

	if (!c->left_out)
		return 0;
	snprintf(text, sizeof(text), "krait: %llu more comments were left out",
		 (unsigned long long)c->left_out);
	c->told = !insert(c, c->list.n, text);
	return c->told ? 0 : -ENOMEM;
}

int comments_add(struct comments *c, const char *text)
{
	int r;

	if (c->told)
		take_last(c);
	c->told = false;
	r = add(c, text);
	r = r ? r : tell(c);
	return r ? err_set(r, "out of memory") : 0;
}

bool comments_is_ended(const char *text)
{
	return str_starts(text, COMMENTS_ENDED ": ");
}

/*
 * the most runs of a command that a comment may give; no recording has more, but a file may say
 * anything
 */
#define MAX_RUNS 1000000000

static uint64_t runs_of(const char *ended)
{
	uint64_t n = 0;

	if (streq(ended, "0"))
		return 1;
	if (!str_starts(ended, "0, "))
		return 0;
	for (ended += strlen("0, "); *ended >= '0' && *ended <= '9' && n < MAX_RUNS; ended++)
		n = 10 * n + (uint64_t)(*ended - '0');
	return streq(ended, " runs") ? n : 0;
}

uint64_t comments_runs(const struct comments *c)
{
	uint64_t runs = 0;
	bool any = false;

	vec_foreach(text, &c->list) {
		if (!comments_is_ended(*text))
			continue;
		if (any)
			return 0;
		any = true;
		runs = runs_of(*text + strlen(COMMENTS_ENDED ": "));
	}
	return runs;
}

const char *comments_end(const struct comments *c)
{
	const char *end = NULL;

	vec_foreach(text, &c->list)
		if (comments_is_ended(*text))
			end = *text + strlen(COMMENTS_ENDED ": ");
	return end;
}

void comments_remove(struct comments *c, bool (*is)(const char *text))
{
	size_t n = c->n_warnings;

	for (size_t i = n; i < c->list.n; i++) {
		if (!is(c->list.v[i])) {
			c->list.v[n++] = c->list.v[i];
			continue;
		}
		c->bytes -= strlen(c->list.v[i]);
		free(c->list.v[i]);
	}
	c->list.n = n;
}

void comments_fini(struct comments *c)
{
	vec_foreach(text, &c->list)
		free(*text);
	vec_fini(&c->list);
	*c = (struct comments){};
}
