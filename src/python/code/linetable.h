/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the source position of an instruction in the line table of each CPython version. The table
 * comes from a target process and is hostile: decoding never reads past the table's end, and the
 * table's length bounds the time that decoding takes.
 */
#ifndef PYTHON_CODE_LINETABLE_H
#define PYTHON_CODE_LINETABLE_H

#include "base/util.h"

struct py_position {
	/*
	 * first and last line of the instruction; .line 0: the instruction, made by the compiler,
	 * has no line; .end_line 0: not known
	 */
	int line, end_line;
	/* columns as UTF-8 byte offsets, counted from 0; -1: not known (always before 3.11) */
	int col, end_col;
};

/*
 * Returns the position of the instruction at @lasti, which counts in the unit of the version's
 * frames (abi/records.h: 2.7-3.9 bytes, 3.10 code units, 3.11+ bytes). A negative @lasti gives the
 * definition's first line. @version is major << 8 | minor. The result equals that of co_lines(),
 * co_positions() and dis.
 */
struct py_position py_linetable_position(unsigned version, const uint8_t *table, size_t n,
					 int firstlineno, int lasti);

/*
 * Are the first @n bytes of a line table enough to find the position of instruction @lasti (not
 * negative)?
 */
bool py_linetable_reaches(unsigned version, const uint8_t *table, size_t n, int lasti);

#endif
