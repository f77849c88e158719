/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jitdump files whose records were written by hand, following the specification, and are cut off
 * anywhere. tests/live/perf_maps.py tests files that CPython's -X perf_jit writes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/text/str.h"
#include "expect_code.h"

static void u32(struct str *s, uint32_t v)
{
	str_add_n(s, &v, sizeof(v));
}

static void u64(struct str *s, uint64_t v)
{
	str_add_n(s, &v, sizeof(v));
}

static void header(struct str *s, uint32_t magic, uint32_t version)
{
	u32(s, magic);
	u32(s, version);
	u32(s, 40 + 8); /* the header may be longer in a later version of the format */
	for (int i = 0; i < 3; i++)
		u32(s, 62);
	u64(s, 1);
	u64(s, 0);
	u64(s, 0x1111);
}

static void head(struct str *s, uint32_t id, size_t body)
{
	u32(s, id);
	u32(s, (uint32_t)(16 + body));
	u64(s, 7);
}

static void load(struct str *s, uint64_t at, uint64_t size, uint64_t index, const char *name)
{
	head(s, 0, 40 + strlen(name) + 1 + size);
	u32(s, 1);
	u32(s, 1);
	u64(s, 0xdead);
	u64(s, at);
	u64(s, size);
	u64(s, index);
	str_add_n(s, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		str_add_c(s, (char)0xcc);
}

static void move(struct str *s, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	head(s, 1, 48);
	u32(s, 1);
	u32(s, 1);
	u64(s, 0xdead);
	u64(s, from);
	u64(s, to);
	u64(s, size);
	u64(s, index);
}

static void sample(struct str *s)
{
	header(s, 0x4a695444, 1);
	load(s, 0x1000, 0x40, 1, "py::f:/srv/app.py");
	head(s, 4, 100); /* a record with unwinding information, which is skipped */
	for (int i = 0; i < 25; i++)
		u32(s, 0);
	load(s, 0x2000, 0x10, 2, "two");
	load(s, 0x1010, 0x10, 3, "later");
	move(s, 0x2000, 0x3000, 0x10, 2);
	move(s, 0x2000, 0x4000, 0x10, 99);
	load(s, UINT64_MAX - 4, 0, 4, "empty");
	head(s, 99, 4);
	u32(s, 0);
	load(s, 0x5000, 8, 5, "last");
}

static int file_of(const struct str *s, size_t n)
{
	int fd = memfd_create("jitdump", MFD_CLOEXEC);

	assert_true(write(fd, str_cstr(s), n) == (ssize_t)n);
	return fd;
}

static void expect_all(const struct perf_map *m)
{
	expect(m, 0x1008, "py::f:/srv/app.py", 0x1000);
	expect(m, 0x1018, "later", 0x1010);
	expect(m, 0x1020, "py::f:/srv/app.py", 0x1000);
	expect(m, 0x300f, "two", 0x3000);
	expect(m, 0x4000, NULL, 0); /* code that moved here from an address without a name */
	expect(m, 0x5007, "last", 0x5000);
	expect(m, 0x5008, NULL, 0);
	assert_int_equal(perf_map_stats(m).malformed, 1);
	assert_int_equal(perf_map_stats(m).dropped, 1);
}

static void test_records(void **state)
{
	_cleanup_str_ struct str s = {};
	struct perf_map *m = perf_map_new();

	sample(&s);
	assert_int_equal(perf_map_add_dump(m, file_of(&s, s.n)), 0);
	expect_all(m);
	assert_int_equal(perf_map_add_dump(m, -1), -EEXIST);
	perf_map_free(m);
}

/* The file is read while it grows. Wherever the writer pauses, the final result is the same. */
static void test_growing(void **state)
{
	_cleanup_str_ struct str s = {};

	sample(&s);
	for (size_t cut = 0; cut < s.n; cut++) {
		struct perf_map *m = perf_map_new();
		int fd = file_of(&s, cut), mine = dup(fd);

		assert_int_equal(perf_map_add_dump(m, fd), 0);
		assert_true(pwrite(mine, s.s + cut, s.n - cut, (off_t)cut) == (ssize_t)(s.n - cut));
		assert_int_equal(perf_map_refresh(m), 0);
		expect_all(m);
		close(mine);
		perf_map_free(m);
	}
}

static void test_refused(void **state)
{
	for (int i = 0; i < 4; i++) {
		_cleanup_str_ struct str s = {};
		struct perf_map *m = perf_map_new();

		header(&s, i == 0 ? 0x4454694a : 0x4a695444, i == 1 ? 2 : 1);
		if (i == 2) {
			u32(&s, 0); /* the record claims a size of 0 bytes */
			u32(&s, 0);
			u64(&s, 0);
		}
		if (i == 3)
			str_clear(&s);
		load(&s, 0x1000, 8, 1, "one");
		assert_int_equal(perf_map_add_dump(m, file_of(&s, s.n)), 0);
		expect(m, 0x1000, NULL, 0);
		assert_int_equal(perf_map_stats(m).malformed, 1);
		perf_map_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
