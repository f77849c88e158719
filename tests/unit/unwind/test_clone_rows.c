/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rows for the code with which a new thread begins. The bytes are from glibc 2.36 (Debian
 * 12): clone3() from its system call on, and code that could be mistaken for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cfi_writer.h"
#include "unwind/prove/clone_rows.h"

#define CALL  0x1117u /* address of the call; its function begins 0x17 bytes before */
#define BEGIN "\x41\x0e\x10\x41\x0e\x08"
#define END   "\x07\x10" /* DWARF instructions that make the return address undefined */

static const uint8_t clone3[] = {
	0x0f, 0x05,	  /* syscall */
	0x48, 0x85, 0xc0, /* test %rax,%rax */
	0x7c, 0x1b,	  /* jl to the error path */
	0x74, 0x01,	  /* je to the new thread's code */
	0xc3,		  /* ret */
};

/*
 * Makes the unwind rows for the code @bytes. Before it ends a function with the call frame
 * information @program, and after it begins one whose return address is undefined.
 */
static void compile(const uint8_t *bytes, size_t n, const char *program, size_t program_n,
		    struct unwind_rows *ret)
{
	struct cfi_writer w = {};
	struct elf_writer ew;
	_cleanup_close_ int fd = -1;

	cw_usual(&w);
	cw_fde(&w, CALL - 0x17, 0x17, program, program_n);
	cw_fde(&w, CALL + n, 0x17, END, 2);
	/* code that runs when the system call has failed */
	cw_fde(&w, CALL + n + 0x18, 0x10, "", 0);
	ew_init(&ew, ET_DYN);
	cw_place(&w, &ew);
	memset(ew.text, 0xcc, sizeof(ew.text));
	memcpy(ew.text + (CALL - EW_TEXT), bytes, n);
	ew.text_n = sizeof(ew.text);
	fd = ew_write(&ew);
	assert_int_equal(cw_read(fd, ret), 0);
	assert_int_equal(ret->bad, 0);
}

static void test_clone3(void **state)
{
	static const struct unwind_rule want = {UNWIND_CLONE, 7,	   0,	       0, 8, 0,
						-1,	      UNWIND_SAME, UNWIND_SAME};
	_cleanup_unwind_rows_ struct unwind_rows rows = {};

	compile(clone3, sizeof(clone3), BEGIN, sizeof(BEGIN) - 1, &rows);
	assert_memory_equal(unwind_rows_find(&rows, CALL), &want, sizeof(want));
	assert_memory_equal(unwind_rows_find(&rows, CALL + sizeof(clone3) - 1), &want,
			    sizeof(want));
	assert_int_equal(unwind_rows_find(&rows, CALL - 1)->cfa, UNWIND_REG);
	assert_int_equal(unwind_rows_find(&rows, CALL + sizeof(clone3))->cfa, UNWIND_END);
}

static void is_nothing(const uint8_t *bytes, size_t n, const char *program, size_t program_n)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};

	compile(bytes, n, program, program_n, &rows);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(unwind_rows_find(&rows, CALL + i)->cfa, UNWIND_UNKNOWN);
}

/*
 * Changes one byte, after which the code must have no unwind rows. Each case: the old byte, its
 * offset, the new byte.
 */
static void test_others(void **state)
{
	static const struct {
		uint8_t was, at, is;
	} others[] = {
		{0x05, 1, 0x0b}, /* ud2 */
		{0xc0, 4, 0xc1}, /* test %rax,%rcx */
		{0x7c, 5, 0x74}, /* the new thread would begin at the error path */
		{0x1b, 6, 0x60}, /* a failed call would lead to an address without code */
		{0x74, 7, 0x75}, /* jne */
		{0x01, 8, 0x40}, /* the new thread would begin at an address without code */
		{0xc3, 9, 0x90}, /* without ret, the code runs on into the new thread's code */
		{0xc3, 9, 0xcc},
	};
	uint8_t bytes[sizeof(clone3)];

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		memcpy(bytes, clone3, sizeof(bytes));
		assert_int_equal(bytes[others[i].at], others[i].was);
		bytes[others[i].at] = others[i].is;
		is_nothing(bytes, sizeof(bytes), BEGIN, sizeof(BEGIN) - 1);
	}
	for (size_t n = 1; n < sizeof(clone3); n++)
		is_nothing(clone3, n, BEGIN, sizeof(BEGIN) - 1);
	/* the function still has something on the stack, so no thread begins there */
	is_nothing(clone3, sizeof(clone3), BEGIN, 3);
}

/* Tests the code of musl 1.2.3 (Debian 12). */
static void test_musl(void **state)
{
	static const uint8_t clone[] = {0x0f, 0x05, 0x85, 0xc0, 0x75, 0x0f, 0x31, 0xed,
					0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31, 0xc0,
					0xb0, 0x3c, 0x0f, 0x05, 0xf4, 0xc3},
			     vfork[] = {0x5a, 0xb8, 0x3a, 0x00, 0x00, 0x00, 0x0f,
					0x05, 0x52, 0x48, 0x89, 0xc7, 0xe9};
	uint8_t bytes[100] = {};
	unwind_range_vec ranges = {};
	uint32_t at, n;

	memcpy(bytes + 10, vfork, sizeof(vfork));
	memcpy(bytes + 60, clone, sizeof(clone));
	assert_int_equal(clone_rows_musl(bytes, sizeof(bytes), 0x1000, &ranges, &at, &n), 0);
	assert_int_equal(at, 0x100a);
	assert_int_equal(n, sizeof(vfork));
	assert_int_equal(clone_rows_musl(bytes + 20, 80, 0x1014, &ranges, &at, &n), 0);
	assert_int_equal(at, 0x103c);
	assert_int_equal(n, sizeof(clone));
	assert_int_equal(clone_rows_musl(bytes + 61, 39, 0x103d, &ranges, &at, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(ranges.n, 6);
	/* from after the pop to after the push */
	assert_int_equal(ranges.v[1].start, 0x100b);
	assert_int_equal(ranges.v[1].end, 0x1013);
	assert_int_equal(ranges.v[1].rule.slots, UNWIND_RA_IN_INDEX);
	assert_int_equal(ranges.v[3].rule.cfa, UNWIND_CLONE);
	/* begins at the target of the branch */
	assert_int_equal(ranges.v[4].start, 0x103c + 6);
	assert_int_equal(ranges.v[4].end, 0x103c + 21);
	assert_int_equal(ranges.v[4].rule.cfa, UNWIND_END);
	vec_fini(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clone3),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_musl),
	};

	return cmocka_run_group_tests_name("where threads begin", tests, NULL, NULL);
}
