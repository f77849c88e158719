/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function that is left by __builtin_eh_return, as GCC compiles it. In each part of the function,
 * the rules say where the return address is. Code that only resembles it gets no rules.
 * tests/unwind/unwind_rows.py tests libgcc's own functions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cfi_writer.h"

/* clang-format off */
static const uint8_t usual[] = {
	/*  0 */ 0x55,						/* push %rbp */
	/*  1 */ 0x48, 0x89, 0xe5,				/* mov %rsp,%rbp */
	/*  4 */ 0x48, 0x8b, 0x55, 0x08,			/* mov 8(%rbp),%rdx */
	/*  8 */ 0x48, 0x8d, 0x75, 0x10,			/* lea 16(%rbp),%rsi */
	/* 12 */ 0x48, 0x8d, 0xbd, 0x00, 0xfe, 0xff, 0xff,	/* lea -0x200(%rbp),%rdi */
	/* 19 */ 0xe8, 0, 0, 0, 0,				/* call uw_init_context_1 */
	/* 24 */ 0x48, 0x8d, 0xb5, 0x00, 0xff, 0xff, 0xff,	/* lea -0x100(%rbp),%rsi */
	/* 31 */ 0x48, 0x8d, 0xbd, 0x00, 0xfe, 0xff, 0xff,	/* lea -0x200(%rbp),%rdi */
	/* 38 */ 0xe8, 0, 0, 0, 0,				/* call uw_install_context_1 */
	/* 43 */ 0x48, 0x8b, 0xb5, 0x98, 0xff, 0xff, 0xff,	/* mov -0x68(%rbp),%rsi */
	/* 50 */ 0x48, 0x8b, 0xbd, 0x90, 0xff, 0xff, 0xff,	/* mov -0x70(%rbp),%rdi */
	/* 57 */ 0xe8, 0, 0, 0, 0,				/* call _Unwind_DebugHook */
	/* 62 */ 0x48, 0x8d, 0x4c, 0x05, 0x08,			/* lea 8(%rbp,%rax),%rcx */
	/* 67 */ 0x48, 0x8b, 0x6d, 0x00,			/* mov (%rbp),%rbp */
	/* 71 */ 0x48, 0x89, 0xcc,				/* mov %rcx,%rsp */
	/* 74 */ 0xc3,
};
/* clang-format on */
/* from offset 71 on the CFA is rcx + 8 */
#define CFI  "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x43\x0c\x02\x08"
#define KEPT ((-0x200 + 0x98 - 16) / 8)

struct fixture {
	struct elf_writer ew;
	struct unwind_rows rows;
};

static void compile(struct fixture *x, const uint8_t *code, const char *cfi, size_t cfi_n)
{
	_cleanup_close_ int fd = -1;
	struct cfi_writer w = {};

	ew_init(&x->ew, ET_DYN);
	ew_text(&x->ew, code, sizeof(usual));
	cw_usual(&w);
	cw_fde(&w, EW_TEXT, sizeof(usual), cfi, cfi_n);
	cw_place(&w, &x->ew);
	fd = ew_write(&x->ew);
	assert_int_equal(cw_read(fd, &x->rows), 0);
}

static const struct unwind_rule *at(const struct fixture *x, uint32_t off)
{
	return unwind_rows_find(&x->rows, EW_TEXT + off);
}

/*
 * Checks that one rule holds from @first to @last, a part of the function: CFA = rbp + 16, the
 * return address in slot @ra, and rbp in slot @fp.
 */
static void holds(const struct fixture *x, uint32_t first, uint32_t last, int ra, int fp)
{
	assert_ptr_equal(at(x, first), at(x, last));
	assert_int_equal(at(x, first)->cfa, UNWIND_REG);
	assert_int_equal(at(x, first)->reg, 6);
	assert_int_equal(at(x, first)->off, 16);
	assert_int_equal(at(x, first)->ra, ra);
	assert_int_equal(at(x, first)->fp, fp);
}

static void unknown(const struct fixture *x, uint32_t first, uint32_t last)
{
	assert_ptr_equal(at(x, first), at(x, last));
	assert_int_equal(at(x, first)->cfa, UNWIND_UNKNOWN);
}

static void test_usual(void **state)
{
	struct fixture x = {};

	compile(&x, usual, CFI, sizeof(CFI) - 1);
	assert_int_equal(at(&x, 0)->reg, 7);
	/* the rule holds up to the first call, before which nothing is overwritten */
	holds(&x, 4, 38, -1, -2);
	holds(&x, 39, 61, KEPT, UNWIND_LOST);
	assert_int_equal(at(&x, 39)->bx, UNWIND_LOST);
	unknown(&x, 62, 74);
	unwind_rows_fini(&x.rows);
}

/*
 * Changes the byte at offset .off to .byte. Then no rule must be known from the first call on or,
 * with .whole, in the whole function.
 */
static void test_others(void **state)
{
	static const struct {
		uint8_t off, byte;
		bool whole;
	} cases[] = {
		{7, 0x00, false},  /* lea passes another third argument to the call */
		{11, 0x18, false}, /* lea computes another CFA */
		/* the code uses another context than the one that got the return address */
		{34, 0x08, false},
		/* the frame comes from another context than the one passed to the hook */
		{27, 0x08, false},
		{46, 0xa0, false},
		{53, 0x88, false},
		{73, 0xc4, true}, /* mov %rax,%rsp */
		{24, 0x06, true}, /* makes the bytes an invalid instruction */
		/*
		 * a jump replaces the last call, and the call before it overwrites the return
		 * address
		 */
		{57, 0xe9, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[sizeof(usual)];
		struct fixture x = {};

		memcpy(code, usual, sizeof(code));
		code[cases[i].off] = cases[i].byte;
		compile(&x, code, CFI, sizeof(CFI) - 1);
		unknown(&x, cases[i].whole ? 0 : 39, 74);
		if (!cases[i].whole && cases[i].off != 57)
			holds(&x, 4, 38, -1, -2);
		unwind_rows_fini(&x.rows);
	}
}

/* Two instructions set the stack pointer. */
static void test_twice(void **state)
{
	static const char cfi[] = CFI "\x41\x0c\x07\x08\x41\x0c\x02\x08";
	struct fixture x = {};

	compile(&x, usual, cfi, sizeof(cfi) - 1);
	unknown(&x, 0, 74);
	unwind_rows_fini(&x.rows);
}

/*
 * krait understands neither of two neighbouring functions. Their unwind rows are still sorted by
 * address.
 */
static void test_neighbours(void **state)
{
	_cleanup_close_ int fd = -1;
	struct cfi_writer w = {};
	struct fixture x = {};
	uint8_t code[2 * sizeof(usual)] = {};

	ew_init(&x.ew, ET_DYN);
	ew_text(&x.ew, code, sizeof(code));
	cw_usual(&w);
	cw_fde(&w, EW_TEXT, sizeof(usual), CFI, sizeof(CFI) - 1);
	cw_fde(&w, EW_TEXT + sizeof(usual), sizeof(usual), CFI, sizeof(CFI) - 1);
	cw_place(&w, &x.ew);
	fd = ew_write(&x.ew);
	assert_int_equal(cw_read(fd, &x.rows), 0);
	unknown(&x, 0, sizeof(code) - 1);
	for (size_t i = 1; i < x.rows.rows.n; i++) {
		assert_true(x.rows.rows.v[i - 1].key < x.rows.rows.v[i].key);
		assert_true(x.rows.rows.v[i - 1].rule != x.rows.rows.v[i].rule);
	}
	unwind_rows_fini(&x.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
