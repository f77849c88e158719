/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes the four line table formats of CPython 2.7-3.15; see linetable.h. Formats:
 * Objects/lnotab_notes.txt (2.7-3.10) and Objects/locations.md (3.11+). Line numbers are summed up
 * in 64 bits. As a table has at most a few hundred KiB and a varint 36 bits, hostile deltas can't
 * overflow a sum. clamp_line() rejects sums that are no line.
 */
#include "python/code/linetable.h"
#include "python/layout/tables.h"

#include <limits.h>

static const struct py_position NOWHERE = {.col = -1, .end_col = -1};

/*
 * Returns @line as an int. A line that isn't a positive int becomes 0: the table is broken, or says
 * that there is no line.
 */
static int clamp_line(int64_t line)
{
	return line > 0 && line <= INT_MAX ? (int)line : 0;
}

static struct py_position only_line(int64_t line)
{
	struct py_position pos = NOWHERE;

	pos.line = clamp_line(line);
	return pos;
}

/*
 * Reads co_lnotab: pairs of an address delta and a line delta. The line delta is signed since 3.6.
 */
static struct py_position from_lnotab(bool is_signed, const uint8_t *table, size_t n, int first,
				      int lasti)
{
	int64_t addr = 0, line = first;

	for (size_t i = 0; i + 2 <= n; i += 2) {
		addr += table[i];
		if (addr > lasti)
			break;
		line += is_signed ? (int8_t)table[i + 1] : table[i + 1];
	}
	return only_line(line);
}

/*
 * Reads a line table of 3.10: pairs of a byte length and a signed line delta. A delta of -128 means
 * that the range has no line.
 */
static struct py_position from_ranges(const uint8_t *table, size_t n, int first, int lasti)
{
	int64_t end = 0, line = first, addr = (int64_t)lasti * 2;

	for (size_t i = 0; i + 2 <= n; i += 2) {
		int delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != -128)
			line += delta;
		if (addr < end)
			return delta == -128 ? NOWHERE : only_line(line);
	}
	return NOWHERE;
}

struct cursor {
	const uint8_t *p, *end;
};

static unsigned next_byte(struct cursor *c)
{
	return c->p < c->end ? *c->p++ : 0;
}

/*
 * Reads a varint: each byte has six bits of it, the lowest first, and bit 6 means that another byte
 * follows. CPython writes ints, so bits above 35 are dropped. Sums of hostile tables stay far from
 * 2^63.
 */
static int64_t next_varint(struct cursor *c)
{
	uint64_t value = 0;
	unsigned byte, shift = 0;

	do {
		byte = next_byte(c);
		if (shift < 32)
			value |= (uint64_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40);
	return (int64_t)value;
}

static int64_t next_signed(struct cursor *c)
{
	int64_t value = next_varint(c);

	return value & 1 ? -(value >> 1) : value >> 1;
}

static int clamp_col(int64_t col)
{
	return col >= 0 && col <= INT_MAX ? (int)col : -1;
}

/*
 * Kinds of entries in a location table (3.11+), PyCodeLocationInfoKind. Kinds 0 to 9 are short
 * forms.
 */
enum { LOC_ONE_LINE = 10, LOC_NO_COLUMNS = 13, LOC_LONG = 14, LOC_NONE = 15 };

/* Decodes the rest of an entry whose first byte has @kind. Adds the entry's line delta to @line. */
static struct py_position next_location(struct cursor *c, unsigned kind, int64_t *line)
{
	struct py_position pos = NOWHERE;
	int64_t more = 0;

	if (kind == LOC_NONE)
		return NOWHERE;
	if (kind < LOC_ONE_LINE) {
		unsigned byte = next_byte(c);

		pos.col = (int)(kind << 3 | byte >> 4);
		pos.end_col = pos.col + (int)(byte & 15);
	} else if (kind < LOC_NO_COLUMNS) {
		*line += kind - LOC_ONE_LINE;
		pos.col = (int)next_byte(c);
		pos.end_col = (int)next_byte(c);
	} else {
		*line += next_signed(c);
	}
	if (kind == LOC_LONG) {
		more = next_varint(c);
		pos.col = clamp_col(next_varint(c) - 1);
		pos.end_col = clamp_col(next_varint(c) - 1);
	}
	pos.line = clamp_line(*line);
	pos.end_line = pos.line ? clamp_line(*line + more) : 0;
	return pos;
}

/* Reads a location table (3.11+): entries of different lengths, each for 1-8 code units. */
static struct py_position from_locations(const uint8_t *table, size_t n, int first, int lasti)
{
	struct cursor c = {table, table + n};
	int64_t end = 0, line = first;

	while (c.p < c.end) {
		unsigned head = next_byte(&c);
		struct py_position pos;

		/*
		 * Bit 7 marks an entry's first byte. A byte without bit 7 can't begin an entry, so
		 * the rest of the table is garbage.
		 */
		if (!(head & 0x80))
			break;
		end += (head & 7) + 1;
		pos = next_location(&c, head >> 3 & 15, &line);
		if (lasti / 2 < end)
			return pos;
	}
	return NOWHERE;
}

bool py_linetable_reaches(unsigned version, const uint8_t *table, size_t n, int lasti)
{
	uint64_t can = py_can(version);
	int64_t end = 0;

	if (PY_HAS(can, LNOTAB) || PY_HAS(can, LINE_RANGES)) {
		for (size_t i = 0; i + 2 <= n; i += 2)
			end += table[i];
		return end > (PY_HAS(can, LINE_RANGES) ? (int64_t)lasti * 2 : lasti);
	}
	for (size_t i = 0; i < n; i++) {
		if (!(table[i] & 0x80))
			continue; /* no entry begins with byte @i; see from_locations() */
		if (end > lasti / 2)
			/* the entry for @lasti is complete, because the entry after it has begun */
			return true;
		end += (table[i] & 7) + 1;
	}
	return false;
}

struct py_position py_linetable_position(unsigned version, const uint8_t *table, size_t n,
					 int firstlineno, int lasti)
{
	uint64_t can = py_can(version);

	if (lasti < 0 || !n) /* Nuitka makes empty line tables up to 3.11 */
		return only_line(firstlineno);
	if (PY_HAS(can, LINE_RANGES))
		return from_ranges(table, n, firstlineno, lasti);
	if (PY_HAS(can, LNOTAB))
		return from_lnotab(PY_HAS(can, SIGNED_LINES), table, n, firstlineno, lasti);
	return from_locations(table, n, firstlineno, lasti);
}
