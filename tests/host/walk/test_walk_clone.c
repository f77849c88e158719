/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rules that read a register of the innermost frame: in the code where a thread begins, and
 * where a register holds the return address.
 */
/* Include this before cmocka.h, which defines fail as a macro. */
#include "walk_native.h"
#include "walk_nested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "walk_tests.h"

#define CLONE  0x7f0000001000ull
#define VFORK  0x7f0000100000ull
#define CALLER 0x7f0000200000ull
#define LEAF   0x7f0000300000ull
#define STACK  0x7ffc00000000ull
#define SP     (STACK + 64)
#define RDI    5

static const struct unwind_rule entered = {
	.cfa = UNWIND_REG, .reg = REG_SP, .off = 8, .ra = -1, .fp = UNWIND_SAME, .bx = UNWIND_SAME};

static int setup(void **state)
{
	struct unwind_rule clone = entered, vfork = entered;
	const uint64_t back = CALLER + 0x10;

	walk_setup(state);
	native_init();
	native_no_mappings();
	host.native->epoch = 1;
	clone.cfa = UNWIND_CLONE;
	native_add_code(0, CLONE, clone, HOST_PAGE);
	vfork.off = 0;
	vfork.ra = UNWIND_SAME;
	vfork.slots = UNWIND_RA_IN_INDEX;
	vfork.index = RDI;
	native_add_code(1, VFORK, vfork, HOST_PAGE);
	native_add_code(2, CALLER, (struct unwind_rule){.cfa = UNWIND_END}, HOST_PAGE);
	native_add_code(3, LEAF, entered, HOST_PAGE);
	put(STACK, NULL, HOST_PAGE);
	put(SP, &back, sizeof(back));
	memset(host.native->leaf, 0xff, sizeof(host.native->leaf));
	return 0;
}

static struct unwind_regs begin;

static void unwind(void)
{
	host.reads = 0;
	host.native->regs = begin;
	walk_native(host.native, host.w);
}

static uint8_t unwound(uint64_t pc)
{
	begin = (struct unwind_regs){.pc = pc, .sp = SP};
	nested_check(unwind);
	return host.native->outcome;
}

static void test_clone(void **state)
{
	/* in the parent, the system call returns the new thread's tid */
	host.native->leaf[REG_RESULT] = 4711;
	assert_int_equal(unwound(CLONE), NATIVE_WHOLE);
	assert_int_equal(host.native->n, 2);
	/* -ENOSYS: the system call hasn't been executed yet */
	host.native->leaf[REG_RESULT] = -38ull;
	assert_int_equal(unwound(CLONE), NATIVE_WHOLE);
	assert_int_equal(host.native->n, 2);
}

static void test_new_thread(void **state)
{
	host.native->leaf[REG_RESULT] = 0;
	assert_int_equal(unwound(CLONE), NATIVE_WHOLE);
	assert_int_equal(host.native->n, 1);
}

static void test_vfork(void **state)
{
	host.native->leaf[RDI] = CALLER + 0x20;
	assert_int_equal(unwound(VFORK), NATIVE_WHOLE);
	assert_int_equal(host.native->n, 2);
	assert_int_equal(host.native_out->pc[1], CALLER);
	assert_int_equal(host.native->regs.pc, CALLER + 0x20);
	assert_int_equal(host.native->regs.sp, SP);
}

/*
 * In a frame that has called another function, and in all frames further out, a register's value
 * isn't known.
 */
static void test_further_out(void **state)
{
	const uint64_t back = LEAF + 8, at[] = {CLONE + 8, VFORK + 8};

	put(SP, &back, sizeof(back));
	host.native->leaf[REG_RESULT] = 0;
	host.native->leaf[RDI] = CALLER;
	put(SP + 8, &at[0], sizeof(at[0]));
	assert_int_equal(unwound(LEAF), NATIVE_NO_REGISTER);
	assert_int_equal(host.native->n, 3);
	put(SP + 8, &at[1], sizeof(at[1]));
	/* vfork's frame takes no room on the stack, so unwinding makes no progress */
	assert_int_equal(unwound(LEAF), NATIVE_NO_PROGRESS);
	assert_int_equal(host.native->n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_clone, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(test_new_thread, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(test_vfork, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(test_further_out, setup, walk_teardown),
	};

	return cmocka_run_group_tests_name("clone and vfork", tests, NULL, NULL);
}
