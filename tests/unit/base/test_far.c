/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Far descriptors: files that another process holds open for this one. A read gives the file's own
 * bytes, or fails. It never gives other bytes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/system/far.h"

#define BYTES ((uint64_t)300000)

static unsigned reads;
static uint64_t silent_from = BYTES; /* reads from this offset on aren't answered in time */

static ssize_t read_pattern(uint64_t number, void *bytes, size_t n, uint64_t offset)
{
	reads++;
	if (offset + n > silent_from)
		return -ETIMEDOUT;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)bytes)[i] = (uint8_t)((offset + i) / 7 + number);
	return (ssize_t)n;
}

static int stat_pattern(uint64_t number, struct stat *ret)
{
	*ret = (struct stat){.st_size = BYTES, .st_uid = (uid_t)number};
	return 0;
}

static const struct far_ops ops = {read_pattern, stat_pattern};

static void check_bytes(int fd, uint64_t offset, size_t n, unsigned number)
{
	uint8_t bytes[1000];

	assert_true(n <= sizeof(bytes));
	assert_int_equal(pread(fd, bytes, n, (off_t)offset), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(bytes[i], (uint8_t)((offset + i) / 7 + number));
}

static void test_copy(void **state)
{
	int fd = far_new(&ops, 5, BYTES), copy = far_copy(fd);
	struct stat st;

	(void)state;
	assert_true(fd >= 0 && copy >= 0 && far_is(fd) && far_is(copy));
	assert_int_equal(far_stat(fd, &st), 0);
	assert_int_equal(st.st_uid, 5);
	assert_true(far_fetch(copy, 200000, 1000));
	check_bytes(copy, 200000, 1000, 5);
	reads = 0;
	assert_true(far_fetch(copy, 200100, 10));
	assert_int_equal(reads, 0);
	/* Reads the whole file with copy. The middle part was fetched before. */
	assert_true(far_fetch(copy, 0, UINT64_MAX));
	for (uint64_t at = 0; at + 1000 <= BYTES; at += 777)
		check_bytes(copy, at, 1000, 5);
	/* fd is only a stand-in for the file, so nothing may read fd itself */
	assert_false(far_fetch(fd, 0, 1));
	far_drop(copy);
	close(fd);
}

static void test_silent(void **state)
{
	int fd = far_new(&ops, 1, BYTES), copy = far_copy(fd);
	uint8_t byte;

	(void)state;
	silent_from = 100000;
	assert_true(far_fetch(copy, 50000, 1));
	check_bytes(copy, 50000, 1, 1);
	assert_false(far_fetch(copy, 90000, 20000));
	assert_false(far_fetch(copy, 100000, 1));
	assert_int_equal(far_pread(fd, &byte, 1, 150000), -1);
	assert_int_equal(errno, ETIMEDOUT);
	silent_from = BYTES;
	assert_true(far_fetch(copy, 90000, 20000));
	check_bytes(copy, 99500, 1000, 1);
	far_drop(copy);
	close(fd);
}

static void test_others(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_false(far_is(ends[0]));
	assert_int_equal(far_copy(ends[0]), -EINVAL);
	assert_true(far_fetch(ends[0], 0, 100));
	close(ends[0]);
	close(ends[1]);
}

/*
 * far_new() returns a memfd whose name contains a secret. A program that krait looks at may have
 * seen such a name, and may give it to memory of its own. That memory must not count as a far
 * descriptor.
 */
static void test_forged(void **state)
{
	int fd = far_new(&ops, 7, BYTES), forged;
	char self[32], link[200] = "", *number;
	struct stat st;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		forged = memfd_create(i ? "krait-far-9223372036854775807" : "krait-far-7", 0);
		assert_true(forged >= 0 && !far_is(forged));
		assert_int_equal(far_stat(forged, &st), 0);
		assert_int_equal(st.st_size, 0);
		assert_int_equal(far_copy(forged), -EINVAL);
		close(forged);
	}
	/* like the name of a far descriptor, but with a wrong secret */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	assert_true(readlink(self, link, sizeof(link) - 1) > 0 && strrchr(link, '-'));
	number = strrchr(link, '-');
	number[-1] ^= 1;
	strcpy(number, "-7");
	forged = memfd_create(link + strlen("/memfd:"), 0);
	assert_true(forged >= 0 && !far_is(forged) && far_is(fd));
	close(forged);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
