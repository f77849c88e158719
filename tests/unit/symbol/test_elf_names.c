/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of addresses in ELF files. The right names are known from files made by hand, from this
 * program's own functions, and from readelf's list of a library's symbols, searched in the simplest
 * way.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/vec.h"
#include "elf_writer.h"
#include "symbol/elf/elf_names.h"

static void add(struct elf_writer *w, const char *name, uint64_t at, uint64_t size, int bind,
		int type)
{
	w->sym[ew_symbol(w, name, at, size, 1)].st_info = (uint8_t)ELF64_ST_INFO(bind, type);
}

static struct elf_names *open_writer(struct elf_writer *w)
{
	_cleanup_close_ int fd = ew_write(w);
	struct elf_names *n = NULL;

	assert_int_equal(elf_names_open(fd, "test", -1, &n), 0);
	return n;
}

static void expect(const struct elf_names *n, uint64_t at, const char *name)
{
	struct elf_name got = {};

	if (!name) {
		assert_false(elf_names_find(n, at, NULL, &got));
		return;
	}
	assert_true(elf_names_find(n, at, NULL, &got));
	assert_string_equal(got.name, name);
	assert_true(got.start <= at && (at - got.start < got.size || at == got.start));
}

static void test_cover(void **state)
{
	struct elf_writer w;
	struct elf_names *n;

	ew_init(&w, ET_DYN);
	add(&w, "second", 0x1200, 0x10, STB_GLOBAL, STT_FUNC);
	add(&w, "first", 0x1100, 0x40, STB_LOCAL, STT_FUNC);
	add(&w, "inner", 0x1110, 0x08, STB_LOCAL, STT_FUNC);
	add(&w, "resolver", 0x1300, 0x08, STB_GLOBAL, STT_GNU_IFUNC);
	add(&w, "overlaps", 0x1138, 0x10, STB_GLOBAL, STT_FUNC);
	/* not a function's address: no executable segment contains it */
	add(&w, "variable", 0x2100, 0x40, STB_GLOBAL, STT_FUNC);
	add(&w, "table", 0x1400, 0x40, STB_GLOBAL, STT_OBJECT);
	add(&w, "", 0x1500, 0x40, STB_GLOBAL, STT_FUNC);
	n = open_writer(&w);
	assert_int_equal(elf_names_count(n), 5);
	expect(n, 0x10ff, NULL);
	expect(n, 0x1100, "first");
	expect(n, 0x1110, "inner");
	expect(n, 0x1117, "inner");
	expect(n, 0x1118, "first"); /* the first byte after the symbol "inner" */
	expect(n, 0x1138, "overlaps");
	expect(n, 0x1147, "overlaps");
	expect(n, 0x1148, NULL); /* in a gap that no symbol covers */
	expect(n, 0x11ff, NULL);
	expect(n, 0x120f, "second");
	expect(n, 0x1210, NULL);
	expect(n, 0x1304, "resolver");
	expect(n, 0x1404, NULL);
	expect(n, 0x1504, NULL);
	expect(n, 0x2104, NULL);
	expect(n, UINT64_MAX, NULL);
	assert_true(elf_names_bytes(n) < 1024);
	elf_names_free(n);
}

static void test_aliases(void **state)
{
	struct elf_writer w;
	struct elf_names *n;

	ew_init(&w, ET_DYN);
	add(&w, "weak", 0x1100, 8, STB_WEAK, STT_FUNC);
	add(&w, "__global", 0x1100, 8, STB_GLOBAL, STT_FUNC);
	add(&w, "local", 0x1100, 8, STB_LOCAL, STT_FUNC);
	add(&w, "plain", 0x1100, 8, STB_GLOBAL, STT_NOTYPE);
	add(&w, "x", 0x1100, 0, STB_GLOBAL, STT_FUNC);
	add(&w, "_two", 0x1200, 8, STB_GLOBAL, STT_FUNC);
	add(&w, "longest", 0x1200, 8, STB_GLOBAL, STT_FUNC);
	add(&w, "longer", 0x1200, 8, STB_GLOBAL, STT_FUNC);
	add(&w, "longeq", 0x1200, 8, STB_GLOBAL, STT_FUNC);
	/* of two symbols at one address, the shorter one is better */
	add(&w, "whole", 0x1300, 0x40, STB_LOCAL, STT_FUNC);
	add(&w, "head", 0x1300, 0x10, STB_GLOBAL, STT_FUNC);
	n = open_writer(&w);
	expect(n, 0x1104, "__global");
	expect(n, 0x1204, "longeq");
	expect(n, 0x130f, "head");
	expect(n, 0x1310, "whole");
	elf_names_free(n);
}

static void test_without_size(void **state)
{
	const struct elf_range function = {0x1100, 0x1180}, late = {0x1110, 0x1180};
	struct elf_name got;
	struct elf_writer w;
	struct elf_names *n;

	ew_init(&w, ET_DYN);
	w.machine = EM_AARCH64;
	add(&w, "label", 0x1100, 0, STB_GLOBAL, STT_NOTYPE);
	add(&w, "$x", 0x1140, 0, STB_LOCAL, STT_NOTYPE);
	add(&w, "$d.17", 0x1144, 0, STB_LOCAL, STT_NOTYPE);
	/* a function that really is called $x, unlike AArch64's mapping symbols of that name */
	add(&w, "$x", 0x1200, 8, STB_LOCAL, STT_FUNC);
	add(&w, "next", 0x1160, 4, STB_GLOBAL, STT_FUNC);
	n = open_writer(&w);
	assert_int_equal(elf_names_count(n), 3);
	expect(n, 0x1100, "label");
	expect(n, 0x1104, NULL);
	assert_true(elf_names_find(n, 0x1150, &function, &got));
	assert_string_equal(got.name, "label");
	assert_int_equal(got.size, 0);
	/* the label is before this function */
	assert_false(elf_names_find(n, 0x1150, &late, &got));
	/* "next" lies between the label and the address */
	assert_false(elf_names_find(n, 0x1164, &function, &got));
	assert_false(elf_names_find(n, 0x1180, &function, &got));
	expect(n, 0x1204, "$x");
	elf_names_free(n);
}

/*
 * hostile files: symbols nested 60 deep, a name outside of the string table, a huge size, no
 * symbols
 */
static void test_hostile(void **state)
{
	struct elf_writer w;
	struct elf_names *n;

	ew_init(&w, ET_DYN);
	for (uint64_t i = 0; i < 60; i++)
		add(&w, "n", 0x1000 + i, 0x800 - 2 * i, STB_GLOBAL, STT_FUNC);
	w.sym[3].st_name = UINT32_MAX;
	w.sym[4].st_size = UINT64_MAX;
	n = open_writer(&w);
	expect(n, 0x1000 + 59, "n");
	expect(n, 0x1000 + 0x7ff, "n");
	elf_names_free(n);
	ew_init(&w, ET_DYN);
	n = open_writer(&w);
	assert_int_equal(elf_names_count(n), 0);
	expect(n, 0x1000, NULL);
	elf_names_free(n);
	elf_names_free(NULL);
}

static struct elf_names *open_path(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_names *n = NULL;

	if (fd >= 0)
		assert_int_equal(elf_names_open(fd, path, -1, &n), 0);
	return n;
}

static int first_bias(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1;
}

static void test_own_functions(void **state)
{
	struct elf_names *n = open_path("/proc/self/exe");
	uint64_t bias = 0;

	assert_non_null(n);
	dl_iterate_phdr(first_bias, &bias);
	expect(n, (uint64_t)test_own_functions - bias, "test_own_functions");
	expect(n, (uint64_t)test_own_functions - bias + 1, "test_own_functions");
	expect(n, (uint64_t)first_bias - bias, "first_bias");
	expect(n, (uint64_t)elf_names_open - bias, "elf_names_open");
	elf_names_free(n);
}

struct listed {
	uint64_t start, size;
	char name[256];
};
typedef VEC(struct listed) listed_vec;

/* Reads lines of readelf like " 12: 0000000000028ac0 38 FUNC GLOBAL DEFAULT 15 name@@V". */
static void read_list(const char *path, listed_vec *ret)
{
	_cleanup_free_ char *command = NULL;
	char line[4096], type[32], index[32];
	FILE *f;

	assert_true(asprintf(&command, "readelf -sW '%s' 2>/dev/null", path) > 0);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f)) {
		struct listed e;
		unsigned long long start;
		char size[32];

		if (sscanf(line, " %*d: %llx %31s %31s %*s %*s %31s %255[^@ \n]", &start, size,
			   type, index, e.name) != 5 ||
		    streq(index, "UND") || (!streq(type, "FUNC") && !streq(type, "IFUNC")))
			continue;
		e.start = start;
		/* strtoull() with base 0, because readelf prints large sizes in hexadecimal */
		e.size = strtoull(size, NULL, 0);
		assert_int_equal(vec_push(ret, e), 0);
	}
	if (f)
		pclose(f);
}

/*
 * Returns the innermost function that covers @at, or NULL. @right: whether @name is one of that
 * function's names.
 */
static const struct listed *look(const listed_vec *list, uint64_t at, const char *name, bool *right)
{
	const struct listed *best = NULL;

	*right = false;
	vec_foreach(e, list)
		if (at - e->start < e->size && (!best || e->start > best->start))
			best = e;
	vec_foreach(e, list)
		if (best && name && e->start == best->start && at - e->start < e->size &&
		    !strncmp(e->name, name, strcspn(name, "@")))
			*right = true;
	return best;
}

/*
 * Compares the names at the first, middle and last byte of every function, and at the byte after
 * it.
 */
static void compare(const struct elf_names *n, const listed_vec *list)
{
	vec_foreach(e, list) {
		const uint64_t at[] = {e->start, e->start + e->size / 2,
				       e->start + e->size - !!e->size, e->start + e->size};

		for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
			struct elf_name got = {};
			bool found = elf_names_find(n, at[i], NULL, &got), right;
			const struct listed *truth = look(list, at[i], got.name, &right);

			assert_true(!truth || (found && right));
			assert_true(truth || !found || got.start == at[i]);
		}
	}
}

static void test_against_readelf(void **state)
{
	char self[4096] = "";
	const char *const paths[] = {self, "/lib/x86_64-linux-gnu/libc.so.6",
				     "/lib/aarch64-linux-gnu/libc.so.6"};
	size_t files = 0;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct elf_names *n = open_path(paths[i]);
		listed_vec list = {};

		read_list(paths[i], &list);
		/*
		 * compares only if no debug file is installed, which would give more names than
		 * readelf sees
		 */
		if (n && list.n && elf_names_count(n) <= list.n + 100) {
			compare(n, &list);
			files++;
		}
		vec_fini(&list);
		elf_names_free(n);
	}
	if (!files)
		print_message("SKIP elf-names-readelf: no readelf\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cover),	      cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_without_size),  cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_own_functions), cmocka_unit_test(test_against_readelf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
