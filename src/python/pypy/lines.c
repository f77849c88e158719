/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts PyPy's line tables; see pypy.h. A table has one entry for each instruction of two bytes
 * (pypy/interpreter/location.py of PyPy 3.11). An entry is one of:
 *
 *	0				the instruction has no line
 *	LINE 0				only a line
 *	LINE COL END_COL MORE		a line, columns, and how many lines later it ends
 *
 * LINE is how many lines the line lies after the function's first one, plus 1. Each byte has 7 bits
 * of it, the first byte the lowest ones; bit 7 says that another byte follows. COL and END_COL are
 * columns plus 1. They and MORE are bytes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/text/str.h"
#include "python/pypy/pypy.h"

struct entry {
	long line;		     /* from the function's first line on; -1: none */
	unsigned col, end_col, more; /* as in the table; .col 0: no columns */
};

struct cursor {
	const uint8_t *p, *end;
};

/* no function has that many lines */
#define MAX_LINE (1l << 30)

/* False: the table ends, or the number is too large. */
static bool next_line(struct cursor *c, long *ret)
{
	unsigned shift = 0, byte;

	*ret = 0;
	do {
		if (c->p == c->end || shift > 28)
			return false;
		byte = *c->p++;
		*ret |= (long)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return *ret <= MAX_LINE;
}

static bool next_entry(struct cursor *c, struct entry *e)
{
	*e = (struct entry){};
	if (!next_line(c, &e->line))
		return false;
	if (!e->line--)
		return true;
	if (c->p == c->end)
		return false;
	e->col = *c->p++;
	if (!e->col)
		return true;
	if (c->end - c->p < 2)
		return false;
	e->end_col = *c->p++;
	e->more = *c->p++;
	return true;
}

/* Kinds of entries of CPython's location table, which stand in bits 3 to 6 of the first byte. */
enum { LOC_NO_COLUMNS = 13, LOC_LONG = 14, LOC_NONE = 15 };

static void add_byte(struct str *s, unsigned byte)
{
	const char c = (char)byte;

	str_add_n(s, &c, 1);
}

static void add_varint(struct str *s, unsigned long value)
{
	for (; value >= 64; value >>= 6)
		add_byte(s, 64 | (value & 63));
	add_byte(s, (unsigned)value);
}

static void add_signed(struct str *s, long value)
{
	add_varint(s, value < 0 ? (unsigned long)-value << 1 | 1 : (unsigned long)value << 1);
}

/* Adds the entry of one instruction. @line: the line of the last entry that had one. */
static void add_entry(struct str *s, const struct entry *e, long *line)
{
	unsigned kind = e->line < 0 ? LOC_NONE : e->col ? LOC_LONG : LOC_NO_COLUMNS;

	add_byte(s, 0x80 | kind << 3);
	if (kind == LOC_NONE)
		return;
	add_signed(s, e->line - *line);
	*line = e->line;
	if (kind == LOC_NO_COLUMNS)
		return;
	add_varint(s, e->more);
	add_varint(s, e->col);
	add_varint(s, e->end_col);
}

int pypy_lines_convert(const uint8_t *table, size_t n, struct pypy_bytes *ret, long *units)
{
	struct cursor c = {table, table + n};
	struct str out = {};
	struct entry e;
	long line = 0, count = 0;
	bool broken = false;

	while (c.p < c.end && !broken) {
		broken = !next_entry(&c, &e);
		if (!broken) {
			add_entry(&out, &e, &line);
			count++;
		}
	}
	/* an empty table would stand for "all instructions are in the first line" */
	if (!count)
		add_entry(&out, &(struct entry){.line = -1}, &line);
	if (units)
		*units = broken ? -1 : count;
	*ret = (struct pypy_bytes){.n = out.n};
	ret->v = (uint8_t *)str_take(&out);
	return ret->v ? 0 : -ENOMEM;
}
