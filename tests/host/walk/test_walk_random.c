/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks 300,000 times for Python frames (a walk) in memory images with hostile words in them
 * (walk_random.h), and once in the most expensive image possible. KRAIT_WALKS sets the number of
 * walks, KRAIT_SEED repeats a run.
 */
/* Include this before cmocka.h, which defines fail as a macro. */
#include "walk_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <cmocka.h>

#include "walk_tests.h"

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static void test_hostile_words(void **state)
{
	uint64_t walks = number("KRAIT_WALKS", 300000), seen[WALK_OUTCOME_MAX] = {};
	struct choices c = {.state = number("KRAIT_SEED", (uint64_t)time(NULL)) | 1};

	printf("KRAIT_SEED=%llu\n", (unsigned long long)c.state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		random_image(&releases[i]);
		for (uint64_t k = 0; k < walks / ARRAY_SIZE(releases) + 1; k++) {
			random_walk(&c);
			seen[host.w->outcome]++;
		}
	}
	for (size_t i = 0; i < WALK_OUTCOME_MAX; i++)
		printf("outcome %zu: %llu\n", i, (unsigned long long)seen[i]);
	random_fini();
}

/*
 * Walks the stack that costs most: 1,024 different code objects of the largest size, without cached
 * hashes.
 */
static void test_dearest(void **state)
{
	static struct plan plan;
	static struct expected expected;
	static uint8_t bytes[65536];

	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		uint64_t text, table;

		image_begin(&releases[i]);
		text = image_str(bytes, 65000, 1, true, NO_HASH);
		table = image_bytes(bytes, sizeof(bytes), NO_HASH);
		plan.n = 0;
		for (size_t k = 0; k < ABI_MAX_FRAMES; k++) {
			uint64_t code = image_code_of(text, text, table, (int)k);

			if (image.l->code_version)
				put_u32(code + image.l->code_version, 0);
			plan_add(&plan, k ? CALL : FROM_C, code, 4);
		}
		chain_build(&plan, &expected);
		assert_int_equal(image_walk(), WALK_CODE_HUGE);
		assert_true(host.w->n >= 2);
		assert_int_equal(chain_compare(&expected), host.w->n);
		assert_true(host.reads <= MOST_READS && host.bytes < 2 * HASH_BUDGET);
	}
}

/* A deep recursion of one large function is cheap to walk, and its stack is whole. */
static void test_large_recursion(void **state)
{
	static struct plan plan;
	static struct expected expected;
	static uint8_t bytes[65536];

	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		uint64_t code;

		image_begin(&releases[i]);
		code = image_code_of(image_text("f.py"), image_text("f"),
				     image_bytes(bytes, sizeof(bytes), NO_HASH), 1);
		if (image.l->code_version)
			put_u32(code + image.l->code_version, 0);
		plan.n = 0;
		for (size_t k = 0; k < 1000; k++)
			plan_add(&plan, k ? CALL : FROM_C, code, 4);
		chain_build(&plan, &expected);
		assert_int_equal(image_walk(), WALK_OK);
		assert_int_equal(chain_compare(&expected), 1000);
		assert_true(host.bytes < 1 << 20);
	}
}

WALK_MAIN("walk_random", cmocka_unit_test(test_hostile_words), cmocka_unit_test(test_dearest),
	  cmocka_unit_test(test_large_recursion))
