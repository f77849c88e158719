/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts the store's rows as the C library's sort does. Rows with the same key keep their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "store/sort.h"

#define ROWS 5000

struct row {
	uint64_t before;
	uint32_t key, number;
};

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static void expect_order(size_t n, uint32_t keys)
{
	struct row *rows = calloc(n + 1, sizeof(*rows)), *sorted = calloc(n + 1, sizeof(*rows));
	uint32_t *order = NULL;

	for (uint32_t i = 0; i < n; i++)
		rows[i] = sorted[i] = (struct row){~0ull, (uint32_t)random() % keys, i};
	qsort(sorted, n, sizeof(*sorted), by_key);
	assert_int_equal(sort_rows(&rows->key, sizeof(*rows), n, &order), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(order[i], sorted[i].number);
	free(order);
	free(rows);
	free(sorted);
}

static void test_order(void **state)
{
	srandom(1);
	expect_order(0, 1);
	expect_order(1, 1);
	expect_order(ROWS, 1);
	expect_order(ROWS, 7);
	expect_order(ROWS, ROWS);
	expect_order(ROWS, 1u << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
