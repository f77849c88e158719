/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that krait finds for functions in method tables, in a file made by hand: each kind of owner
 * (class, module), functions with several owners, and data that only looks like a table.
 * tests/golden/symbols/method-names.sh tests real interpreters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "open_names.h"
#include "base/cleanup.h"
#include "symbol/pytables/machinery.h"
#include "symbol/pytables/method_names.h"

enum {
	FIRST = EW_TEXT,
	SECOND = EW_TEXT + 16,
	THIRD = EW_TEXT + 32,
	DEALLOC = EW_TEXT + 48,
	ADD = EW_TEXT + 64,
	TAKEN = EW_TEXT + 80,
	NEW = EW_TEXT + 96
};
enum { NOARGS = 4, KEYWORDS = 1 | 2 };

static uint64_t text(struct elf_writer *w, const char *s)
{
	return ew_data(w, s, strlen(s) + 1);
}

static uint64_t table(struct elf_writer *w, const char *name, uint64_t function, uint64_t flags,
		      const char *more, uint64_t more_function)
{
	uint64_t defs[12] = {text(w, name), function, flags, 0};

	if (more) {
		defs[4] = text(w, more);
		defs[5] = more_function;
		defs[6] = NOARGS;
	}
	return ew_data(w, defs, sizeof(defs));
}

static void add_type(struct elf_writer *w, const char *name, uint64_t methods)
{
	const uint64_t numbers[] = {ADD, 0};
	uint64_t type[52] = {1, 0, 0, text(w, name), 32, 0, DEALLOC};

	type[12] = ew_data(w, numbers, sizeof(numbers));
	type[29] = methods;
	ew_data(w, type, sizeof(type));
}

static void add_module(struct elf_writer *w, const char *name, uint64_t methods)
{
	const uint64_t module[9] = {1, [5] = text(w, name), [7] = UINT64_MAX, [8] = methods};

	ew_data(w, module, sizeof(module));
}

static void add_spec(struct elf_writer *w, const char *name, uint64_t methods)
{
	const uint64_t slots[] = {52, DEALLOC, 64, methods, 0, 0};
	const uint64_t spec[] = {text(w, name), 32, 0, ew_data(w, slots, sizeof(slots))};

	ew_data(w, spec, sizeof(spec));
}

static void start(struct elf_writer *w)
{
	/*
	 * lea TAKEN(%rip), %rax takes a function's address; call doesn't take the address of its
	 * target
	 */
	static const uint8_t taker[] = {0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0};
	int32_t to_taken = TAKEN - (NEW + 7);

	ew_init(w, ET_EXEC);
	for (uint64_t i = 0; i < 0x60; i += 8)
		ew_text(w, "\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3", 8);
	ew_text(w, taker, sizeof(taker));
	memcpy(&w->text[NEW - EW_TEXT + 3], &to_taken, 4);
	ew_symbol(w, "PyCMethod_New", NEW, sizeof(taker), 1);
	ew_symbol(w, "PyType_Ready", NEW, 1, 1);
}

static void assert_name(const struct method_names *n, uint64_t at, const char *want, bool machinery)
{
	const char *found = method_names_find(n, at);

	if (!want) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, want);
	assert_int_equal(machinery_is(found), machinery);
}

static void owners_are_found(void **state)
{
	struct elf_writer w;
	struct method_names *n;

	start(&w);
	add_module(&w, "mod", table(&w, "first", FIRST, NOARGS, NULL, 0));
	add_type(&w, "mod.Type", table(&w, "second", SECOND, KEYWORDS, NULL, 0));
	add_spec(&w, "mod.Heap", table(&w, "third", THIRD, NOARGS, NULL, 0));
	n = open_names(&w);
	assert_name(n, FIRST, "mod.first", false);
	assert_name(n, SECOND, "mod.Type.second", false);
	assert_name(n, THIRD, "mod.Heap.third", false);
	assert_name(n, DEALLOC, "mod.Type.tp_dealloc", false);
	assert_name(n, ADD, "mod.Type.nb_add", false);
	assert_name(n, TAKEN, "cfunction_vectorcall", true);
	assert_name(n, NEW, NULL, false);
	assert_name(n, FIRST + 1, NULL, false);
	assert_int_equal(method_names_count(n), 6);
	method_names_free(n);
}

/*
 * A function in the tables of two owners (modules a and b) is named without an owner, and so is a
 * function of the module builtins. The functions that run generators are recognized.
 */
static void names_are_plain_where_they_must(void **state)
{
	struct elf_writer w;
	struct method_names *n;

	start(&w);
	add_module(&w, "builtins", table(&w, "chr", FIRST, NOARGS, NULL, 0));
	add_module(&w, "a", table(&w, "both", SECOND, NOARGS, NULL, 0));
	add_module(&w, "b", table(&w, "both", SECOND, NOARGS, NULL, 0));
	add_spec(&w, "generator", table(&w, "send", THIRD, NOARGS, NULL, 0));
	n = open_names(&w);
	assert_name(n, FIRST, "chr", false);
	assert_name(n, SECOND, "both", false);
	assert_name(n, THIRD, "generator.send", true);
	method_names_free(n);
}

static void what_only_looks_so_is_none(void **state)
{
	struct elf_writer w;
	struct method_names *n;

	start(&w);
	table(&w, "two words", FIRST, NOARGS, NULL, 0);
	table(&w, "", FIRST, NOARGS, NULL, 0);
	table(&w, "1st", FIRST, NOARGS, NULL, 0);
	table(&w, "data", EW_DATA, NOARGS, NULL, 0);
	table(&w, "flags", FIRST, 0, NULL, 0);
	table(&w, "both_ways", FIRST, 1 | 4, NULL, 0);
	table(&w, "keywords", FIRST, 2 | 4, NULL, 0);
	table(&w, "unknown", FIRST, 4 | 0x1000, NULL, 0);
	table(&w, "high", FIRST, 4 | 1ull << 32, NULL, 0);
	n = open_names(&w);
	assert_name(n, FIRST, NULL, false);
	assert_int_equal(method_names_count(n), 1);
	method_names_free(n);
}

static void other_files_have_none(void **state)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	_cleanup_close_ int fd = -1;
	struct method_names *n;
	struct elf_writer w;

	ew_init(&w, ET_DYN);
	table(&w, "first", FIRST, NOARGS, NULL, 0);
	fd = ew_write(&w);
	assert_int_equal(elf_file_open(fd, "test", &f), 0);
	assert_int_equal(method_names_open(f, &n), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners_are_found),
		cmocka_unit_test(names_are_plain_where_they_must),
		cmocka_unit_test(what_only_looks_so_is_none),
		cmocka_unit_test(other_files_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
