/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers for the tests of perf maps and jitdumps. */
#ifndef TESTS_UNIT_EXPECT_CODE_H
#define TESTS_UNIT_EXPECT_CODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbol/madecode/perf_map.h"

/*
 * Checks that the code at address @at is called @name and begins at @start. With @name NULL: checks
 * that @at has no named code.
 */
static inline void expect(const struct perf_map *m, uint64_t at, const char *name, uint64_t start)
{
	uint64_t got_start = 0;
	const char *got = perf_map_find(m, at, &got_start);

	if (!name) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, name);
	assert_int_equal(got_start, start);
}

#endif
