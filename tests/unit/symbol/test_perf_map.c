/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Perf maps: text written by hand, random ranges compared with an array in which later ranges
 * overwrite earlier ones, and real files.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/text/str.h"
#include "expect_code.h"

static const char text[] = "7f0000001000 40 py::f:/srv/app.py\n"
			   "0x7f0000002000 0x10 with blanks  and \xff\xfe\n"
			   "garbage\n"
			   "\n"
			   "7f0000003000 0 empty\n"
			   "7f0000003000 10\n"
			   "7f0000003000 10 \n"
			   "ffffffffffffffff 10 wraps\n"
			   "11112222333344445 10 too many digits\n"
			   "7f0000001010 8 later\n"
			   "7F0000001030 20 reaches further\n"
			   "7f0000004000 10 not whole yet";

static void expect_text(const struct perf_map *m)
{
	expect(m, 0x7f0000000fff, NULL, 0);
	expect(m, 0x7f0000001000, "py::f:/srv/app.py", 0x7f0000001000);
	expect(m, 0x7f0000001010, "later", 0x7f0000001010);
	expect(m, 0x7f0000001018, "py::f:/srv/app.py", 0x7f0000001000);
	expect(m, 0x7f0000001030, "reaches further", 0x7f0000001030);
	expect(m, 0x7f000000104f, "reaches further", 0x7f0000001030);
	expect(m, 0x7f0000001050, NULL, 0);
	expect(m, 0x7f000000200f, "with blanks  and \xff\xfe", 0x7f0000002000);
	expect(m, 0x7f0000003000, NULL, 0);
	expect(m, UINT64_MAX, NULL, 0);
	expect(m, 0x7f0000004000, NULL, 0);
	assert_int_equal(perf_map_stats(m).malformed, 7);
	assert_int_equal(perf_map_stats(m).dropped, 0);
}

/*
 * Reads a text in two pieces, for each place where it can be cut. Each time, at last reads the end
 * of the text's last line.
 */
static void test_text(void **state)
{
	for (size_t cut = 0; cut <= strlen(text); cut++) {
		struct perf_map *m = perf_map_new();

		assert_int_equal(perf_map_feed(m, text, cut), 0);
		assert_int_equal(perf_map_feed(m, text + cut, strlen(text) - cut), 0);
		expect_text(m);
		assert_int_equal(perf_map_feed(m, "\n", 1), 0);
		expect(m, 0x7f0000004008, "not whole yet", 0x7f0000004000);
		perf_map_free(m);
	}
	perf_map_free(NULL);
}

static void test_long_name(void **state)
{
	struct perf_map *m = perf_map_new();
	_cleanup_free_ char *name = malloc(3 * PERF_MAP_NAME_BYTES);

	memset(name, 'x', 3 * PERF_MAP_NAME_BYTES);
	for (int i = 0; i < 2; i++) { /* two entries whose names come in pieces */
		assert_int_equal(perf_map_feed(m, i ? "1000 8 " : "2000 8 ", 7), 0);
		for (int k = 0; k < 3; k++)
			assert_int_equal(perf_map_feed(m, name, PERF_MAP_NAME_BYTES), 0);
		assert_int_equal(perf_map_feed(m, "\n3000 8 next\n", 13), 0);
	}
	assert_int_equal(strlen(perf_map_find(m, 0x1000, NULL)), PERF_MAP_NAME_BYTES);
	assert_int_equal(strlen(perf_map_find(m, 0x2000, NULL)), PERF_MAP_NAME_BYTES);
	expect(m, 0x3000, "next", 0x3000);
	perf_map_free(m);
}

#define SPACE 2000

/* Adds ranges one at a time, or up to twenty-five at once. */
static void test_painting(void **state)
{
	_cleanup_str_ struct str lines = {};
	uint16_t owner[SPACE + 200] = {0}, first[2000];
	struct perf_map *m = perf_map_new();

	srand(1);
	for (uint16_t i = 1; i < ARRAY_SIZE(first); i++) {
		unsigned start = (unsigned)rand() % SPACE, size = 1 + (unsigned)rand() % 40;

		str_addf(&lines, "%x %x n%u\n", start, size, i);
		first[i] = (uint16_t)start;
		for (unsigned k = start; k < start + size; k++)
			owner[k] = i;
		if (i % 100 < 50 && i % 25)
			continue;
		assert_int_equal(perf_map_feed(m, lines.s, lines.n), 0);
		str_clear(&lines);
		for (unsigned k = i % 50 ? SPACE : 0; k < ARRAY_SIZE(owner); k++) {
			char name[16];

			snprintf(name, sizeof(name), "n%u", owner[k]);
			expect(m, k, owner[k] ? name : NULL, first[owner[k]]);
		}
	}
	perf_map_free(m);
}

/* More than a million entries have the same address. Only the last one counts. */
static void test_many(void **state)
{
	struct perf_map *m = perf_map_new();
	_cleanup_str_ struct str s = {};

	for (int i = 0; i < 100000; i++)
		str_addf(&s, "1000 10 name%d\n", i);
	for (int i = 0; i < 12; i++)
		assert_int_equal(perf_map_feed(m, s.s, s.n), 0);
	assert_int_equal(perf_map_stats(m).entries, 1);
	assert_int_equal(perf_map_stats(m).dropped, 0);
	expect(m, 0x1008, "name99999", 0x1000);
	perf_map_free(m);
}

static void append(const char *path, const char *s, const char *mode)
{
	FILE *f = fopen(path, mode);

	assert_non_null(f);
	fputs(s, f);
	fclose(f);
}

static void test_file(void **state)
{
	const struct timespec long_ago[2] = {{1}, {1}};
	_cleanup_proc_ struct proc self = PROC_INIT;
	struct perf_map *m = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	assert_int_equal(proc_open(&self, getpid()), 0);
	assert_int_equal(perf_map_open(&self, 0, &m), -ENOENT);
	append(path, "1000 10 one\n20", "w");
	/* the file is so old that an earlier process with the same pid wrote it */
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	assert_int_equal(perf_map_open(&self, 0, &m), -ENOENT);
	assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
	/* the file was last written before the process's last exec */
	assert_int_equal(perf_map_open(&self, clock_ns(CLOCK_MONOTONIC) + NSEC_PER_SEC, &m),
			 -ENOENT);
	assert_int_equal(perf_map_open(&self, clock_ns(CLOCK_MONOTONIC) - NSEC_PER_SEC, &m), 0);
	expect(m, 0x1000, "one", 0x1000);
	append(path, "00 10 two\n", "a");
	expect(m, 0x2000, NULL, 0);
	assert_int_equal(perf_map_refresh(m), 0);
	expect(m, 0x2000, "two", 0x2000);
	expect(m, 0x1000, "one", 0x1000);
	append(path, "3000 10 new\n", "w"); /* the process wrote its map from the beginning again */
	assert_int_equal(perf_map_refresh(m), 0);
	expect(m, 0x3000, "new", 0x3000);
	expect(m, 0x1000, NULL, 0);
	unlink(path); /* the map's file is gone, but krait has it open */
	assert_int_equal(perf_map_refresh(m), 0);
	expect(m, 0x3000, "new", 0x3000);
	perf_map_free(m);
}

/*
 * The map is full, so krait must make room again and again for the lines of this file. Each refresh
 * makes room once, so the last line is read only after several refreshes.
 */
static void test_rests(void **state)
{
	_cleanup_proc_ struct proc self = PROC_INIT;
	struct perf_map *m = NULL;
	char path[64];
	int more = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	assert_non_null(f);
	for (unsigned i = 0; i < PERF_MAP_ENTRIES_MAX / 8 * 5; i++)
		fprintf(f, "%x 1 a\n", 0x2000 + 2 * i);
	for (unsigned i = 0; i < PERF_MAP_ENTRIES_MAX; i++)
		fputs("1 1 b\n", f);
	fputs("10 1 last\n", f);
	fclose(f);
	assert_int_equal(proc_open(&self, getpid()), 0);
	assert_int_equal(perf_map_open(&self, 0, &m), 0);
	unlink(path);
	for (; !perf_map_find(m, 0x10, NULL) && more < 9; more++)
		assert_int_equal(perf_map_refresh(m), 0);
	assert_in_range(more, 2, 3);
	expect(m, 0x10, "last", 0x10);
	expect(m, 1, "b", 1);
	assert_int_equal(perf_map_stats(m).dropped, 0);
	assert_in_range(perf_map_bytes(m), PERF_MAP_ENTRIES_MAX, PERF_MAP_NAMES_MAX);
	perf_map_free(m);
}

static void test_refused(void **state)
{
	_cleanup_proc_ struct proc self = PROC_INIT;
	struct perf_map *m = NULL;
	char path[64], dump[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	assert_int_equal(proc_open(&self, getpid()), 0);
	assert_int_equal(mkfifo(path, 0600), 0); /* opening a FIFO for reading would block */
	assert_int_equal(perf_map_open(&self, 0, &m), -EINVAL);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(perf_map_open(&self, 0, &m), -EINVAL);
	rmdir(path);
	/*
	 * The file belongs to another user: to root, by a link, or to some user if this test runs
	 * as root.
	 */
	if (geteuid()) {
		assert_int_equal(symlink("/etc/passwd", path), 0);
	} else {
		append(path, "1000 10 one\n", "w");
		assert_int_equal(chown(path, 1, 1), 0);
	}
	assert_int_equal(perf_map_open(&self, 0, &m), -EACCES);
	assert_non_null(strstr(err_msg(), "belongs to user"));
	unlink(path);
	assert_null(m);
	if (geteuid())
		return;
	/* if one of the two files is another user's, krait still reads the other one */
	snprintf(dump, sizeof(dump), "/tmp/jit-%d.dump", (int)getpid());
	append(path, "1000 10 one\nnonsense\n", "w");
	append(dump, "x", "w");
	assert_int_equal(chown(dump, 1, 1), 0);
	assert_int_equal(perf_map_open(&self, 0, &m), 0);
	assert_string_equal(perf_map_find(m, 0x1000, NULL), "one");
	assert_int_equal(perf_map_stats(m).malformed, 1);
	perf_map_free(m);
	unlink(dump);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	 cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_painting), cmocka_unit_test(test_many),
		cmocka_unit_test(test_file),	 cmocka_unit_test(test_rests),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
