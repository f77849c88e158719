/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * If an allocation fails, the error message says so, and replaces any message before it. If the
 * allocation succeeds, the message stays as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/nomem.h"
#include "base/vec.h"

#define LARGE ((size_t)2 << 20)

/*
 * Makes ASan refuse allocations of more than 1 MiB, as if memory had run out. (That doesn't work
 * for strdup(), because ASan has its own.)
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=1";
}

/* volatile, so that the compiler keeps allocations that nothing uses */
static void *volatile kept;

static bool done(void *p)
{
	bool worked = p;

	kept = p;
	free(kept);
	return worked;
}

static bool use_malloc(size_t n)
{
	return done(malloc(n));
}

static bool use_calloc(size_t n)
{
	return done(calloc(n, 1));
}

static bool use_realloc(size_t n)
{
	void *p = malloc(1), *grown = realloc(p, n);

	if (!grown)
		free(p);
	return done(grown);
}

static bool use_asprintf(size_t n)
{
	char *made = NULL;

	return asprintf(&made, "%*d", (int)n, 1) >= 0 && done(made);
}

static bool use_vec(size_t n)
{
	VEC(char) v = {};

	return !vec_reserve(&v, n) && done(v.v);
}

static void test_each_says_so(void **state)
{
	static bool (*const all[])(size_t n) = {use_malloc, use_calloc, use_realloc, use_asprintf,
						use_vec};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		(void)err_set(-ENOENT, "there is no such file");
		err_memory_begin();
		assert_true(all[i](64));
		assert_string_equal(err_msg(), "there is no such file");
		assert_false(err_memory_failed());
		assert_false(all[i](LARGE));
		assert_string_equal(err_msg(), "out of memory");
		assert_true(err_memory_failed());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_says_so)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
