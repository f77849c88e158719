/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols sorted by address, with names that take long to compare. test_elf_names.c tests which
 * name an address gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/system/clock.h"
#include "symbol/elf/symbol_table.h"

#define SYMBOLS	   100000u
#define NAME_BYTES (16u << 20)
#define MOST_NS	   (5 * NSEC_PER_SEC) /* limit on the tests' CPU time under ASan; they take 0.1 s */

/*
 * Makes SYMBOLS symbols at the same address. Their names begin in @text, each @apart bytes after
 * the one before.
 */
static struct symbol_table make(const char *text, size_t apart)
{
	struct symbol_table t = {};

	for (size_t i = 0; i < SYMBOLS; i++)
		assert_int_equal(symbol_table_add(&t, text + i * apart, 0x1000, 16, 0), 0);
	return t;
}

static void expect_fast(char fill)
{
	char *text = malloc(NAME_BYTES + 1);
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct symbol_table t;
	const struct symbol *s;

	assert_non_null(text);
	memset(text, fill, NAME_BYTES);
	text[NAME_BYTES] = '\0';
	t = make(text, 16);
	assert_int_equal(symbol_table_sort(&t), 0);
	assert_in_range(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began, 0, MOST_NS);
	s = symbol_table_find(&t, 0x1008);
	assert_non_null(s);
	assert_int_equal(s->start, 0x1000);
	symbol_table_fini(&t);
	free(text);
}

static void test_underscores(void **state)
{
	expect_fast('_');
}

static void test_equal_names(void **state)
{
	expect_fast('a');
}

/* A name that is too long is cut, and ends in "..."; a shorter name stays whole. */
static void test_cut(void **state)
{
	char *text = calloc(1, 2 * SYMBOL_NAME_BYTES + 2);
	struct symbol_table t = {};
	const char *name;

	assert_non_null(text);
	memset(text, 'x', 2 * SYMBOL_NAME_BYTES);
	assert_int_equal(symbol_table_add(&t, text, 0x1000, 16, 0), 0);
	assert_int_equal(symbol_table_add(&t, text + SYMBOL_NAME_BYTES + 1, 0x2000, 16, 0), 0);
	assert_int_equal(symbol_table_sort(&t), 0);
	name = t.names.s + symbol_table_find(&t, 0x1000)->name;
	assert_int_equal(strlen(name), SYMBOL_NAME_BYTES + strlen("..."));
	assert_string_equal(name + SYMBOL_NAME_BYTES, "...");
	name = t.names.s + symbol_table_find(&t, 0x2000)->name;
	assert_int_equal(strlen(name), SYMBOL_NAME_BYTES - 1);
	assert_int_equal(name[SYMBOL_NAME_BYTES - 2], 'x');
	symbol_table_fini(&t);
	free(text);
}

/*
 * Of several names of one address, the one with the fewest leading underscores wins; of these the
 * shortest one, and of these the first in the alphabet.
 */
static void test_order(void **state)
{
	static const char *const names[] = {"__read", "read_it", "_read", "read", "raed"};
	struct symbol_table t = {};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(symbol_table_add(&t, names[i], 0x1000, 16, 0), 0);
	assert_int_equal(symbol_table_sort(&t), 0);
	assert_string_equal(t.names.s + symbol_table_find(&t, 0x1000)->name, "raed");
	symbol_table_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_underscores),
		cmocka_unit_test(test_equal_names),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
