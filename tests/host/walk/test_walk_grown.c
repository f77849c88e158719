/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests a made-up future version of Python in which a structure has a new member. The members after
 * it have moved, in memory and in the debug offsets. krait must still find the stack. Some members
 * aren't in the debug offsets, so krait derives their places from others. If the new member has
 * moved one of these, krait must refuse the version, and name the member.
 */
/* Include this before cmocka.h, which defines fail as a macro. */
#include "walk_chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/error.h"

/* the newest version's debug offsets, for a version that krait doesn't know */
static uint64_t offsets[ARRAY_SIZE(debug_offsets_3_15)];
static const struct release next = {"3.16", 0x310, false, offsets, ARRAY_SIZE(offsets)};

/* Structures, each with the indexes in `offsets` of its size and of its last member. */
static const struct grown {
	const char *name;
	size_t size, last;
	/*
	 * bit i is set if the stack was found with a new member before member number .size + 1 + i
	 */
	uint64_t found;
} grown[] = {
	{"PyInterpreterState", 6, 21, 0x7fff},
	{"PyThreadState", 22, 37, 0x7ee8},
	{"_PyInterpreterFrame", 39, 45, 0x8},
	{"PyCodeObject", 47, 56, 0x100},
};

static void insert(const struct grown *g, size_t before)
{
	uint64_t at = debug_offsets_3_15[before];

	memcpy(offsets, debug_offsets_3_15, sizeof(offsets));
	offsets[1] = 0x031000f0;
	offsets[g->size] += 8;
	for (size_t i = g->size + 1; i <= g->last; i++)
		offsets[i] += debug_offsets_3_15[i] >= at ? 8 : 0;
}

/* Walks the stack, and returns whether the walk found the frames that the test built. */
static bool finds_stack(void)
{
	struct plan plan = {};
	struct expected expected;

	image_begin(&next);
	for (size_t i = 0; i < 17; i++)
		plan_add(&plan,
			 i % 5 == 4 ? GENERATOR
			 : i	    ? CALL
				    : FROM_C,
			 image_code("function"), (int)(2 * i));
	chain_build(&plan, &expected);
	return image_walk() == WALK_OK && host.w->n == 17 && chain_compare(&expected) == 17;
}

/* Tells whether the reason for a refusal names a member of the debug offsets. */
static bool names_a_member(const char *why)
{
	return str_starts(why, "the interpreter's _Py_DebugOffsets ");
}

static void test_inserted(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(grown); k++) {
		const struct grown *g = &grown[k];
		uint64_t found = 0;

		for (size_t i = g->size + 1; i <= g->last; i++) {
			struct py_layout l;

			insert(g, i);
			if (py_layout_from_debug_offsets((const uint8_t *)offsets, sizeof(offsets),
							 &l)) {
				assert_true(names_a_member(err_msg()));
				continue;
			}
			assert_true(finds_stack());
			found |= 1ull << (i - g->size - 1);
		}
		if (found != g->found)
			fail_msg("%s: %#llx is found, not %#llx", g->name,
				 (unsigned long long)found, (unsigned long long)g->found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_inserted)};
	int r;

	host_init();
	r = cmocka_run_group_tests_name("walk_grown", tests, NULL, NULL);
	host_fini();
	return r;
}
