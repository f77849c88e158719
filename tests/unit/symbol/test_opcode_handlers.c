/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An interpreter built with tail calls has a table of functions by opcode. The test finds it in
 * files made by hand, with right tables, data that only looks like a table, and wrong starts of
 * functions. tests/e2e/native/frames.py tests a real interpreter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "dispatch_table.h"
#include "open_names.h"
#include "base/cleanup.h"
#include "elf/function_starts.h"
#include "symbol/pytables/machinery.h"
#include "symbol/pytables/method_names.h"

#define USED (DT_HANDLERS - 1)

static void begin(struct elf_writer *w, uint16_t type)
{
	ew_init(w, type);
	ew_symbol(w, "PyType_Ready", EW_TEXT, 1, 1);
	ew_symbol(w, "_PyEval_EvalFrameDefault", EW_TEXT, 1, 1);
}

/* Begins a file whose .eh_frame_hdr is valid. */
static void begin_sound(struct elf_writer *w, uint16_t type)
{
	const struct dt_header h = dt_header(EW_CONST);

	begin(w, type);
	dt_place(w, &h);
}

/* Adds @n words, followed by a word that isn't the address of a function. */
static void add_run(struct elf_writer *w, const uint64_t *words, size_t n)
{
	ew_const(w, words, n * 8);
	ew_const(w, "\0\0\0\0\0\0\0\0", 8);
}

static void assert_found(struct elf_writer *w)
{
	struct method_names *n = open_names(w);

	assert_string_equal(method_names_find(n, dt_handler(0)), "_TAIL_CALL_0");
	assert_string_equal(method_names_find(n, dt_handler(1)), "_TAIL_CALL_1");
	assert_string_equal(method_names_find(n, dt_handler(USED)), "_TAIL_CALL_159");
	assert_null(method_names_find(n, dt_handler(1) + 1));
	assert_null(method_names_find(n, dt_handler(USED + 1)));
	assert_int_equal(method_names_count(n), DT_HANDLERS);
	for (size_t i = 0; i < DT_HANDLERS; i++) {
		assert_true(machinery_is(method_names_find(n, dt_handler(i))));
		assert_true(machinery_is_eval(method_names_find(n, dt_handler(i)), 3));
	}
	method_names_free(n);
}

static void assert_none(struct elf_writer *w)
{
	struct method_names *n = open_names(w);

	assert_int_equal(method_names_count(n), 0);
	method_names_free(n);
}

static void a_table_of_constants_is_found(void **state)
{
	uint64_t table[DT_OPCODES];
	struct elf_writer w;

	dt_table(table, USED);
	begin_sound(&w, ET_EXEC);
	add_run(&w, table, ARRAY_SIZE(table));
	assert_found(&w);
}

/*
 * The words of a table may come from relocations. With packed relocations (RELR), the words are in
 * the data.
 */
static void a_relocated_table_is_found(void **state)
{
	uint64_t table[DT_OPCODES];
	struct elf_writer w;

	dt_table(table, USED);
	begin_sound(&w, ET_DYN);
	for (size_t i = 0; i < 60; i++) {
		ew_rela(&w, EW_DATA + i * 8, R_X86_64_RELATIVE, 0, (int64_t)table[i]);
		table[i] = 0;
	}
	ew_data(&w, table, sizeof(table));
	assert_found(&w);
}

/*
 * 3.15 has a second table, for tracing, in which all opcodes have the same function. krait doesn't
 * take it for another table.
 */
static void a_second_table_of_one_function_is_no_other(void **state)
{
	uint64_t tables[2 * DT_OPCODES];
	struct elf_writer w;

	dt_table(tables, USED);
	for (size_t i = DT_OPCODES; i < 2 * DT_OPCODES; i++)
		tables[i] = dt_handler(7);
	begin_sound(&w, ET_EXEC);
	add_run(&w, tables, ARRAY_SIZE(tables));
	assert_found(&w);
}

static void of_two_tables_none_is_taken(void **state)
{
	uint64_t table[DT_OPCODES];
	struct elf_writer w;

	dt_table(table, USED);
	begin_sound(&w, ET_EXEC);
	add_run(&w, table, ARRAY_SIZE(table));
	add_run(&w, table, ARRAY_SIZE(table));
	assert_none(&w);
	begin_sound(&w, ET_EXEC);
	add_run(&w, table, ARRAY_SIZE(table));
	ew_data(&w, table, sizeof(table));
	assert_none(&w);
}

static void other_lengths_are_no_table(void **state)
{
	static const size_t lengths[] = {DT_OPCODES - 1, DT_OPCODES + 1, 2 * DT_OPCODES - 1,
					 5 * DT_OPCODES};
	uint64_t words[5 * DT_OPCODES];
	struct elf_writer w;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = dt_handler(7);
	dt_table(words, USED);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		begin_sound(&w, ET_EXEC);
		add_run(&w, words, lengths[i]);
		assert_none(&w);
	}
}

static void other_forms_are_no_table(void **state)
{
	uint64_t words[2 * DT_OPCODES];
	struct elf_writer w;

	/* refused: the table has too few different functions */
	dt_table(words, 126);
	begin_sound(&w, ET_EXEC);
	add_run(&w, words, DT_OPCODES);
	assert_none(&w);
	/* refused: no function is in the table often enough (for unused opcodes) */
	for (size_t i = 0; i < DT_OPCODES; i++)
		words[i] = dt_handler(i % DT_HANDLERS);
	begin_sound(&w, ET_EXEC);
	add_run(&w, words, DT_OPCODES);
	assert_none(&w);
	/*
	 * refused: the words after the table are neither a second table nor one function repeated
	 */
	dt_table(words, USED);
	dt_table(words + DT_OPCODES, 4);
	begin_sound(&w, ET_EXEC);
	add_run(&w, words, ARRAY_SIZE(words));
	assert_none(&w);
	/* refused: the table has only one function */
	for (size_t i = 0; i < DT_OPCODES; i++)
		words[i] = dt_handler(7);
	begin_sound(&w, ET_EXEC);
	add_run(&w, words, DT_OPCODES);
	assert_none(&w);
}

/* The words are the jump table of a `switch`, so they lead into a function. */
static void what_points_into_functions_is_no_table(void **state)
{
	uint64_t table[DT_OPCODES];
	struct elf_writer w;

	dt_table(table, USED);
	for (size_t i = 0; i < DT_OPCODES; i++)
		table[i] += 4;
	begin_sound(&w, ET_EXEC);
	add_run(&w, table, ARRAY_SIZE(table));
	assert_none(&w);
	dt_table(table, USED);
	table[100]++;
	begin_sound(&w, ET_EXEC);
	add_run(&w, table, ARRAY_SIZE(table));
	assert_none(&w);
}

static void only_interpreters_without_the_symbols_are_searched(void **state)
{
	uint64_t table[DT_OPCODES];
	struct elf_writer w;

	dt_table(table, USED);
	begin_sound(&w, ET_EXEC);
	add_run(&w, table, ARRAY_SIZE(table));
	w.sym_n--;
	assert_none(&w);
	begin_sound(&w, ET_EXEC);
	add_run(&w, table, ARRAY_SIZE(table));
	ew_symbol(&w, "_TAIL_CALL_NOP", dt_handler(27), 16, 1);
	w.named = ".symtab";
	w.named_sh = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				  .sh_offset = EW_AT_SYM,
				  .sh_size = w.sym_n * sizeof(Elf64_Sym),
				  .sh_link = 3,
				  .sh_info = 1,
				  .sh_addralign = 8,
				  .sh_entsize = sizeof(Elf64_Sym)};
	assert_none(&w);
}

static size_t count_starts(struct elf_writer *w, bool *has)
{
	_cleanup_close_ int fd = ew_write(w);
	_cleanup_elf_ struct elf_file *f = NULL;
	_cleanup_function_starts_ struct function_starts s = {};

	assert_int_equal(elf_file_open(fd, "test", &f), 0);
	assert_int_equal(function_starts_read(f, &s), 0);
	*has = function_starts_has(&s, dt_handler(0)) && function_starts_has(&s, dt_handler(77)) &&
	       function_starts_has(&s, dt_handler(USED));
	assert_false(function_starts_has(&s, dt_handler(0) - 1));
	assert_false(function_starts_has(&s, dt_handler(77) + 1));
	assert_false(function_starts_has(&s, dt_handler(USED) + 1));
	assert_false(function_starts_has(&s, 0));
	assert_false(function_starts_has(&s, UINT64_MAX));
	return s.vaddrs.n;
}

static void assert_starts(const struct dt_header *h, size_t bytes, bool good)
{
	struct elf_writer w;
	bool has;

	begin(&w, ET_EXEC);
	dt_place(&w, h);
	w.eh_frame_hdr_n = bytes;
	assert_int_equal(count_starts(&w, &has), good ? DT_HANDLERS : 0);
	assert_int_equal(has, good);
}

static void starts_are_believed_only_if_they_fit(void **state)
{
	static const uint8_t others[][4] = {
		{2, 0x1b, 3, 0x3b}, {1, 0x1b, 3, 0x1b},	   {1, 0x1b, 3, 0x3c}, {1, 0x1b, 3, 0xff},
		{1, 0x1b, 4, 0x3b}, {1, 0x1b, 0xff, 0xff}, {1, 0xff, 3, 0x3b}, {1, 0x1c, 3, 0x3b},
	};
	static const uint32_t counts[] = {DT_HANDLERS + 1, (1u << 20) + 1, 1u << 29, UINT32_MAX, 0};
	const struct dt_header sound = dt_header(EW_CONST);
	struct dt_header h;

	assert_starts(&sound, sizeof(sound), true);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		h = sound;
		memcpy(h.encodings, others[i], 4);
		assert_starts(&h, sizeof(h), false);
	}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		h = sound;
		h.count = counts[i];
		assert_starts(&h, sizeof(h), false);
	}
	assert_starts(&sound, sizeof(sound) - 1, false);
	assert_starts(&sound, 12, false);
	assert_starts(&sound, 11, false);
	/* the addresses in the header don't ascend, so nothing can be looked up */
	h = sound;
	h.table[20] -= 64;
	assert_starts(&h, sizeof(h), false);
}

static void starts_outside_of_the_file_are_none(void **state)
{
	struct dt_header h = dt_header(EW_CONST);
	struct elf_writer w;
	bool has;

	/* the header claims more entries than the segment has */
	h.count = 1u << 19;
	begin(&w, ET_EXEC);
	dt_place(&w, &h);
	w.eh_frame_hdr_n = 1ull << 40;
	assert_int_equal(count_starts(&w, &has), 0);
	w.eh_frame_hdr_n = UINT64_MAX;
	assert_int_equal(count_starts(&w, &has), 0);
	w.eh_frame_hdr = EW_CONST + w.const_n - 11;
	assert_int_equal(count_starts(&w, &has), 0);
	w.eh_frame_hdr = UINT64_MAX - 4;
	assert_int_equal(count_starts(&w, &has), 0);
	w.eh_frame_hdr = 0;
	assert_int_equal(count_starts(&w, &has), 0);
	assert_none(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_of_constants_is_found),
		cmocka_unit_test(a_relocated_table_is_found),
		cmocka_unit_test(a_second_table_of_one_function_is_no_other),
		cmocka_unit_test(of_two_tables_none_is_taken),
		cmocka_unit_test(other_lengths_are_no_table),
		cmocka_unit_test(other_forms_are_no_table),
		cmocka_unit_test(what_points_into_functions_is_no_table),
		cmocka_unit_test(only_interpreters_without_the_symbols_are_searched),
		cmocka_unit_test(starts_are_believed_only_if_they_fit),
		cmocka_unit_test(starts_outside_of_the_file_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
