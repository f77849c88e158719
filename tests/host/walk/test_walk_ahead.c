/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trampolines of libffi: from each instruction of a trampoline, unwinding must find the caller. The
 * bytes are those that libffi wrote for CPython's ctypes.
 */
/* Include this before cmocka.h, which defines fail as a macro. */
#include "walk_native.h"
#include "walk_nested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "walk_tests.h"

/* address of libffi's code, in which only the first function has unwind information */
#define TEXT	0x7f0000001000ull
#define CLOSURE TEXT
#define ALT	(TEXT + 0x100)
/* address in the caller, which stands for a thread's first function */
#define CALLER	   0x7f0000100000ull
#define TRAMPOLINE 0x7f0000200000ull /* address of a trampoline, in anonymous memory */
#define STACK	   0x7ffc00000000ull

/* The function that trampolines jump to. Its first instruction also occurs in trampolines. */
static const uint8_t closure[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x81, 0xec, 0xd8, 0, 0, 0};

struct instruction {
	uint8_t n, bytes[8];
	/* size of the stack below the return address before this instruction, in bytes */
	uint8_t depth;
};

/* a trampoline that libffi 3.3 and 3.4 write at run time: x86/ffi64.c, ffi_prep_closure_loc() */
static const struct instruction made[] = {
	{4, {0xf3, 0x0f, 0x1e, 0xfa}},			 /* endbr64 */
	{7, {0x4c, 0x8d, 0x15, 0xf5, 0xff, 0xff, 0xff}}, /* lea -11(%rip),%r10 */
	{6, {0xff, 0x25, 0x07, 0x00, 0x00, 0x00}},	 /* jmp *7(%rip) */
	{7, {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00}}, /* never executed */
};

/*
 * a trampoline of the table that libffi's own file contains, from libffi 3.4 on: x86/unix64.S,
 * trampoline_code_table; its parameters are one page further on
 */
static const struct instruction from_table[] = {
	{4, {0xf3, 0x0f, 0x1e, 0xfa}},
	{4, {0x48, 0x83, 0xec, 0x10}},			     /* sub $16,%rsp */
	{4, {0x4c, 0x89, 0x14, 0x24}, 16},		     /* mov %r10,(%rsp) */
	{7, {0x4c, 0x8b, 0x15, 0xed, 0x0f, 0x00, 0x00}, 16}, /* mov 0xfed(%rip),%r10 */
	{5, {0x4c, 0x89, 0x54, 0x24, 0x08}, 16},	     /* mov %r10,8(%rsp) */
	{7, {0x4c, 0x8b, 0x15, 0xe9, 0x0f, 0x00, 0x00}, 16}, /* mov 0xfe9(%rip),%r10 */
	{3, {0x41, 0xff, 0xe2}, 16},			     /* jmp *%r10 */
};

/* ffi_closure_unix64_alt, which the trampolines of the table jump to */
static const struct instruction alternative[] = {
	{4, {0xf3, 0x0f, 0x1e, 0xfa}, 16},
	{5, {0x4c, 0x8b, 0x54, 0x24, 0x08}, 16}, /* mov 8(%rsp),%r10 */
	{4, {0x48, 0x83, 0xc4, 0x10}, 16},	 /* add $16,%rsp */
	{5, {0xe9, 0xee, 0xfe, 0xff, 0xff}},	 /* jmp to the function at CLOSURE */
};

static uint64_t put_code(uint64_t at, const struct instruction *code, size_t n)
{
	for (size_t i = 0; i < n; i++, at += code->n, code++)
		put(at, code->bytes, code->n);
	return at;
}

static int setup(void **state)
{
	struct unwind_rule entered = {.cfa = UNWIND_REG,
				      .reg = REG_SP,
				      .off = 8,
				      .ra = -1,
				      .fp = UNWIND_SAME,
				      .bx = UNWIND_SAME};

	walk_setup(state);
	native_init();
	native_no_mappings();
	host.native->epoch = 1;
	native_add_code(0, TEXT, entered, sizeof(closure));
	native_add_code(1, CALLER, (struct unwind_rule){.cfa = UNWIND_END}, HOST_PAGE);
	native_add_mapping(2, (struct unwind_mapping){TRAMPOLINE, TRAMPOLINE + HOST_PAGE, 0, 0});
	put(CLOSURE, closure, sizeof(closure));
	put_code(ALT, alternative, ARRAY_SIZE(alternative));
	put(STACK, NULL, HOST_PAGE);
	return 0;
}

static struct unwind_regs begin;

static void unwind(void)
{
	host.reads = 0;
	host.native->regs = begin;
	host.native->leaf[10] = ALT; /* r10 as it is before the jump to ALT */
	walk_native(host.native, host.w);
}

/*
 * Unwinds a thread at @pc, on a stack with @depth bytes below the return address at STACK + 64.
 * Returns how the unwinding ended.
 */
static enum native_outcome unwound(uint64_t pc, uint8_t depth)
{
	uint64_t back = CALLER + 0x10;

	put(STACK + 64, &back, sizeof(back));
	begin = (struct unwind_regs){.pc = pc, .sp = STACK + 64 - depth};
	nested_check(unwind);
	return host.native->outcome;
}

static void check_each(uint64_t at, const struct instruction *code, size_t n)
{
	for (size_t i = 0; i < n; i++, at += code->n, code++) {
		assert_int_equal(unwound(at, code->depth), NATIVE_WHOLE);
		assert_int_equal(host.native->n, 2);
		assert_true(host.native_out->pc[0] == at || at < TRAMPOLINE);
		assert_int_equal(host.native->regs.sp, STACK + 72);
	}
}

static void test_made(void **state)
{
	uint64_t end = put_code(TRAMPOLINE, made, ARRAY_SIZE(made)), to = CLOSURE;

	put(end, &to, sizeof(to));
	check_each(TRAMPOLINE, made, 3);
	assert_int_equal(unwound(TRAMPOLINE + 17, 0), NATIVE_NO_ROWS);
	/* makes the trampoline lead to an address without unwind information */
	to = CLOSURE + sizeof(closure);
	put(end, &to, sizeof(to));
	assert_int_equal(unwound(TRAMPOLINE, 0), NATIVE_NO_RULE);
	assert_int_equal(host.native->n, 1);
}

static void test_table(void **state)
{
	uint64_t to[] = {0, ALT};

	put_code(TRAMPOLINE, from_table, ARRAY_SIZE(from_table));
	put(TRAMPOLINE + HOST_PAGE, to, sizeof(to));
	check_each(TRAMPOLINE, from_table, ARRAY_SIZE(from_table));
	check_each(ALT, alternative, ARRAY_SIZE(alternative));
}

/*
 * Following jumps ends at a jump to itself, at a circle of jumps, and at a jump to unmapped memory.
 */
static void test_nowhere(void **state)
{
	static const uint8_t loop[] = {0xeb, 0xfe}, circle[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xeb, 0xfa},
			     nowhere[] = {0xe9, 0, 0, 0, 0x40};

	put(TRAMPOLINE, loop, sizeof(loop));
	assert_int_equal(unwound(TRAMPOLINE, 0), NATIVE_NO_ROWS);
	put(TRAMPOLINE, circle, sizeof(circle));
	assert_int_equal(unwound(TRAMPOLINE, 0), NATIVE_NO_ROWS);
	put(TRAMPOLINE, nowhere, sizeof(nowhere));
	assert_int_equal(unwound(TRAMPOLINE, 0), NATIVE_UNMAPPED);
}

/*
 * Only in the innermost frame is the instruction at pc the next one to be executed. In other frames
 * pc is a return address, so the instructions there aren't followed.
 */
static void test_called(void **state)
{
	uint64_t end = put_code(TRAMPOLINE, made, ARRAY_SIZE(made)), to = CLOSURE;

	put(end, &to, sizeof(to));
	to = TRAMPOLINE + 4;
	put(STACK + 64, &to, sizeof(to));
	host.native->regs = (struct unwind_regs){.pc = CLOSURE, .sp = STACK + 64};
	walk_native(host.native, host.w);
	assert_int_equal(host.native->outcome, NATIVE_NO_ROWS);
	assert_int_equal(host.native->n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test_setup_teardown(test_made, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(test_table, setup, walk_teardown),
		cmocka_unit_test_setup_teardown(test_nowhere, setup, walk_teardown),
#endif
		cmocka_unit_test_setup_teardown(test_called, setup, walk_teardown),
	};

	return cmocka_run_group_tests_name("trampolines", tests, NULL, NULL);
}
