/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rules that krait derives from instructions: functions with pushes, with a realigned stack,
 * or with several returns. A function has no rules if two paths through it contradict each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "check.h" /* check.h of abi/ */
#include "unwind/x86/x86_flow.h"
#include "unwind/prove/code_rows.h"

#define BASE 0x100 /* offset of the first byte of the code */

struct fixture {
	struct code_region r;
	unwind_range_vec ranges;
	const char *why;
};

static bool nothing_starts(void *ctx, uint32_t key)
{
	(void)ctx;
	(void)key;
	return false;
}

typedef size_t read_fn(void *ctx, int64_t key, void *ret, size_t n);

static void look_reading(struct fixture *x, const char *bytes, size_t n, bool guess, read_fn *read)
{
	*x = (struct fixture){.r = {.bytes = (const uint8_t *)bytes,
				    .start = BASE,
				    .end = BASE + (uint32_t)n,
				    .info = calloc(n, 2),
				    .budget = 1000,
				    .is_start = nothing_starts,
				    .read = read}};
	assert_non_null(x->r.info);
	assert_int_equal(code_flow(&x->r, BASE, guess, &x->ranges, &x->why), 0);
	assert_int_equal(x->why == NULL, x->ranges.n > 0);
}

static void look(struct fixture *x, const char *bytes, size_t n, bool guess)
{
	look_reading(x, bytes, n, guess, NULL);
}
#define LOOK(x, bytes) look(x, bytes, sizeof(bytes) - 1, false)

static void done(struct fixture *x)
{
	free(x->r.info);
	vec_fini(&x->ranges);
}

static const struct unwind_rule *at(const struct fixture *x, uint32_t off)
{
	static const struct unwind_rule unknown;

	vec_foreach(range, &x->ranges)
		if (range->start <= BASE + off && BASE + off < range->end)
			return &range->rule;
	return &unknown;
}

static void is(const struct fixture *x, uint32_t off, uint8_t reg, int cfa, int fp, int bx)
{
	const struct unwind_rule *u = at(x, off);

	assert_int_equal(u->cfa, UNWIND_REG);
	assert_int_equal(u->reg, reg);
	assert_int_equal(u->off, cfa);
	assert_int_equal(u->ra, -1);
	assert_int_equal(u->fp, fp);
	assert_int_equal(u->bx, bx);
}

static void refused(const char *bytes, size_t n, const char *why)
{
	struct fixture x;

	look(&x, bytes, n, false);
	assert_string_equal(x.why, why);
	done(&x);
}
#define REFUSED(bytes, why) refused(bytes, sizeof(bytes) - 1, why)

static void pushes(void **state)
{
	struct fixture x;

	(void)state;
	/* push rbx; push rbp; sub $0x10,%rsp; xor ebp,ebp; add $0x10,%rsp; pop rbp; pop rbx; ret */
	LOOK(&x, "\x53\x55\x48\x83\xec\x10\x31\xed\x48\x83\xc4\x10\x5d\x5b\xc3");
	is(&x, 0, 7, 8, UNWIND_SAME, UNWIND_SAME);
	is(&x, 1, 7, 16, UNWIND_SAME, UNWIND_SAME);
	is(&x, 2, 7, 24, UNWIND_SAME, UNWIND_SAME);
	is(&x, 6, 7, 40, UNWIND_SAME, UNWIND_SAME);
	is(&x, 8, 7, 40, -3, UNWIND_SAME);
	is(&x, 12, 7, 24, -3, UNWIND_SAME);
	is(&x, 13, 7, 16, UNWIND_SAME, UNWIND_SAME);
	is(&x, 14, 7, 8, UNWIND_SAME, UNWIND_SAME);
	done(&x);
}

/*
 * As in OpenBLAS's kernels: rbx has the old stack pointer, and the caller's rbx is saved in the
 * frame.
 */
static void realigned(void **state)
{
	struct fixture x;

	(void)state;
	/* sub $0x18,%rsp; mov %rbx,(%rsp); mov %rsp,%rbx; and $~31,%rsp; nop; mov %rbx,%rsp;
	   mov (%rsp),%rbx; add $0x18,%rsp; ret */
	LOOK(&x, "\x48\x83\xec\x18\x48\x89\x1c\x24\x48\x89\xe3\x48\x83\xe4\xe0\x90\x48\x89\xdc"
		 "\x48\x8b\x1c\x24\x48\x83\xc4\x18\xc3");
	is(&x, 11, 7, 32, UNWIND_SAME, -4);
	is(&x, 15, 3, 32, UNWIND_SAME, -4);
	is(&x, 19, 7, 32, UNWIND_SAME, -4);
	is(&x, 23, 7, 32, UNWIND_SAME, UNWIND_SAME);
	is(&x, 27, 7, 8, UNWIND_SAME, UNWIND_SAME);
	done(&x);
}

/* The stack is realigned, and the old stack pointer is saved in a word of the frame. */
static void realigned_in_memory(void **state)
{
	struct fixture x;

	(void)state;
	/* mov %rsp,%rax; and $~31,%rsp; sub $0x20,%rsp; mov %rax,8(%rsp); xor %eax,%eax;
	   mov 8(%rsp),%rsp; ret */
	LOOK(&x, "\x48\x89\xe0\x48\x83\xe4\xe0\x48\x83\xec\x20\x48\x89\x44\x24\x08\x31\xc0"
		 "\x48\x8b\x64\x24\x08\xc3");
	is(&x, 16, 0, 8, UNWIND_SAME, UNWIND_SAME);
	assert_int_equal(at(&x, 18)->cfa, UNWIND_DEREF);
	assert_int_equal(at(&x, 18)->reg, 7);
	assert_int_equal(at(&x, 18)->off, 8);
	assert_int_equal(at(&x, 18)->off2, 8);
	is(&x, 23, 7, 8, UNWIND_SAME, UNWIND_SAME);
	done(&x);
}

static void end_in_the_middle(void **state)
{
	struct fixture x;

	(void)state;
	/* push rbx; je +4; pop rbx; ret $0; pop rbx; ret */
	LOOK(&x, "\x53\x74\x04\x5b\xc2\x00\x00\x5b\xc3");
	is(&x, 4, 7, 8, UNWIND_SAME, UNWIND_SAME);
	is(&x, 7, 7, 16, UNWIND_SAME, UNWIND_SAME);
	is(&x, 8, 7, 8, UNWIND_SAME, UNWIND_SAME);
	done(&x);
}

/*
 * A helper with its own calling convention changes rbx without saving it. The caller's frame is
 * still found, but its rbx isn't.
 */
static void not_kept(void **state)
{
	struct fixture x;

	(void)state;
	LOOK(&x, "\x31\xdb\xc3"); /* xor ebx,ebx; ret */
	is(&x, 0, 7, 8, UNWIND_SAME, UNWIND_LOST);
	is(&x, 2, 7, 8, UNWIND_SAME, UNWIND_LOST);
	done(&x);
}

static void no_way_to_the_end(void **state)
{
	struct fixture x;

	(void)state;
	/* je +1; ret; push rbx; jmp . */
	LOOK(&x, "\x74\x01\xc3\x53\xeb\xfe");
	is(&x, 2, 7, 8, UNWIND_SAME, UNWIND_SAME);
	assert_int_equal(at(&x, 3)->cfa, UNWIND_UNKNOWN);
	assert_int_equal(at(&x, 4)->cfa, UNWIND_UNKNOWN);
	done(&x);
}

static void refusals(void **state)
{
	(void)state;
	/* je +1; push rbx; nop; ret */
	REFUSED("\x74\x01\x53\x90\xc3",
		"two paths to one instruction have different stack pointers");
	REFUSED("\x53\xc3", "a return with another stack pointer than at the entry");
	REFUSED("\x5b\xc3", "the function pops more than it has pushed");
	REFUSED("\xff\xe0", "an indirect jump whose targets aren't known");
	REFUSED("\x48\x8b\x27\xc3",
		"the stack pointer gets a value that isn't known"); /* mov (%rdi),%rsp */
	REFUSED("\x40\xb4\x01\xc3",
		"the stack pointer gets a value that isn't known"); /* mov $1,%spl */
	REFUSED("\xc2\x08\x00\xc3", "the stack pointer gets a value that isn't known"); /* ret $8 */
	REFUSED("\x06\xc3", "an instruction that isn't known");
	REFUSED("\x74\x01\x48\x31\xc0\xc3", "a jump into the middle of an instruction");
	REFUSED("\x74\x40\xc3", "a jump into the middle of another function");
	REFUSED("\x31\xc0", "control flow runs into the next function");
}

static void guesses(void **state)
{
	struct fixture x;

	(void)state;
	look(&x, "\xe8\x01\x00\x00\x00\xc3", 6, false);
	assert_null(x.why);
	done(&x);
	look(&x, "\xe8\x01\x00\x00\x00\xc3", 6, true);
	assert_string_equal(x.why, "the function makes calls, and its start isn't certain");
	done(&x);
	/* the bytes begin in the middle of a function, after its push */
	look(&x, "\x31\xc0\x5b\xc3", 4, true);
	assert_non_null(x.why);
	done(&x);
}

struct told {
	uint32_t v[4];
	size_t n;
};

static int tell(void *ctx, uint32_t key)
{
	struct told *t = ctx;

	assert_true(t->n < ARRAY_SIZE(t->v));
	t->v[t->n++] = key;
	return 0;
}

static void calls(void **state)
{
	/* push rbx; call next; pop rax; call +0x10; pop rbx; ret */
	static const char whole[] = "\x53\xe8\x00\x00\x00\x00\x58\xe8\x10\x00\x00\x00\x5b\xc3";
	struct told told = {};
	unwind_range_vec ranges = {};
	uint16_t info[sizeof(whole)] = {};
	struct code_region r = {.bytes = (const uint8_t *)whole,
				.start = BASE,
				.end = BASE + sizeof(whole) - 1,
				.info = info,
				.budget = 1000,
				.is_start = nothing_starts,
				.calls = tell,
				.ctx = &told};
	const char *why;

	(void)state;
	assert_int_equal(code_flow(&r, BASE, false, &ranges, &why), 0);
	assert_null(why);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.v[0], BASE + 12 + 0x10);
	/*
	 * if the analysis begins after the push, the function is refused, and the target of its
	 * call isn't reported
	 */
	assert_int_equal(code_flow(&r, BASE + 1, false, &ranges, &why), 0);
	assert_non_null(why);
	assert_int_equal(told.n, 1);
	vec_fini(&ranges);
}

#define TABLE 0x1000 /* offset of the jump table */

static size_t read_table(void *ctx, int64_t key, void *ret, size_t n)
{
	/*
	 * three cases, the last of which is the default; the fourth entry belongs to another table
	 */
	static const int32_t table[] = {BASE + 21 - TABLE, BASE + 24 - TABLE, BASE + 28 - TABLE,
					BASE + 4 - TABLE};

	(void)ctx;
	assert_int_equal(key, TABLE);
	n = MIN(n, sizeof(table));
	memcpy(ret, table, n);
	return n;
}

/* An indirect jump of a `switch` leads to the addresses in its jump table. */
static void tables(void **state)
{
	static const char says[] = "an indirect jump whose targets aren't known";
	/*
	 * cmp $2,%edi; ja default; lea TABLE(%rip),%rax; movslq (%rax,%rdi,4),%rdx; add %rax,%rdx;
	 * jmp *%rdx
	 */
	char code[] = "\x83\xff\x02\x77\x17\x48\x8d\x05\xf4\x0e\x00\x00\x48\x63\x14\xb8\x48\x01\xc2"
		      "\xff\xe2"
		      "\x53\x5b\xc3"	 /* push rbx; pop rbx; ret */
		      "\x53\x90\x5b\xc3" /* push rbx; nop; pop rbx; ret */
		      "\xc3";
	size_t n = sizeof(code) - 1;
	struct fixture x;

	(void)state;
	look_reading(&x, code, n, false, read_table);
	assert_null(x.why);
	is(&x, 20, 7, 8, UNWIND_SAME, UNWIND_SAME);
	is(&x, 22, 7, 16, UNWIND_SAME, UNWIND_SAME);
	is(&x, 26, 7, 16, UNWIND_SAME, UNWIND_SAME);
	is(&x, 28, 7, 8, UNWIND_SAME, UNWIND_SAME);
	done(&x);

	look(&x, code, n, false);
	assert_string_equal(x.why, says);
	done(&x);

	code[18] = (char)0xca; /* add %rcx,%rdx */
	look_reading(&x, code, n, false, read_table);
	assert_string_equal(x.why, says);
	done(&x);
	code[18] = (char)0xc2;

	/* cmp %esi,%edi doesn't tell how many entries the jump table has */
	memcpy(code, "\x39\xf7\x90", 3);
	look_reading(&x, code, n, false, read_table);
	assert_string_equal(x.why, "an instruction that isn't known");
	done(&x);

	/* ja skips the lea, so movslq may run with another value in %rax */
	memcpy(code, "\x83\xff\x02\x77\x07", 5);
	look_reading(&x, code, n, false, read_table);
	assert_string_equal(x.why, says);
	done(&x);
}

static bool is_abort(void *ctx, uint32_t key)
{
	(void)ctx;
	return key == BASE + 0x100;
}

/*
 * Analyses the @n bytes of code. Another function begins at offset @next. @info: what is known of
 * the first byte.
 */
static void look_before(struct fixture *x, const char *bytes, size_t n, uint32_t next,
			uint16_t info)
{
	*x = (struct fixture){.r = {.bytes = (const uint8_t *)bytes,
				    .start = BASE,
				    .end = BASE + (uint32_t)n,
				    .info = calloc(n, 2),
				    .budget = 1000,
				    .is_start = nothing_starts,
				    .never_returns = is_abort}};
	assert_non_null(x->r.info);
	x->r.info[next] = CODE_START;
	x->r.info[0] = info;
	assert_int_equal(code_flow(&x->r, BASE, false, &x->ranges, &x->why), 0);
}

static void never_returning(void **state)
{
	/* push rbx; jne +2; pop rbx; ret; call; then padding or other code */
	static const char padded[] = "\x53\x75\x02\x5b\xc3\xe8\x10\x00\x00\x00\x0f\x1f\x00\xcc\xc3",
			  other[] = "\x53\x75\x02\x5b\xc3\xe8\x10\x00\x00\x00\x31\xc0\x90\x90\xc3",
			  abort[] = "\x53\x75\x02\x5b\xc3\xe8\xf6\x00\x00\x00\x31\xc0\x90\x90\xc3";
	struct fixture x;

	(void)state;
	/*
	 * Only padding comes between the call and the next function. So the call never returns, and
	 * the stack needn't be as at a function's end.
	 */
	look_before(&x, padded, sizeof(padded) - 1, 14, CODE_START);
	assert_null(x.why);
	is(&x, 1, 7, 16, UNWIND_SAME, UNWIND_SAME);
	assert_int_equal(at(&x, 5)->cfa, UNWIND_UNKNOWN);
	done(&x);
	/*
	 * Code comes after the call, so the call is taken to return. Then the function would end
	 * with something on the stack.
	 */
	look_before(&x, other, sizeof(other) - 1, 0, CODE_START);
	assert_string_equal(x.why, "a return with another stack pointer than at the entry");
	done(&x);
	/*
	 * The called function is known never to return, so the caller ends at the call, whatever
	 * comes after it.
	 */
	look_before(&x, abort, sizeof(abort) - 1, 0, CODE_START);
	assert_null(x.why);
	is(&x, 1, 7, 16, UNWIND_SAME, UNWIND_SAME);
	assert_int_equal(at(&x, 5)->cfa, UNWIND_UNKNOWN);
	done(&x);
}

/* the first function of a thread: push rbx; call *rdi; call abort; */
static void endless(void **state)
{
	static const char bytes[] = "\x53\xff\xd7\xe8\xf8\x00\x00\x00\xc3";
	struct fixture x;

	(void)state;
	look_before(&x, bytes, sizeof(bytes) - 1, 8, CODE_START | CODE_CERTAIN);
	assert_null(x.why);
	is(&x, 0, 7, 8, UNWIND_SAME, UNWIND_SAME);
	is(&x, 3, 7, 16, UNWIND_SAME, UNWIND_SAME);
	done(&x);
	/* no rules here: it isn't certain that a function begins at the first byte */
	look_before(&x, bytes, sizeof(bytes) - 1, 8, CODE_START);
	assert_int_equal(x.ranges.n, 0);
	done(&x);
}

static void budget(void **state)
{
	static char bytes[3000];
	struct fixture x;

	(void)state;
	memset(bytes, 0x90, sizeof(bytes));
	look(&x, bytes, sizeof(bytes), false);
	assert_string_equal(x.why, "too much code");
	done(&x);
}

/*
 * A page of code that may change, with one function. The function's rules hold as long as all bytes
 * of the page stay the same.
 */
static void guarded(void **state)
{
	/* push rbx; dec edi; jne -4; pop rbx; ret; then zeros up to the end of the page */
	static const uint8_t bytes[4096] = "\x53\xff\xcf\x75\xfc\x5b\xc3";
	const struct code_memory code = {0x7000, sizeof(bytes), bytes};
	struct unwind_rows rows = {};

	(void)state;
	assert_int_equal(code_rows_guess(&code, &rows), 0);
	assert_int_equal(unwind_rows_find(&rows, 0x7000)->off, 8);
	assert_int_equal(unwind_rows_find(&rows, 0x7001)->off, 16);
	assert_int_equal(unwind_rows_find(&rows, 0x7006)->off, 8);
	assert_int_equal(unwind_rows_find(&rows, 0x7007)->cfa, UNWIND_UNKNOWN);
	assert_int_equal(rows.guarded, 7);
	assert_true(rows.check == check_mix(0, 0xc35bfc75cfff53));
	unwind_rows_fini(&rows);

	rows = (struct unwind_rows){};
	assert_int_equal(code_rows_guess(&(struct code_memory){0x7001, 100, bytes + 1}, &rows), 0);
	assert_int_equal(rows.rows.n, 0); /* the code pops more than it pushed */
	assert_int_equal(rows.guarded, 0);
	unwind_rows_fini(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes),
		cmocka_unit_test(realigned),
		cmocka_unit_test(realigned_in_memory),
		cmocka_unit_test(end_in_the_middle),
		cmocka_unit_test(not_kept),
		cmocka_unit_test(no_way_to_the_end),
		cmocka_unit_test(refusals),
		cmocka_unit_test(guesses),
		cmocka_unit_test(calls),
		cmocka_unit_test(tables),
		cmocka_unit_test(never_returning),
		cmocka_unit_test(endless),
		cmocka_unit_test(budget),
		cmocka_unit_test(guarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
