/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiles instructions of call frame information, and checks the unwind rows that result. What
 * each instruction means was worked out by hand from DWARF 5, section 6.4.2. The alignment factors
 * are 1 (code) and -8 (data).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cfi_writer.h"

#define START (EW_TEXT + 0x40)
#define SIZE  0x1000u - 0x40
#define S     UNWIND_SAME
#define L     UNWIND_LOST

/* A rule with CFA = reg_ + off_ and the return address at CFA-8. */
#define AT(reg_, off_, fp_, bx_)                                                                   \
	{                                                                                          \
		UNWIND_REG, reg_, 0, 0, off_, 0, -1, fp_, bx_                                      \
	}
#define RSP(off_) AT(7, off_, S, S)
#define DEREF(reg_, off_, off2_, slots_, fp_, bx_)                                                 \
	{                                                                                          \
		UNWIND_DEREF, reg_, slots_, 0, off_, off2_, -1, fp_, bx_                           \
	}
#define UNKNOWN                                                                                    \
	{                                                                                          \
		0                                                                                  \
	}
#define END                                                                                        \
	{                                                                                          \
		.cfa = UNWIND_END                                                                  \
	}

struct expected {
	uint32_t at; /* offset in the function, in bytes */
	struct unwind_rule rule;
};

static void check_rows(const struct unwind_rows *got, const struct expected *want, size_t n)
{
	assert_int_equal(got->base, EW_TEXT);
	/*
	 * The first row has no rule, because it is before the function. Such a row also ends the
	 * function, unless the function's own last row has no rule.
	 */
	assert_int_equal(got->rows.v[0].rule, 0);
	for (size_t i = 0; i < n; i++) {
		const struct unwind_rule *rule = unwind_rows_find(got, START + want[i].at);

		assert_non_null(rule);
		assert_memory_equal(rule, &want[i].rule, sizeof(*rule));
		if (want[i].at)
			assert_ptr_not_equal(unwind_rows_find(got, START + want[i].at - 1), rule);
		assert_ptr_equal(
			unwind_rows_find(got, START + (i + 1 < n ? want[i + 1].at : SIZE) - 1),
			rule);
	}
	assert_int_equal(
		got->rows.n,
		n + (memcmp(&want[n - 1].rule, &got->rules.v[0], sizeof(struct unwind_rule)) != 0) +
			(want[0].rule.cfa != UNWIND_UNKNOWN));
}

static void program(const void *bytes, size_t bytes_n, const struct expected *want, size_t n,
		    size_t bad)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	struct cfi_writer w = {};

	cw_usual(&w);
	cw_fde(&w, START, SIZE, bytes, bytes_n);
	assert_int_equal(cw_compile(&w, &rows), 0);
	assert_int_equal(rows.bad, bad);
	assert_int_equal(rows.why[0] != 0, bad != 0);
	check_rows(&rows, want, n);
}

/*
 * PROGRAM("bytes", {at, rule}, ...) checks the unwind rows of a function with these instructions.
 * PROGRAM_BAD() also checks how many FDEs count as broken.
 */
#define PROGRAM_BAD(bad_, bytes_, ...)                                                             \
	do {                                                                                       \
		const struct expected _want[] = {__VA_ARGS__};                                     \
		program(bytes_, sizeof(bytes_) - 1, _want, ARRAY_SIZE(_want), bad_);               \
	} while (0)
#define PROGRAM(bytes_, ...) PROGRAM_BAD(0, bytes_, __VA_ARGS__)

static void test_usual(void **state)
{
	/* an FDE without instructions has the rule of its CIE */
	PROGRAM("", {0, RSP(8)});
	/* push rbp; mov rsp, rbp; push rbx; ... leave; ret */
	PROGRAM("\x41\x0e\x10\x86\x02"	    /* +1: CFA+16, rbp at -16 */
		"\x43\x0d\x06"		    /* +3: by rbp */
		"\x41\x83\x03"		    /* +1: rbx at -24 */
		"\x7f\xc3\x41\x0c\x07\x08", /* +63: rbx restored; +1: rsp+8 */
		{0, RSP(8)}, {1, AT(7, 16, -2, S)}, {4, AT(6, 16, -2, S)}, {5, AT(6, 16, -2, -3)},
		{68, AT(6, 16, -2, S)}, {69, AT(7, 8, -2, S)});
	/*
	 * registers that krait doesn't follow give no unwind rows, nor do instructions that change
	 * nothing
	 */
	PROGRAM("\x41\x8c\x02\x41\x8f\x03\x41\x0e\x08\x41\x2e\x10", {0, RSP(8)});
}

static void test_advance(void **state)
{
	PROGRAM("\x02\x80\x0e\x10"	       /* advance_loc1 128 */
		"\x03\x00\x01\x0e\x18"	       /* advance_loc2 256 */
		"\x04\x00\x02\x00\x00\x0e\x20" /* advance_loc4 512 */
		"\x40\x0e\x28",		       /* advances by 0, so the row before it is empty */
		{0, RSP(8)}, {128, RSP(16)}, {384, RSP(24)}, {896, RSP(40)});
	/* rows that would begin after the function's end are left out */
	PROGRAM("\x03\x00\xf0\x0e\x10\x03\x00\xf0\x0e\x18", {0, RSP(8)});
	PROGRAM("\x04\xff\xff\xff\xff\x0e\x10\x04\xff\xff\xff\xff", {0, RSP(8)});
}

static void test_set_loc(void **state)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	const struct expected want[] = {{0, RSP(8)}, {16, RSP(16)}};
	struct cfi_writer w = {.enc = 0x00};

	cw_cie(&w, 1, "zR", 16, &w.enc, 1, "\x0c\x07\x08\x90\x01", 5);
	cw_fde(&w, START, SIZE, "\x01\x50\x10\0\0\0\0\0\0\x0e\x10", 11);
	assert_int_equal(cw_compile(&w, &rows), 0);
	check_rows(&rows, want, 2);
}

static void test_registers(void **state)
{
	/* instructions with ULEB and SLEB operands: rbp is saved at 2 * -8, rbx at -3 * -8 = +24 */
	PROGRAM("\x41\x05\x06\x02\x41\x11\x03\x7d", {0, RSP(8)}, {1, AT(7, 8, -2, S)},
		{2, AT(7, 8, -2, 3)});
	PROGRAM("\x41\x2f\x06\x02", {0, RSP(8)}, {1, AT(7, 8, 2, S)});
	/*
	 * restore and restore_extended bring back the CIE's rule, which says nothing of these
	 * registers
	 */
	PROGRAM("\x41\x86\x02\x83\x03\x41\xc6\x41\x06\x03", {0, RSP(8)}, {1, AT(7, 8, -2, -3)},
		{2, AT(7, 8, S, -3)}, {3, RSP(8)});
	/* the register rules undefined, same_value, register, val_offset, and expressions */
	PROGRAM("\x41\x07\x06\x41\x08\x06\x41\x09\x03\x00\x41\x14\x06\x00\x41\x15\x06\x7f"
		"\x08\x03\x41\x16\x06\x02\x76\x00",
		{0, RSP(8)}, {1, AT(7, 8, L, S)}, {2, AT(7, 8, S, S)}, {3, AT(7, 8, S, L)},
		{4, AT(7, 8, L, L)}, {5, AT(7, 8, L, S)});
	/*
	 * offsets of 0x7ffe and 0x7fff units can't be stored, because these values mean UNWIND_LOST
	 * and UNWIND_SAME
	 */
	PROGRAM("\x41\x11\x06\x82\x80\x7e\x41\x11\x06\x83\x80\x7e", {0, RSP(8)},
		{1, AT(7, 8, L, S)}, {2, AT(7, 8, 0x7ffd, S)});
}

static void test_return_address(void **state)
{
	/*
	 * where the return address is, in turn: at CFA-16; in rdi; as in the CIE; given by an
	 * expression; as in the CIE
	 */
	PROGRAM("\x41\x90\x02\x41\x09\x10\x05\x41\xd0\x41\x10\x10\x02\x77\x00\x41\x06\x10",
		{0, RSP(8)}, {1, {UNWIND_REG, 7, 0, 0, 8, 0, -2, S, S}},
		{2, {UNWIND_REG, 7, UNWIND_RA_IN_INDEX, 5, 8, 0, S, S, S}}, {3, RSP(8)},
		{4, UNKNOWN}, {5, RSP(8)});
	/*
	 * the return address is in r15; in a register that isn't a general one; in a register while
	 * the rule needs .index for the CFA
	 */
	PROGRAM("\x41\x09\x10\x0f\x41\x09\x10\x10\x41\x09\x10\x85\x02", {0, RSP(8)},
		{1, {UNWIND_REG, 7, UNWIND_RA_IN_INDEX, 15, 8, 0, S, S, S}}, {2, UNKNOWN});
	PROGRAM("\x09\x10\x05\x41\x0f\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08",
		{0, {UNWIND_REG, 7, UNWIND_RA_IN_INDEX, 5, 8, 0, S, S, S}}, {1, UNKNOWN});
	PROGRAM("\x07\x10", {0, END});
	PROGRAM("\x08\x10", {0, UNKNOWN});
	PROGRAM("\x41\x07\x10\x41\x90\x01", {0, RSP(8)}, {1, END}, {2, RSP(8)});
	/*
	 * the caller's stack pointer is saved in memory (no rule); is the CFA; is this frame's
	 * stack pointer (no rule)
	 */
	PROGRAM("\x41\x87\x03\x41\x14\x07\x00\x41\x08\x07", {0, RSP(8)}, {1, UNKNOWN}, {2, RSP(8)},
		{3, UNKNOWN});
}

static void test_cfa(void **state)
{
	/* def_cfa r10+0; def_cfa_offset 16; def_cfa_register rax; _sf: -2*-8; rbp + -1*-8 */
	PROGRAM("\x41\x0c\x0a\x00\x41\x0e\x10\x41\x0d\x00\x41\x13\x7c\x41\x12\x06\x7f", {0, RSP(8)},
		{1, AT(10, 0, S, S)}, {2, AT(10, 16, S, S)}, {3, AT(0, 16, S, S)},
		{4, AT(0, 32, S, S)}, {5, AT(6, 8, S, S)});
	/* register 256 and an offset of 2 GiB don't fit into a rule */
	PROGRAM("\x41\x0c\x80\x02\x10\x41\x0c\x07\x80\x80\x80\x80\x08\x41\x0e\x10", {0, RSP(8)},
		{1, UNKNOWN}, {3, RSP(16)});
}

static void test_states(void **state)
{
	PROGRAM("\x41\x0e\x10\x0a\x41\x0e\x18\x86\x02\x0a\x41\x0c\x06\x10\x41\x0b\x41\x0b",
		{0, RSP(8)}, {1, RSP(16)}, {2, AT(7, 24, -2, S)}, {3, AT(6, 16, -2, S)},
		{4, AT(7, 24, -2, S)}, {5, RSP(16)});
	PROGRAM_BAD(1, "\x41\x0e\x10\x41\x0b", {0, RSP(8)}, {1, RSP(16)}, {2, UNKNOWN});
	/* krait keeps up to sixteen remembered states; after a seventeenth one it knows no rule */
	PROGRAM("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x41\x0e\x10",
		{0, RSP(8)}, {1, RSP(16)});
	PROGRAM_BAD(1,
		    "\x41\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"
		    "\x41\x0e\x10",
		    {0, RSP(8)}, {1, UNKNOWN});
}

static void test_broken(void **state)
{
	/*
	 * an unknown instruction, a MIPS instruction, an AArch64 instruction, and an instruction
	 * that is cut off
	 */
	PROGRAM_BAD(1, "\x41\x0e\x10\x41\x17\x41\x0e\x18", {0, RSP(8)}, {1, RSP(16)}, {2, UNKNOWN});
	PROGRAM_BAD(1, "\x41\x1d\1\0\0\0\0\0\0\0", {0, RSP(8)}, {1, UNKNOWN});
	PROGRAM_BAD(1, "\x41\x2d", {0, RSP(8)}, {1, UNKNOWN});
	PROGRAM_BAD(1, "\x41\x0f\x7f\x77", {0, RSP(8)}, {1, UNKNOWN});
	PROGRAM_BAD(1, "\x41\x0e\x10\x41\x0e\x80\x80", {0, RSP(8)}, {1, RSP(16)}, {2, UNKNOWN});
	PROGRAM_BAD(1, "\x41\x12\x07\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", {0, RSP(8)},
		    {1, UNKNOWN});
	/* set_loc must not go backwards */
	PROGRAM_BAD(1, "\x41\x01\xf0\xef\xff\xff", {0, RSP(8)}, {1, UNKNOWN});
}

static void test_expressions(void **state)
{
	/* CFAs as in OpenSSL: *(rsp+40) + 8; *(rsp-8); then rsp + the last offset that was set */
	PROGRAM("\x41\x0f\x05\x77\x28\x06\x23\x08\x41\x0f\x03\x77\x78\x06\x41\x0d\x07", {0, RSP(8)},
		{1, DEREF(7, 40, 8, 0, S, S)}, {2, DEREF(7, -8, 0, 0, S, S)}, {3, RSP(8)});
	/*
	 * as in libgcrypt: the CFA is an expression when its offset is set; the offset counts when
	 * the CFA is a register again
	 */
	PROGRAM("\x41\x0f\x03\x77\x78\x06\x41\x0e\x20\x41\x0d\x07", {0, RSP(8)},
		{1, DEREF(7, -8, 0, 0, S, S)}, {3, RSP(32)});
	/*
	 * expressions that krait doesn't understand: one without DW_OP_deref; one with two; a
	 * register without its offset; an empty expression; an offset that is too large
	 */
	PROGRAM("\x41\x0f\x02\x77\x28", {0, RSP(8)}, {1, UNKNOWN});
	PROGRAM("\x41\x0f\x04\x77\x28\x06\x06", {0, RSP(8)}, {1, UNKNOWN});
	PROGRAM("\x41\x0f\x01\x77", {0, RSP(8)}, {1, UNKNOWN});
	PROGRAM("\x41\x0f\x00", {0, RSP(8)}, {1, UNKNOWN});
	PROGRAM("\x41\x0f\x07\x77\x28\x06\x23\x80\x80\x02", {0, RSP(8)}, {1, UNKNOWN});
	/*
	 * krait understands OpenSSL's *(r9 * 8 + rsp + 8) + 8, but not the same with * 4, with two
	 * products, or with r9 + 8
	 */
	PROGRAM("\x41\x0f\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08", {0, RSP(8)},
		{1, {UNWIND_INDEXED, 7, 0, 9, 8, 8, -1, S, S}});
	PROGRAM("\x41\x0f\x0a\x77\x08\x79\x00\x34\x1e\x22\x06\x23\x08", {0, RSP(8)}, {1, UNKNOWN});
	PROGRAM("\x41\x0f\x0d\x77\x08\x79\x00\x38\x1e\x22\x79\x00\x38\x1e\x22\x06", {0, RSP(8)},
		{1, UNKNOWN});
	PROGRAM("\x41\x0f\x0a\x77\x08\x79\x08\x38\x1e\x22\x06\x23\x08", {0, RSP(8)}, {1, UNKNOWN});
}

#define FP_FP UNWIND_FP_FROM_FP
#define BX_FP UNWIND_BX_FROM_FP

static void test_realigned(void **state)
{
	/*
	 * GCC's prologue for a realigned stack (with DRAP, the dynamic realign argument pointer):
	 * r10 = rsp + 8; push -8(%r10); push rbp; rbp = rsp; push r10; push rbx: CFA = *(rbp-8),
	 * rbp at *(rbp+0), rbx at *(rbp-16).
	 */
	PROGRAM("\x45\x0c\x0a\x00\x49\x10\x06\x02\x76\x00\x45\x0f\x03\x76\x78\x06"
		"\x41\x10\x03\x02\x76\x70\x60\x0c\x0a\x00\x45\x0c\x07\x08",
		{0, RSP(8)}, {5, AT(10, 0, S, S)}, {14, AT(10, 0, L, S)},
		{19, DEREF(6, -8, 0, FP_FP, 0, S)}, {20, DEREF(6, -8, 0, FP_FP | BX_FP, 0, -2)},
		{52, AT(10, 0, L, L)}, {57, AT(7, 8, L, L)});
	/* as icc realigns the stack: CFA = rbx+16, rbx at CFA-16, rbp at *(rbp+0) */
	PROGRAM("\x41\x0c\x03\x10\x83\x02\x41\x10\x06\x02\x76\x00", {0, RSP(8)},
		{1, AT(3, 16, S, -2)}, {2, {UNWIND_REG, 3, FP_FP, 0, 16, 0, -1, 0, -2}});
	/*
	 * expressions that krait doesn't understand: an offset that isn't a multiple of 8; a longer
	 * expression; another register
	 */
	PROGRAM("\x41\x10\x06\x02\x76\x04\x10\x03\x03\x76\x00\x06\x41\x10\x06\x02\x73\x00",
		{0, RSP(8)}, {1, AT(7, 8, L, L)});
}

static void test_plt(void **state)
{
	const struct unwind_rule lit11 = {UNWIND_PLT, 7, 0, 0, 11, 0, -1, S, S},
				 lit10 = {UNWIND_PLT, 7, 0, 0, 10, 0, -1, S, S};

	PROGRAM("\x0e\x10\x46\x0e\x18\x4a\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22",
		{0, RSP(16)}, {6, RSP(24)}, {16, lit11});
	PROGRAM("\x41\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3a\x2a\x33\x24\x22", {0, RSP(8)},
		{1, lit10});
	/* expressions that krait doesn't understand: with another base, or another operator */
	PROGRAM("\x41\x0f\x0b\x77\x10\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", {0, RSP(8)},
		{1, UNKNOWN});
	PROGRAM("\x41\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2b\x33\x24\x22", {0, RSP(8)},
		{1, UNKNOWN});
}

/*
 * Makes the rule of glibc's __restore_rt, which has expressions. rsp is @shift bytes below the
 * ucontext, and rip is at offset @rip in the ucontext.
 */
static void signal_rule(int shift, int rip, struct unwind_rule *ret)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	struct cfi_writer w = {.enc = 0x1b}, p = {};

	cw_cie(&w, 1, "zRS", 16, &w.enc, 1, "", 0);
	for (int i = 0; i < 4; i++) {
		static const uint8_t op[] = {0x0f, 0x10, 0x10, 0x10}, reg[] = {0, 7, 16, 6};
		const int off[] = {160, 160, rip, 120};
		int v = off[i] + shift;

		cw_put(&p, op[i], 1);
		if (i)
			cw_put(&p, reg[i], 1);
		cw_put(&p, i ? 3 : 4, 1);
		cw_put(&p, 0x77, 1);
		cw_put(&p, (uint64_t)((v & 0x7f) | 0x80), 1);
		cw_put(&p, (uint64_t)(v >> 7), 1);
		if (!i)
			cw_put(&p, 0x06, 1);
	}
	cw_fde(&w, START, SIZE, p.bytes, p.n);
	assert_int_equal(cw_compile(&w, &rows), 0);
	*ret = *unwind_rows_find(&rows, START);
}

static void test_signal(void **state)
{
	const struct unwind_rule plain = {.cfa = UNWIND_SIGNAL, .reg = 7},
				 shifted = {.cfa = UNWIND_SIGNAL, .reg = 7, .off = 8}, unknown = {};
	struct unwind_rule rule;

	signal_rule(0, 168, &rule);
	assert_memory_equal(&rule, &plain, sizeof(rule));
	signal_rule(8, 168, &rule);
	assert_memory_equal(&rule, &shifted, sizeof(rule));
	signal_rule(0, 160, &rule); /* the kernel puts rip elsewhere in the ucontext */
	assert_memory_equal(&rule, &unknown, sizeof(rule));
}

static void test_aarch64(void **state)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	const struct expected want[] = {{0, {UNWIND_REG, 31, 0, 0, 0, 0, S, S, S}},
					{4, {UNWIND_REG, 31, 0, 0, 32, 0, -3, -4, S}},
					{8, {UNWIND_REG, 29, 0, 0, 32, 0, -3, -4, -2}},
					{12, {UNWIND_REG, 31, 0, 0, 0, 0, S, S, S}},
					{16, {.cfa = UNWIND_END}}};
	struct cfi_writer w = {.enc = 0x1b};
	_cleanup_close_ int fd = -1;
	struct elf_writer ew;

	/*
	 * instructions of the function: paciasp; stp x29, x30, [sp, -32]!; mov x29, sp; str x19;
	 * ldp; ret
	 */
	cw_cie(&w, 1, "zR", 30, &w.enc, 1, "\x0c\x1f\x00", 3);
	cw_fde(&w, START, SIZE,
	       "\x2d\x41\x0e\x20\x9d\x04\x9e\x03\x41\x0d\x1d\x93\x02\x41\x2d\xdd\xde\xd3\x0c\x1f"
	       "\x00\x41\x07\x1e",
	       24);
	ew_init(&ew, ET_DYN);
	ew.machine = EM_AARCH64;
	cw_place(&w, &ew);
	fd = ew_write(&ew);
	assert_int_equal(cw_read(fd, &rows), 0);
	assert_int_equal(rows.bad, 0);
	check_rows(&rows, want, ARRAY_SIZE(want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_advance),
		cmocka_unit_test(test_set_loc),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_return_address),
		cmocka_unit_test(test_cfa),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_aarch64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
