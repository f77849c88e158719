/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares krait's line table decoder with what an interpreter says of its code objects, which
 * tests/live/linetable.py prints and this program reads on stdin. Usage: linetable [SHIFT]. SHIFT
 * is added to every instruction offset, to test that wrong offsets are noticed. Prints
 * "INSTRUCTIONS MISMATCHES", and the first mismatches on stderr.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "python/code/linetable.h"

#define SHOWN 5

struct totals {
	unsigned long instructions, mismatches;
	int shift;
};

struct code {
	unsigned version;
	int firstlineno;
	uint8_t *table;
	size_t n;
};

static bool same(const struct py_position *a, const struct py_position *b)
{
	return a->line == b->line && a->end_line == b->end_line && a->col == b->col &&
	       a->end_col == b->end_col;
}

static void compare(const struct code *c, int lasti, const struct py_position *want,
		    struct totals *t)
{
	struct py_position got =
		py_linetable_position(c->version, c->table, c->n, c->firstlineno, lasti + t->shift);

	t->instructions++;
	if (same(&got, want) || t->mismatches++ >= SHOWN || t->shift)
		return;
	fprintf(stderr, "%x first line %d, instruction %d: %d-%d %d-%d instead of %d-%d %d-%d\n",
		c->version, c->firstlineno, lasti, got.line, got.end_line, got.col, got.end_col,
		want->line, want->end_line, want->col, want->end_col);
}

/* Decodes @hex into a new buffer. Returns false if the text isn't hexadecimal. */
static bool parse_table(const char *hex, struct code *c)
{
	size_t n = streq(hex, "-") ? 0 : strlen(hex) / 2;

	c->table = malloc(n + 1);
	c->n = n;
	for (size_t i = 0; c->table && i < n; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &c->table[i]) != 1)
			return false;
	return c->table;
}

static bool parse_line(char *line, struct totals *t)
{
	struct code c = {};
	_cleanup_free_ uint8_t *owned = NULL;
	char *save, *version = strtok_r(line, " \n", &save), *first = strtok_r(NULL, " \n", &save),
		    *table = strtok_r(NULL, " \n", &save);

	if (!table || !parse_table(table, &c))
		return false;
	owned = c.table;
	c.version = (unsigned)strtoul(version, NULL, 16);
	c.firstlineno = atoi(first);
	for (char *p; (p = strtok_r(NULL, " \n", &save));) {
		struct py_position want = {.col = -1, .end_col = -1};
		int lasti, n = sscanf(p, "%d:%d:%d:%d:%d", &lasti, &want.line, &want.end_line,
				      &want.col, &want.end_col);

		if (n != 2 && n != 5)
			return false;
		compare(&c, lasti, &want, t);
	}
	return true;
}

int main(int argc, char **argv)
{
	struct totals t = {.shift = argc > 1 ? atoi(argv[1]) : 0};
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, stdin) > 0)
		if (!parse_line(line, &t)) {
			fprintf(stderr, "linetable: input not understood\n");
			return 2;
		}
	printf("%lu %lu\n", t.instructions, t.mismatches);
	return 0;
}
