/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Line tables: corner cases of the four formats. The expected values follow from CPython's
 * documents on the formats (Objects/lnotab_notes.txt, Objects/locations.md).
 * tests/live/linetable.sh compares whole tables of real code objects with what interpreters say.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "python/code/linetable.h"

#define TABLE(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

static void assert_position(struct py_position pos, int line, int end_line, int col, int end_col)
{
	assert_int_equal(pos.line, line);
	assert_int_equal(pos.end_line, end_line);
	assert_int_equal(pos.col, col);
	assert_int_equal(pos.end_col, end_col);
}

static void assert_line(struct py_position pos, int line)
{
	assert_position(pos, line, 0, -1, -1);
}

static void test_lnotab(void **state)
{
	/* pairs of the table: +0 bytes +1 line, +6 bytes +2 lines, +2 bytes -1 line (2.7: +255) */
	const uint8_t table[] = {0, 1, 6, 2, 2, 255};
	size_t n = sizeof(table);

	assert_line(py_linetable_position(0x307, table, n, 10, -1), 10);
	assert_line(py_linetable_position(0x307, table, n, 10, 0), 11);
	assert_line(py_linetable_position(0x307, table, n, 10, 5), 11);
	assert_line(py_linetable_position(0x307, table, n, 10, 6), 13);
	assert_line(py_linetable_position(0x307, table, n, 10, 8), 12);
	assert_line(py_linetable_position(0x207, table, n, 10, 8), 268);
	assert_line(py_linetable_position(0x309, table, n, 10, 1 << 30), 12);
	/*
	 * a last byte without its pair is ignored; an empty table gives the first line everywhere
	 */
	assert_line(py_linetable_position(0x309, table, 3, 10, 6), 11);
	assert_line(py_linetable_position(0x309, table, 0, 10, 6), 10);
	assert_line(py_linetable_position(0x30a, table, 0, 10, 6), 10);
	assert_line(py_linetable_position(0x30b, table, 0, 10, 6), 10);
}

static void test_ranges(void **state)
{
	/*
	 * entries of the table: 4 bytes on line 11, 2 bytes without a line, 254 bytes on line 9, 0
	 * bytes +1 line, 2 bytes on line 10
	 */
	const uint8_t table[] = {4, 1, 2, 0x80, 254, 0xfe, 0, 1, 2, 0};
	size_t n = sizeof(table);

	assert_line(py_linetable_position(0x30a, table, n, 10, -1), 10);
	assert_line(py_linetable_position(0x30a, table, n, 10, 0), 11);
	assert_line(py_linetable_position(0x30a, table, n, 10, 1), 11);
	assert_line(py_linetable_position(0x30a, table, n, 10, 2), 0);
	assert_line(py_linetable_position(0x30a, table, n, 10, 3), 9);
	assert_line(py_linetable_position(0x30a, table, n, 10, 129), 9);
	assert_line(py_linetable_position(0x30a, table, n, 10, 130), 10);
	assert_line(py_linetable_position(0x30a, table, n, 10, 131), 0);
	assert_line(py_linetable_position(0x30a, table, n, 10, INT_MAX), 0);
}

#define HEAD(code, units) (0x80 | (code) << 3 | ((units)-1))

static void test_location_kinds(void **state)
{
	/*
	 * The last three entries: one that begins a line further on, ends 3 lines later, and has
	 * columns 4 to 64; one without a location; and the long form without columns.
	 */
	const uint8_t table[] = {
		HEAD(0, 1), 0x12,      /* short form: columns 1-3 */
		HEAD(9, 2), 0x7f,      /* short form: columns 79-94 */
		HEAD(10, 1), 200, 210, /* on the same line as the entry before it */
		HEAD(12, 1), 4, 8,     /* two lines below the entry before it */
		/* one line above the entry before it, without columns */
		HEAD(13, 8), 0x03, HEAD(14, 1), 0x02, 0x03, 0x05, 0x41, 0x01, HEAD(15, 1),
		HEAD(14, 1), 0x00, 0x00, 0x00, 0x00, /* the last three entries */
	};
	size_t n = sizeof(table);

	assert_position(py_linetable_position(0x30b, table, n, 10, 0), 10, 10, 1, 3);
	assert_position(py_linetable_position(0x30b, table, n, 10, 1), 10, 10, 1, 3);
	assert_position(py_linetable_position(0x30b, table, n, 10, 2), 10, 10, 79, 94);
	assert_position(py_linetable_position(0x30b, table, n, 10, 4), 10, 10, 79, 94);
	assert_position(py_linetable_position(0x30b, table, n, 10, 6), 10, 10, 200, 210);
	assert_position(py_linetable_position(0x30b, table, n, 10, 8), 12, 12, 4, 8);
	assert_position(py_linetable_position(0x30b, table, n, 10, 10), 11, 11, -1, -1);
	assert_position(py_linetable_position(0x30b, table, n, 10, 24), 11, 11, -1, -1);
	assert_position(py_linetable_position(0x30b, table, n, 10, 26), 12, 15, 4, 64);
	assert_line(py_linetable_position(0x30b, table, n, 10, 28), 0);
	assert_position(py_linetable_position(0x30f, table, n, 10, 30), 12, 12, -1, -1);
	assert_line(py_linetable_position(0x30f, table, n, 10, 32), 0);
	assert_line(py_linetable_position(0x30f, table, n, 10, -2), 10);
}

static void test_line_zero(void **state)
{
	/* a module's first instruction (RESUME) is on line 0, though co_firstlineno is 1 */
	assert_line(py_linetable_position(0x30b, TABLE(HEAD(13, 1), 0x03), 1, 0), 0);
}

static void test_truncated(void **state)
{
	/* missing bytes of a last entry count as zeros, and nothing past the table is read */
	assert_position(py_linetable_position(0x30c, TABLE(HEAD(14, 1)), 7, 0), 7, 7, -1, -1);
	assert_position(py_linetable_position(0x30c, TABLE(HEAD(14, 1), 0x42), 7, 0), 8, 8, -1, -1);
	assert_position(py_linetable_position(0x30c, TABLE(HEAD(10, 1), 3), 7, 0), 7, 7, 3, 0);
	assert_line(py_linetable_position(0x30c, TABLE(0x7f, 0x00), 7, 0), 0);
	assert_line(py_linetable_position(0x30c, TABLE(HEAD(1, 1)), 7, 2), 0);
}

static void test_hostile(void **state)
{
	/* lines that overflow an int, varints that never end, negative lines */
	assert_position(
		py_linetable_position(0x30c, TABLE(HEAD(13, 1), 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f),
				      INT_MAX, 0),
		0, 0, -1, -1);
	assert_position(py_linetable_position(0x30c,
					      TABLE(HEAD(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
						    0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f),
					      INT_MIN, 0),
			0, 0, -1, -1);
	assert_line(py_linetable_position(0x308, TABLE(0, 0x81, 0, 0x81), 5, 4), 0);
	assert_line(py_linetable_position(0x207, TABLE(0, 0xff), INT_MAX, 4), 0);
	assert_line(py_linetable_position(0x30a, TABLE(8, 0x81), -5, INT_MIN), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lnotab),	       cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_location_kinds), cmocka_unit_test(test_line_zero),
		cmocka_unit_test(test_truncated),      cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
