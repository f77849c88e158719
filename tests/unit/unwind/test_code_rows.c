/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that krait finds without call frame information: the program's entry, and a function
 * whose only caller has no such information either.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cfi_writer.h"

#define NAMED	0x1100u /* offset of a function that has a symbol */
#define BETWEEN 0x1200u /* offset of a function that has call frame information */
#define CALLED	0x1300u /* offset of a function that the function at NAMED calls */
#define ENTRY	0x1400u

static const uint8_t named[] = {
	0x48, 0x83, 0xec, 0x08,	      /* sub $8,%rsp */
	0xe8, 0xf7, 0x01, 0x00, 0x00, /* call CALLED */
	0x48, 0x83, 0xc4, 0x08, 0xc3, /* add $8,%rsp; ret */
};
/*
 * A function with a call. krait wouldn't trust the function's rules if krait had only guessed that
 * a function begins here.
 */
static const uint8_t called[] = {
	0x53,			      /* push %rbx */
	0xe8, 0xfa, 0xfd, 0xff, 0xff, /* call NAMED */
	0x5b, 0xc3,		      /* pop %rbx; ret */
};
static const uint8_t entry[] = {
	0x48, 0x89, 0xe7,	      /* mov %rsp,%rdi */
	0x48, 0x83, 0xe4, 0xf0,	      /* and $-16,%rsp */
	0xe8, 0xf4, 0xfc, 0xff, 0xff, /* call NAMED, which never returns */
};

static void put(struct elf_writer *w, uint32_t at, const uint8_t *bytes, size_t n)
{
	memcpy(w->text + (at - EW_TEXT), bytes, n);
}

static void add(struct elf_writer *w, const char *name, uint32_t at, size_t n)
{
	w->sym[ew_symbol(w, name, at, n, 1)].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
}

static void read_file(struct unwind_rows *ret)
{
	struct cfi_writer cfi = {};
	struct elf_writer w;
	_cleanup_close_ int fd = -1;

	cw_usual(&cfi);
	cw_fde(&cfi, BETWEEN, 0x10, "", 0);
	ew_init(&w, ET_DYN);
	cw_place(&cfi, &w);
	memset(w.text, 0xcc, sizeof(w.text));
	w.text_n = sizeof(w.text);
	put(&w, NAMED, named, sizeof(named));
	put(&w, CALLED, called, sizeof(called));
	put(&w, ENTRY, entry, sizeof(entry));
	add(&w, "named", NAMED, sizeof(named));
	add(&w, "_start", ENTRY, sizeof(entry));
	w.entry = ENTRY;
	w.text_section = true;
	fd = ew_write(&w);
	assert_int_equal(cw_read(fd, ret), 0);
}

static void is(const struct unwind_rows *rows, uint32_t at, int off)
{
	const struct unwind_rule *u = unwind_rows_find(rows, at);

	assert_int_equal(u->cfa, UNWIND_REG);
	assert_int_equal(u->reg, 7);
	assert_int_equal(u->off, off);
}

static void test_called_elsewhere(void **state)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};

	read_file(&rows);
	is(&rows, NAMED, 8);
	is(&rows, NAMED + 4, 16);
	is(&rows, CALLED, 8);
	is(&rows, CALLED + 1, 16);
	assert_int_equal(unwind_rows_find(&rows, CALLED + sizeof(called))->cfa, UNWIND_UNKNOWN);
}

static void test_entry(void **state)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};

	read_file(&rows);
	for (size_t i = 0; i < sizeof(entry); i++)
		assert_int_equal(unwind_rows_find(&rows, ENTRY + i)->cfa, UNWIND_END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_called_elsewhere),
		cmocka_unit_test(test_entry),
	};

	return cmocka_run_group_tests_name("functions without call frame information", tests, NULL,
					   NULL);
}
