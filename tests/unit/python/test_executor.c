/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executors are functions that CPython 3.14's JIT compiler makes at run time. The test has the
 * first bytes of executors of Debian's and of python-build-standalone's Python (from objdump), and
 * knows their frame sizes from counting by hand. It also has code that only looks like an executor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "python/code/executor.h"

#define PAGE 4096u
#define AT   0x7f0000001000u

static const uint8_t debian[] = {
	0x41, 0x57, 0x41, 0x56, 0x41,
	0x55, 0x41, 0x54, 0x53, /* push %r15 ... %r12, %rbx */
	0x49, 0x89, 0xfc, 0x49, 0x89,
	0xf5, 0x49, 0x89, 0xd6,	      /* mov %rdi,%r12; ... %rsi,%r13; %rdx,%r14 */
	0xe8, 0x0a, 0x00, 0x00, 0x00, /* call chain */
	0x5b, 0x41, 0x5c, 0x41, 0x5d,
	0x41, 0x5e, 0x41, 0x5f, /* pop %rbx; pop %r12 ... %r15 */
	0xc3,			/* ret */
};
static const uint8_t standalone[] = {
	0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp,%rbp */
	0x41, 0x57, 0x41, 0x56, 0x41,
	0x55, 0x41, 0x54, 0x53, /* push %r15 ... %r12, %rbx */
	0x50,			/* push %rax */
	0x49, 0x89, 0xfc, 0x49, 0x89,
	0xf5, 0x49, 0x89, 0xd6,	      /* mov %rdi,%r12; ... %rsi,%r13; %rdx,%r14 */
	0xe8, 0x0f, 0x00, 0x00, 0x00, /* call chain */
	0x48, 0x83, 0xc4, 0x08,	      /* add $8,%rsp */
	0x5b, 0x41, 0x5c, 0x41, 0x5d,
	0x41, 0x5e, 0x41, 0x5f, /* pop %rbx; pop %r12 ... %r15 */
	0x5d, 0xc3,		/* pop %rbp; ret */
};
static const uint8_t chain[] = {
	0x50,				    /* push %rax */
	0xff, 0x15, 0x40, 0x00, 0x00, 0x00, /* call *0x40(%rip) */
	0x85, 0xc0,			    /* test %eax,%eax */
	0x74, 0x02,			    /* je 1f */
	0x58, 0xc3,			    /* pop %rax; ret */
	0x55,				    /* label 1: push %rbp */
	0x48, 0x8b, 0x6d, 0x00,		    /* mov (%rbp),%rbp */
	0xff, 0xd0,			    /* call *%rax */
	0x5d,				    /* pop %rbp */
	0x48, 0x83, 0xc4, 0x08,		    /* add $8,%rsp */
	0xff, 0xe0,			    /* jmp *%rax, to code of another executor */
};

struct pages {
	uint8_t bytes[3 * PAGE];
	struct unwind_rows rows;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct pages));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct pages *p = *state;

	unwind_rows_fini(&p->rows);
	free(p);
	return 0;
}

static void put(struct pages *p, size_t at, const uint8_t *begin, size_t n)
{
	memcpy(p->bytes + at, begin, n);
	memcpy(p->bytes + at + n, chain, sizeof(chain));
}

static void read_one(struct pages *p, size_t at)
{
	assert_int_equal(
		executor_rows(&(struct code_memory){AT + at, sizeof(p->bytes) - at, p->bytes + at},
			      &p->rows),
		0);
}

static size_t next(const struct pages *p, size_t from)
{
	return executor_next(p->bytes, sizeof(p->bytes), from);
}

/*
 * Checks the unwind rule at offset @at: the CFA is rsp + @off bytes, and the caller's rbp is saved
 * at CFA + @fp words. @fp 0: rbp still has the caller's value.
 */
static void is(const struct pages *p, size_t at, int off, int fp)
{
	const struct unwind_rule *u = unwind_rows_find(&p->rows, AT + at);

	assert_non_null(u);
	assert_int_equal(u->cfa, UNWIND_REG);
	assert_int_equal(u->reg, 7);
	assert_int_equal(u->off, off);
	assert_int_equal(u->ra, -1);
	assert_int_equal(u->fp, fp ? fp : UNWIND_SAME);
}

static void is_chain(const struct pages *p, size_t at)
{
	is(p, at, 8, 0);
	is(p, at + 1, 16, 0);
	is(p, at + 12, 8, 0);
	is(p, at + 13, 16, 0);
	is(p, at + 14, 24, 0); /* the call has returned and left the stack as it was */
	is(p, at + 18, 24, -3);
	is(p, at + 21, 16, 0);
	is(p, at + 25, 8, 0);
	is(p, at + 26, 8, 0);
}

static void test_executors(void **state)
{
	struct pages *p = *state;

	put(p, 0, debian, sizeof(debian));
	put(p, 2 * PAGE, standalone, sizeof(standalone));
	assert_int_equal(next(p, 0), 0);
	assert_int_equal(next(p, PAGE), 2 * PAGE);
	read_one(p, 0);
	is(p, 0, 8, 0);
	is(p, 9, 48, 0);
	/* offset 23 is the return address of the first function's call */
	is(p, 23, 48, 0);
	is(p, sizeof(debian) - 1, 8, 0);
	is_chain(p, sizeof(debian));
	unwind_rows_fini(&p->rows);
	read_one(p, 2 * PAGE);
	is(p, 2 * PAGE, 8, 0);
	is(p, 2 * PAGE + 1, 16, 0);
	is(p, 2 * PAGE + 6, 24, -2);
	is(p, 2 * PAGE + sizeof(standalone) - 1, 8, 0);
	is_chain(p, 2 * PAGE + sizeof(standalone));
}

static void nothing_is_known(struct pages *p)
{
	assert_int_equal(next(p, 0), sizeof(p->bytes));
	read_one(p, 0);
	assert_int_equal(p->rows.rows.n, 0);
}

/*
 * At these places no executor begins: the code isn't at the start of a page, or one byte of the
 * moves of the arguments, of the call, or of the return is changed.
 */
static void test_no_executors(void **state)
{
	static const size_t changed[] = {10, 17, 19, 32};
	struct pages *p = *state;

	put(p, 16, debian, sizeof(debian));
	nothing_is_known(p);
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		put(p, 0, debian, sizeof(debian));
		p->bytes[changed[i]] ^= 1;
		nothing_is_known(p);
	}
}

/*
 * A jump leaves an executor's chain (its code after its first function) while something is still on
 * the stack, so it doesn't lead to another executor's chain.
 */
static void test_unbalanced(void **state)
{
	struct pages *p = *state;

	put(p, 0, debian, sizeof(debian));
	p->bytes[sizeof(debian) + 24] = 0x10; /* add $16,%rsp */
	read_one(p, 0);
	is(p, 9, 48, 0);
	assert_int_equal(unwind_rows_find(&p->rows, AT + sizeof(debian) + 1)->cfa, UNWIND_UNKNOWN);
}

/*
 * The jump of a `switch` reads its address from memory, so krait doesn't know the code of the
 * cases.
 */
static void test_jump_by_memory(void **state)
{
	static const uint8_t jump[] = {0xff, 0x24, 0xc8}; /* jmp *(%rax,%rcx,8) */
	struct pages *p = *state;

	put(p, 0, debian, sizeof(debian));
	memcpy(p->bytes + sizeof(debian) + 25, jump, sizeof(jump));
	read_one(p, 0);
	assert_int_equal(unwind_rows_find(&p->rows, AT + sizeof(debian) + 1)->cfa, UNWIND_UNKNOWN);
}

/*
 * The chain (an executor's code after its first function) saves no registers itself. The caller's
 * rbx is where the function that called the chain saved it.
 */
static void test_rbx(void **state)
{
	struct pages *p = *state;

	put(p, 0, debian, sizeof(debian));
	read_one(p, 0);
	assert_int_equal(unwind_rows_find(&p->rows, AT + 9)->bx, UNWIND_SAME);
	assert_int_equal(unwind_rows_find(&p->rows, AT + 23)->bx, -6);
	assert_int_equal(unwind_rows_find(&p->rows, AT + sizeof(debian) - 1)->bx, UNWIND_SAME);
}

/* The code has half a million jumps. Analysing each jump takes 600 bytes, so krait gives up. */
static void test_many_jumps(void **state)
{
	size_t n = 1u << 20;
	_cleanup_free_ uint8_t *bytes = calloc(1, n);
	struct pages *p = *state;

	assert_non_null(bytes);
	memcpy(bytes, debian, sizeof(debian));
	for (size_t i = sizeof(debian); i + 1 < n; i += 2)
		bytes[i] = 0x74; /* je to the next instruction */
	bytes[n - 1] = 0xc3;
	assert_int_equal(executor_rows(&(struct code_memory){AT, n, bytes}, &p->rows), 0);
	assert_int_equal(unwind_rows_find(&p->rows, AT + sizeof(debian))->cfa, UNWIND_UNKNOWN);
}

/* An executor's code is cut off anywhere. */
static void test_short(void **state)
{
	struct pages *p = *state;

	for (size_t n = 0; n < sizeof(debian) + sizeof(chain); n++) {
		_cleanup_free_ uint8_t *bytes = malloc(n + !n);

		assert_non_null(bytes);
		put(p, 0, debian, sizeof(debian));
		memcpy(bytes, p->bytes, n);
		assert_int_equal(executor_rows(&(struct code_memory){AT, n, bytes}, &p->rows), 0);
		assert_true(n >= sizeof(debian) || !p->rows.rows.n);
		unwind_rows_fini(&p->rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_executors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_executors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unbalanced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jump_by_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rbx, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_jumps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
