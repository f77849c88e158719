/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads ELF files that are made by hand. Broken files are refused or do no harm. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/error.h"
#include "elf/elf_file.h"
#include "base/work/slice.h"
#include "elf/elf_sections.h"
#include "elf_writer.h"

static struct elf_file *open_elf(int fd)
{
	struct elf_file *f = NULL;

	assert_int_equal(elf_file_open(fd, "test", &f), 0);
	return f;
}

static void test_identity(void **state)
{
	static const uint8_t id[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	uint8_t got[ELF_BUILD_ID_MAX];
	struct elf_writer w;
	uint64_t start;

	ew_init(&w, ET_DYN);
	ew_build_id(&w, id, sizeof(id));
	ew_dyn_string(&w, DT_NEEDED, "libfoo.so.1");
	ew_dyn_string(&w, DT_SONAME, "libbar.so");
	ew_dyn_string(&w, DT_NEEDED, "libc.so.6");
	fd = ew_write(&w);
	f = open_elf(fd);
	assert_int_equal(elf_file_build_id(f, got), sizeof(id));
	assert_memory_equal(got, id, sizeof(id));
	assert_string_equal(elf_file_needed(f, 0), "libfoo.so.1");
	assert_string_equal(elf_file_needed(f, 1), "libc.so.6");
	assert_null(elf_file_needed(f, 2));
	assert_string_equal(elf_file_soname(f), "libbar.so");
	assert_true(elf_file_text_start(f, &start));
	assert_int_equal(start, EW_TEXT);
	assert_false(elf_file_is_exec(f));
	assert_false(elf_file_is_program(f));
	assert_int_equal(elf_file_machine(f), ELF_X86_64);
}

static void test_symbols(void **state)
{
	static const char *const names[] = {"absolute", "nothing", "defined", "undefined"};
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	struct elf_symbol sym[4];
	struct elf_writer w;

	ew_init(&w, ET_DYN);
	ew_symbol(&w, "undefined", 0x10, 1, SHN_UNDEF);
	/* SHN_ABS is the section that BOLT gives to _PyRuntime */
	ew_symbol(&w, "absolute", 0x2010, 2, SHN_ABS);
	ew_symbol(&w, "defined", 0x2020, 3, 1);
	fd = ew_write(&w);
	f = open_elf(fd);
	assert_int_equal(elf_file_find(f, names, sym, 4), 2);
	assert_int_equal(sym[0].value, 0x2010);
	assert_int_equal(sym[1].value, 0);
	assert_int_equal(sym[2].size, 3);
	assert_int_equal(sym[3].value, 0);
}

static void test_memory(void **state)
{
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	uint8_t buf[16] = {0};
	struct elf_writer w;
	uint64_t v, offset;

	ew_init(&w, ET_EXEC);
	ew_u64(&w, 0x1122334455667788);
	memset(w.data + sizeof(w.data) - 4, 0xaa, 4);
	fd = ew_write(&w);
	f = open_elf(fd);
	assert_true(elf_file_is_exec(f));
	assert_true(elf_file_read_u64(f, EW_DATA, &v));
	assert_true(v == 0x1122334455667788);
	/* Reads across the end of the bytes that are in the file: zeros follow. */
	assert_int_equal(elf_file_read(f, EW_ZERO - 4, buf, 8), 8);
	assert_memory_equal(buf, "\xaa\xaa\xaa\xaa\0\0\0\0", 8);
	/* Reads across the end of the segment in memory, and outside of the segment. */
	assert_int_equal(elf_file_read(f, EW_END - 4, buf, 8), 4);
	assert_int_equal(elf_file_read(f, EW_END, buf, 8), 0);
	assert_int_equal(elf_file_read(f, UINT64_MAX - 3, buf, 8), 0);
	assert_true(elf_file_offset(f, EW_DATA + 8, &offset));
	assert_int_equal(offset, EW_DATA + 8);
	assert_false(elf_file_offset(f, EW_ZERO, &offset));
}

static void test_relocations(void **state)
{
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	uint64_t relative, global, foreign, tls, plain, v;
	struct elf_reloc reloc;
	struct elf_writer w;
	size_t sym, undef;

	ew_init(&w, ET_DYN);
	relative = ew_u64(&w, 0);
	global = ew_u64(&w, 0);
	foreign = ew_u64(&w, 0);
	tls = ew_u64(&w, 0);
	plain = ew_u64(&w, 0x2345);
	sym = ew_symbol(&w, "here", 0x2100, 8, 1);
	undef = ew_symbol(&w, "there", 0, 0, SHN_UNDEF);
	/* the relocations aren't sorted by address */
	ew_rela(&w, tls, R_X86_64_DTPMOD64, 0, 0);
	ew_rela(&w, relative, R_X86_64_RELATIVE, 0, 0x2222);
	ew_rela(&w, foreign, R_X86_64_GLOB_DAT, undef, 0);
	ew_rela(&w, global, R_X86_64_GLOB_DAT, sym, 0);
	fd = ew_write(&w);
	f = open_elf(fd);
	assert_true(elf_file_pointer(f, relative, &v) && v == 0x2222);
	assert_true(elf_file_pointer(f, global, &v) && v == 0x2100);
	assert_false(elf_file_pointer(f, foreign, &v));
	assert_false(elf_file_pointer(f, tls, &v));
	assert_true(elf_file_pointer(f, plain, &v) && v == 0x2345);
	assert_true(elf_file_reloc(f, global, &reloc));
	assert_string_equal(reloc.symbol, "here");
	assert_true(elf_file_reloc(f, tls, &reloc));
	assert_int_equal(reloc.type, R_X86_64_DTPMOD64);
	assert_null(reloc.symbol);
	assert_false(elf_file_reloc(f, plain, &reloc));
}

static void test_not_elf(void **state)
{
	_cleanup_close_ int fd = memfd_create("text", MFD_CLOEXEC);
	_cleanup_close_ int other = -1;
	struct elf_file *f = NULL;
	struct elf_writer w;

	assert_int_equal(elf_file_open(fd, "empty", &f), -ENOEXEC);
	ew_put(fd, 0, "#!/bin/sh\n", 10);
	assert_int_equal(elf_file_open(fd, "script", &f), -ENOEXEC);
	assert_non_null(strstr(err_msg(), "script: not an ELF file"));
	ew_init(&w, ET_DYN);
	w.machine = EM_386;
	other = ew_write(&w);
	assert_int_equal(elf_file_open(other, "i386", &f), -ENOEXEC);
	assert_null(f);
}

/* Cuts a file off at every length. No reader may crash (ASan). */
static void test_truncated(void **state)
{
	static const char *const names[] = {"defined"};
	struct elf_writer w;

	for (off_t size = 0; size < 0x8200; size += 61) {
		_cleanup_elf_ struct elf_file *f = NULL;
		_cleanup_close_ int fd = -1;
		struct elf_symbol sym;
		struct elf_reloc reloc;
		uint8_t id[ELF_BUILD_ID_MAX];
		uint64_t v;

		ew_init(&w, ET_DYN);
		ew_symbol(&w, "defined", 0x2020, 3, 1);
		ew_rela(&w, 0x2000, R_X86_64_RELATIVE, 0, 0x2222);
		ew_dyn_string(&w, DT_NEEDED, "libfoo.so.1");
		fd = ew_write(&w);
		assert_int_equal(ftruncate(fd, size), 0);
		if (elf_file_open(fd, "cut", &f) < 0)
			continue;
		elf_file_find(f, names, &sym, 1);
		elf_file_reloc(f, 0x2000, &reloc);
		elf_file_needed(f, 0);
		elf_file_build_id(f, id);
		elf_file_read_u64(f, 0x2000, &v);
	}
}

#define AT_HEADER(i, field) (EW_AT_SH + (i) * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, field))
enum { SH_STR = 3, SH_DYN = 5 }; /* numbers of the sections that ew_headers() makes */

static void put_u64(int fd, off_t at, uint64_t v)
{
	ew_put(fd, at, &v, sizeof(v));
}

/*
 * A sparse file is large enough for the 2^32 section headers that it claims. It is refused before
 * the headers are counted.
 */
static void test_endless_headers(void **state)
{
	_cleanup_close_ int fd = -1;
	struct elf_file *f = NULL;
	struct elf_writer w;

	ew_init(&w, ET_DYN);
	fd = ew_write(&w);
	ew_put(fd, offsetof(Elf64_Ehdr, e_shnum), "\0\0", 2);
	put_u64(fd, AT_HEADER(0, sh_size), 1ull << 32);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	assert_int_equal(elf_file_open(fd, "endless", &f), -ENOEXEC);
}

/*
 * To find needed library number n, krait reads the dynamic entries from the first one on. So it
 * reads a limited number of them: library 1,000 is found, library 1,500 isn't.
 */
static void test_endless_needed(void **state)
{
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	struct elf_writer w;
	Elf64_Dyn dyn[2048];

	ew_init(&w, ET_DYN);
	ew_dyn_string(&w, DT_NEEDED, "libfoo.so.1");
	fd = ew_write(&w);
	for (size_t i = 0; i < ARRAY_SIZE(dyn); i++)
		dyn[i] = w.dyn[0];
	ew_put(fd, 0x20000, dyn, sizeof(dyn));
	put_u64(fd, AT_HEADER(SH_DYN, sh_offset), 0x20000);
	put_u64(fd, AT_HEADER(SH_DYN, sh_size), sizeof(dyn));
	f = open_elf(fd);
	assert_string_equal(elf_file_needed(f, 1000), "libfoo.so.1");
	assert_null(elf_file_needed(f, 1500));
}

/*
 * A string table doesn't end with a NUL, so krait would search all the rest of it for the end of a
 * name. No symbol is found in such a table.
 */
static void test_endless_names(void **state)
{
	static const char *const names[] = {"defined"};
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	struct elf_section section;
	struct elf_symbol sym;
	struct elf_writer w;

	ew_init(&w, ET_DYN);
	ew_symbol(&w, "defined", 0x2020, 3, 1);
	fd = ew_write(&w);
	f = open_elf(fd);
	assert_int_equal(elf_file_find(f, names, &sym, 1), 1);
	assert_true(elf_file_section(f, ".dynamic", &section));
	elf_file_free(TAKE_PTR(f));
	ew_put(fd, EW_AT_STR + (off_t)w.str_n - 1, "x", 1);
	f = open_elf(fd);
	assert_int_equal(elf_file_find(f, names, &sym, 1), 0);
	assert_false(elf_file_section(f, ".dynamic", &section));
}

/* Called for each symbol of the table: checks that a search for its name finds it. */
static int expect_exported(const char *name, const struct elf_symbol *sym, void *arg)
{
	const char *const names[] = {name};
	struct elf_symbol found = {};

	if (!*name || sym->bind == STB_LOCAL)
		return 0;
	if (elf_file_find_in(arg, true, names, &found, 1) != 1)
		fail_msg("%s isn't found", name);
	/* if a symbol has several versions, the search may find any of them */
	if (found.value != sym->value)
		return 0;
	assert_int_equal(found.type, sym->type);
	return 0;
}

static int check_library(struct dl_phdr_info *info, size_t n, void *arg)
{
	static const char *const missing[] = {"krait_no_such_function", "_krait_nor_this_one"};
	_cleanup_close_ int fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	_cleanup_elf_ struct elf_file *f = NULL;
	struct elf_symbol none[2] = {};

	if (fd < 0)
		return 0;
	f = open_elf(fd);
	if (!elf_hash_find(f, missing, none, ARRAY_SIZE(missing)))
		return 0;
	assert_int_equal(none[0].value | none[1].value, 0);
	assert_int_equal(elf_file_symbol_table(f, true, expect_exported, f), 0);
	++*(unsigned *)arg;
	return 0;
}

/* The search by .gnu.hash finds all symbols that this program's libraries export, and no others. */
static void test_exported(void **state)
{
	unsigned checked = 0;

	dl_iterate_phdr(check_library, &checked);
	assert_in_range(checked, 1, UINT_MAX);
}

/* A slice limits how much of a table is read. Without a slice, the whole table is read. */
static void test_slice(void **state)
{
	static const char *const names[] = {"defined"};
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	struct elf_symbol sym = {};
	struct elf_writer w;
	struct slice slice;

	ew_init(&w, ET_DYN);
	ew_symbol(&w, "defined", 0x2020, 3, 1);
	fd = ew_write(&w);
	f = open_elf(fd);
	slice_begin(&slice, 16);
	assert_int_equal(elf_file_find_in(f, true, names, &sym, 1), 0);
	slice_end(&slice);
	assert_true(slice.cut);
	slice_begin(&slice, 4096);
	assert_int_equal(elf_file_find_in(f, true, names, &sym, 1), 1);
	slice_end(&slice);
	assert_false(slice.cut);
}

/* The tables that relocations need are read once, however many relocations are looked up. */
static void test_slice_of_relocations(void **state)
{
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	struct elf_writer w;
	struct slice slice;
	uint64_t at, v;
	size_t sym;

	ew_init(&w, ET_DYN);
	at = ew_u64(&w, 0);
	sym = ew_symbol(&w, "here", 0x2100, 8, 1);
	ew_rela(&w, at, R_X86_64_GLOB_DAT, sym, 0);
	fd = ew_write(&w);
	f = open_elf(fd);
	/* allows 100,000 bytes; the file's tables have 300 bytes, with one relocation */
	slice_begin(&slice, 100000);
	for (int i = 0; i < 5000; i++)
		assert_true(elf_file_pointer(f, at, &v) && v == 0x2100);
	slice_end(&slice);
	assert_false(slice.cut);
}

/*
 * libelf keeps, for each note that it reads, all that it has read of the segment. So krait doesn't
 * read a segment with 2 MiB of notes.
 */
static void test_endless_notes(void **state)
{
	static const uint8_t id[] = {1, 2, 3, 4};
	_cleanup_close_ int fd = -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	uint8_t got[ELF_BUILD_ID_MAX];
	struct elf_writer w;

	ew_init(&w, ET_DYN);
	ew_build_id(&w, id, sizeof(id));
	fd = ew_write(&w);
	put_u64(fd, sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, p_filesz),
		2 << 20);
	assert_int_equal(ftruncate(fd, 4 << 20), 0);
	f = open_elf(fd);
	assert_int_equal(elf_file_build_id(f, got), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),	cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_memory),		cmocka_unit_test(test_relocations),
		cmocka_unit_test(test_not_elf),		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_endless_headers), cmocka_unit_test(test_endless_needed),
		cmocka_unit_test(test_endless_names),	cmocka_unit_test(test_exported),
		cmocka_unit_test(test_slice),		cmocka_unit_test(test_slice_of_relocations),
		cmocka_unit_test(test_endless_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
