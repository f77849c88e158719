/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call frame information in ELF files: where it is, the forms of CIEs and FDEs, and which functions
 * get unwind rows. Broken files are refused or do no harm.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <zlib.h>
#include <cmocka.h>

#include "base/error.h"
#include "cfi_writer.h"

#define DEF_CFA "\x0c\x07\x08\x90\x01" /* CFA = rsp+8, rip at CFA-8 */
#define PUSH	"\x41\x0e\x10"

/* Returns the offset if the rule at @vaddr has CFA = rsp + offset, else 0. */
static int cfa_at(const struct unwind_rows *rows, uint64_t vaddr)
{
	const struct unwind_rule *rule = unwind_rows_find(rows, vaddr);

	return rule && rule->cfa == UNWIND_REG && rule->reg == 7 && rule->ra == -1 ? rule->off : 0;
}

/* Checks the unwind rows of a function of 16 bytes that begins with a push. */
static void check_function(const struct unwind_rows *rows, uint64_t start)
{
	const struct unwind_fde *fde = unwind_rows_fde(rows, start);

	assert_int_equal(cfa_at(rows, start), 8);
	assert_int_equal(cfa_at(rows, start + 1), 16);
	assert_int_equal(cfa_at(rows, start + 15), 16);
	assert_non_null(fde);
	assert_int_equal(rows->base + fde->start, start);
	assert_int_equal(fde->end - fde->start, 16);
	assert_ptr_equal(unwind_rows_fde(rows, start + 15), fde);
}

static void test_functions(void **state)
{
	static const uint32_t order[] = {0x1400, 0x1100, 0x1200, 0x1110};
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	struct cfi_writer w = {};

	cw_usual(&w);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		cw_fde(&w, order[i], 16, PUSH, 3);
	cw_put(&w, 0, 4); /* a terminator in the middle, as in files that were joined */
	cw_usual(&w);
	cw_fde(&w, 0x1ff0, 16, PUSH, 3);
	assert_int_equal(cw_compile(&w, &rows), 0);
	assert_int_equal(rows.bad, 0);
	assert_string_equal(rows.why, "");
	assert_int_equal(rows.fdes.n, 5);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		check_function(&rows, order[i]);
	check_function(&rows, 0x1ff0);
	/* no rule holds before, between and after the functions */
	assert_int_equal(unwind_rows_find(&rows, 0x1120)->cfa, UNWIND_UNKNOWN);
	assert_int_equal(unwind_rows_find(&rows, 0x13ff)->cfa, UNWIND_UNKNOWN);
	assert_int_equal(unwind_rows_find(&rows, 0x2000)->cfa, UNWIND_UNKNOWN);
	assert_int_equal(unwind_rows_find(&rows, 0x1000)->cfa, UNWIND_UNKNOWN);
	assert_null(unwind_rows_find(&rows, 0xfff));
	assert_null(unwind_rows_fde(&rows, 0x10ff));
	assert_null(unwind_rows_fde(&rows, 0x1120));
	assert_null(unwind_rows_fde(&rows, 0x2000));
	assert_null(unwind_rows_fde(&rows, 0xfff));
	/*
	 * two unwind rows for each of 5 functions, 4 rows without a rule where there is a gap
	 * before a function, and one at the end
	 */
	assert_int_equal(rows.rows.n, 5 * 2 + 4 + 1);
	assert_int_equal(rows.rules.n, 3);
}

static void one_left_out(struct cfi_writer *w, const char *why)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};

	assert_int_equal(cw_compile(w, &rows), 0);
	assert_int_equal(rows.bad, 1);
	assert_non_null(strstr(rows.why, why));
	check_function(&rows, 0x1100);
	assert_int_equal(rows.fdes.n, 1);
}

static void test_left_out(void **state)
{
	static const struct {
		uint32_t start, n;
		const char *why;
	} cases[] = {
		{0x1108, 16, "overlaps"},	    {0x1100, 8, "overlaps"},
		{0x1100, 32, "overlaps"},	    {0x1200, 0, "empty"},
		{0, 16, "not in executable"},	    {0x1ff8, 16, "not in executable"},
		{0x2000, 16, "not in executable"},  {0x1200, 0x80000000, "not in executable"},
		{0x1200, 0x7fffffff, "executable"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_writer w = {};

		cw_usual(&w);
		cw_fde(&w, 0x1100, 16, PUSH, 3);
		cw_fde(&w, cases[i].start, cases[i].n, PUSH, 3);
		one_left_out(&w, cases[i].why);
	}
}

static void test_encodings(void **state)
{
	static const uint8_t good[] = {0x00, 0x02, 0x03, 0x04, 0x0a, 0x0b,
				       0x0c, 0x10, 0x1a, 0x1b, 0x1c},
			     bad[] = {0x20, 0x30, 0x40, 0x50, 0x80, 0x9b, 0xff, 0x05, 0x0d};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_unwind_rows_ struct unwind_rows rows = {};
		struct cfi_writer w = {.enc = good[i]};

		cw_cie(&w, 1, "zR", 16, &w.enc, 1, DEF_CFA, 5);
		cw_fde(&w, 0x1100, 16, PUSH, 3);
		assert_int_equal(cw_compile(&w, &rows), 0);
		assert_int_equal(rows.bad, 0);
		check_function(&rows, 0x1100);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct cfi_writer w = {};

		cw_usual(&w);
		cw_fde(&w, 0x1100, 16, PUSH, 3);
		cw_cie(&w, 1, "zR", 16, &bad[i], 1, DEF_CFA, 5);
		cw_fde(&w, 0x1200, 16, PUSH, 3);
		one_left_out(&w, "encoding");
	}
}

static void test_augmentations(void **state)
{
	static const struct {
		const char *letters, *data;
		size_t n;
		const char *why; /* why krait refuses the CIE; NULL: it accepts it */
	} cases[] = {
		/* augmentations as C++ compilers write them */
		{"zPLR", "\x9b\1\2\3\4\x1b\x1b", 7, NULL},
		{"zPLR", "\x00\1\2\3\4\5\6\7\x08\x1b\x1b", 11, NULL},
		{"zRB", "\x1b", 1, NULL},
		{"zR", "\x1b\0\0", 3, NULL},
		{"zRP", "\x1b\xff", 2, NULL},
		{"zPR", "\x50\0\x1b", 3, "personality"},
		{"zRX", "\x1b", 1, "augmentation"},
		{"eh", "\0\0\0\0\0\0\0\0", 8, "augmentation"},
		{"zPLR", "\x9b\1\2\3\4", 5, "too short"},
		{"zR", "", 0, "too short"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_unwind_rows_ struct unwind_rows rows = {};
		struct cfi_writer w = {};

		if (cases[i].why) {
			cw_usual(&w);
			cw_fde(&w, 0x1100, 16, PUSH, 3);
		}
		w.enc = 0x1b;
		cw_cie(&w, 1, cases[i].letters, 16, cases[i].data, cases[i].n, DEF_CFA, 5);
		cw_fde(&w, cases[i].why ? 0x1200 : 0x1100, 16, PUSH, 3);
		if (cases[i].why) {
			one_left_out(&w, cases[i].why);
			continue;
		}
		assert_int_equal(cw_compile(&w, &rows), 0);
		assert_int_equal(rows.bad, 0);
		check_function(&rows, 0x1100);
	}
}

static void test_broken_cies(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		const char *why;
	} cases[] = {
		{8, 2, "version"},     {8, 5, "version"},	   {12, 0, "alignment"},
		{12, 99, "alignment"}, {13, 0, "alignment"},	   {14, 8, "return address"},
		{17, 0x41, "CIE"},     {17, 0x17, "unknown call"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_writer w = {};
		size_t second;

		cw_usual(&w);
		cw_fde(&w, 0x1100, 16, PUSH, 3);
		second = w.n;
		cw_usual(&w);
		w.bytes[second + cases[i].at] = cases[i].byte;
		cw_fde(&w, 0x1200, 16, PUSH, 3);
		one_left_out(&w, cases[i].why);
	}
}

/*
 * A very long CIE isn't read, because a hostile file could have many overlapping CIEs, each as long
 * as the section.
 */
static void test_long_cie(void **state)
{
	static const uint8_t nops[1024];
	struct cfi_writer w = {};

	cw_usual(&w);
	cw_fde(&w, 0x1100, 16, PUSH, 3);
	cw_cie(&w, 1, "zR", 16, &w.enc, 1, nops, sizeof(nops));
	cw_fde(&w, 0x1200, 16, PUSH, 3);
	one_left_out(&w, "absurdly long");
}

static void test_broken_entries(void **state)
{
	static const struct {
		uint32_t at, value;
		const char *why;
	} cases[] = {
		{4, 0x7fffffff, "no CIE"},
		{4, 8, "no CIE"},
		{4, 0x10, "no CIE"},
		{0, 0x7fffffff, "longer than the section"},
		{0, 0xffffffff, "longer than"},
		{0, 0x400, "longer than the section"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_writer w = {};
		size_t second;

		cw_usual(&w);
		cw_fde(&w, 0x1100, 16, PUSH, 3);
		second = cw_fde(&w, 0x1200, 16, PUSH, 3);
		memcpy(w.bytes + second + cases[i].at, &cases[i].value, 4);
		one_left_out(&w, cases[i].why);
	}
}

static void test_debug_frame(void **state)
{
	for (int version = 1; version <= 4; version++) {
		_cleanup_unwind_rows_ struct unwind_rows rows = {};
		struct cfi_writer w = {.debug = true};

		if (version == 2)
			continue;
		cw_cie(&w, version, "", 16, "", 0, DEF_CFA, 5);
		cw_fde(&w, 0x1100, 16, PUSH, 3);
		assert_int_equal(cw_compile(&w, &rows), 0);
		assert_int_equal(rows.bad, 0);
		check_function(&rows, 0x1100);
	}
}

static void test_compressed(void **state)
{
	struct {
		Elf64_Chdr h;
		uint8_t bytes[256];
	} packed = {{.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1}, {0}};
	uLongf n = sizeof(packed.bytes);
	struct cfi_writer w = {.debug = true};

	cw_cie(&w, 4, "", 16, "", 0, DEF_CFA, 5);
	cw_fde(&w, 0x1100, 16, PUSH, 3);
	packed.h.ch_size = w.n;
	assert_int_equal(compress(packed.bytes, &n, w.bytes, w.n), Z_OK);
	for (int i = 0; i < 3; i++) {
		_cleanup_unwind_rows_ struct unwind_rows rows = {};
		_cleanup_close_ int fd = -1;
		struct elf_writer ew;

		if (i == 1)
			packed.bytes[4] ^= 0x55;
		if (i == 2)
			packed.h.ch_size = 1ull << 40;
		ew_init(&ew, ET_DYN);
		memcpy(w.bytes, &packed, w.n = sizeof(packed.h) + n);
		cw_place(&w, &ew);
		ew.named_sh.sh_flags = SHF_COMPRESSED;
		fd = ew_write(&ew);
		assert_int_equal(cw_read(fd, &rows), i == 0 ? 0 : i == 1 ? -EBADMSG : -EFBIG);
		if (!i)
			check_function(&rows, 0x1100);
	}
}

/*
 * The file has no section headers: .eh_frame_hdr leads to .eh_frame, which ends with a terminator.
 */
static void test_no_sections(void **state)
{
	for (int i = 0; i < 3; i++) {
		_cleanup_unwind_rows_ struct unwind_rows rows = {};
		struct cfi_writer w = {};
		struct elf_writer ew;
		_cleanup_close_ int fd = -1;

		ew_init(&ew, ET_DYN);
		cw_usual(&w);
		cw_fde(&w, 0x1100, 16, PUSH, 3);
		cw_put(&w, 0, 4);
		cw_usual(&w); /* writes an FDE instead of the terminator */
		cw_fde(&w, 0x1200, 16, PUSH, 3);
		ew.no_sections = true;
		ew.eh_frame_hdr = EW_DATA + 0xf00;
		/* .eh_frame_hdr: version, encodings (pc-relative sdata4), pointer. */
		memcpy(ew.data + 0xf00, "\x01\x1b\x03\x3b\xfc\xf0\xff\xff", 8);
		if (i == 1)
			ew.data[0xf00] = 2;
		if (i == 2)
			ew.data[0xf07] = 0x7f;
		cw_place(&w, &ew);
		fd = ew_write(&ew);
		assert_int_equal(cw_read(fd, &rows), i == 1 ? -EBADMSG : 0);
		assert_int_equal(rows.fdes.n, i == 0);
		if (!i)
			check_function(&rows, 0x1100);
	}
}

static void test_section_lies(void **state)
{
	static const struct {
		uint64_t vaddr, size;
		uint32_t type;
		int r;
	} cases[] = {
		{CW_AT, 0, SHT_PROGBITS, 0},
		{CW_AT, 4, SHT_PROGBITS, 0},
		{CW_AT, 64, SHT_NOBITS, 0},
		/* the section is longer than its segment in the file */
		{CW_AT, 0x1001, SHT_PROGBITS, -EBADMSG},
		{CW_AT, 1ull << 40, SHT_PROGBITS, -EFBIG},
		{0x100000, 64, SHT_PROGBITS, -EBADMSG},
		{UINT64_MAX - 3, 64, SHT_PROGBITS, -EBADMSG},
		{0x1ff0, 64, SHT_PROGBITS, -EBADMSG}, /* the section is in two segments */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_unwind_rows_ struct unwind_rows rows = {};
		_cleanup_close_ int fd = -1;
		struct cfi_writer w = {};
		struct elf_writer ew;

		ew_init(&ew, ET_DYN);
		cw_usual(&w);
		cw_fde(&w, 0x1100, 16, PUSH, 3);
		cw_place(&w, &ew);
		ew.named_sh.sh_addr = cases[i].vaddr;
		ew.named_sh.sh_size = cases[i].size;
		ew.named_sh.sh_type = cases[i].type;
		fd = ew_write(&ew);
		assert_int_equal(cw_read(fd, &rows), cases[i].r);
		assert_int_equal(rows.rows.n, 0);
		assert_null(unwind_rows_find(&rows, 0x1100));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),    cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_encodings),    cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_broken_cies),  cmocka_unit_test(test_broken_entries),
		cmocka_unit_test(test_long_cie),     cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_compressed),   cmocka_unit_test(test_no_sections),
		cmocka_unit_test(test_section_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
