/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often krait reads a process's memory for many small objects: once for each page, or once for
 * many objects that are scattered. The test replaces process_vm_readv() by a function that copies
 * and counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "python/heap/heap.h"
#include "python/heap/peek.h"
#include "python/layout/tables.h"

#define PAGES 64
#define BYTES 16

static unsigned reads;

ssize_t peek_pieces(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n)
{
	size_t done = 0;

	reads++;
	for (size_t i = 0; i < n; done += from[i++].iov_len)
		memcpy((uint8_t *)to->iov_base + done, from[i].iov_base, from[i].iov_len);
	return (ssize_t)done;
}

int peek(pid_t pid, uint64_t addr, void *buf, size_t n)
{
	reads++;
	memcpy(buf, (void *)(uintptr_t)addr, n);
	return 0;
}

/* Reads the objects, each filled with its number. Returns how many reads that took. */
static unsigned reads_of(struct heap *h, const uint8_t *const *objects, size_t n)
{
	uint8_t got[PAGES * BYTES];
	uint64_t addr[PAGES];

	reads = 0;
	for (size_t i = 0; i < n; i++)
		addr[i] = (uintptr_t)objects[i];
	heap_read_many(h, addr, n, BYTES, got);
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(got + i * BYTES, objects[i], BYTES);
	return reads;
}

static void test_reads(void **state)
{
	uint8_t *p = mmap(NULL, PAGES * HEAP_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_cleanup_free_ struct heap_pages *pages = heap_pages_new();
	const uint8_t *scattered[PAGES], *close[8];
	struct heap h;

	assert_true(p != MAP_FAILED && pages);
	for (size_t i = 0; i < PAGES; i++) {
		scattered[i] = p + i * HEAP_PAGE + 8 * i;
		memset(p + i * HEAP_PAGE, (int)i + 1, HEAP_PAGE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(close); i++)
		close[i] = p + i * BYTES;
	heap_init(&h, getpid(), py_layout_table(0x30c, 0));
	assert_int_equal(reads_of(&h, scattered, PAGES), 1);
	h.pages = pages;
	assert_int_equal(reads_of(&h, scattered, PAGES), 1);
	assert_int_equal(reads_of(&h, close, ARRAY_SIZE(close)), 1);
	assert_int_equal(reads_of(&h, close, ARRAY_SIZE(close)), 0);
	munmap(p, PAGES * HEAP_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
