/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads BPF rings that the test lays out in a file: records of all sizes at all offsets, records
 * that are still being written or were discarded, records with an impossible size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "sampler/record_ring.h"

#define RING 16384u

static struct record_ring ring;
static uint64_t *produced;
static uint8_t *data;
static size_t page, want[64];
static unsigned n_want, taken, stop_after;
static uint8_t first[64];

static int setup(void **state)
{
	int fd = memfd_create("ring", 0);
	uint8_t *file;

	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_return_code(fd, errno);
	assert_return_code(ftruncate(fd, (off_t)(2 * page + RING)), errno);
	file = mmap(NULL, 2 * page + RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(file, MAP_FAILED);
	produced = (uint64_t *)(file + page);
	data = file + 2 * page;
	assert_int_equal(record_ring_map(&ring, fd, RING), 0);
	close(fd);
	n_want = taken = 0;
	stop_after = UINT32_MAX;
	return 0;
}

static int teardown(void **state)
{
	record_ring_unmap(&ring);
	munmap((uint8_t *)produced - page, 2 * page + RING);
	return 0;
}

static void put_byte(uint64_t at, uint8_t byte)
{
	data[at % RING] = byte;
}

/* Writes a record into the ring as the kernel does. @flags: busy or discarded. */
static void put(size_t n, uint32_t flags, uint8_t seed)
{
	uint32_t word = (uint32_t)n | flags;

	memcpy(data + *produced % RING, &word, sizeof(word));
	for (size_t i = 0; i < n; i++)
		put_byte(*produced + 8 + i, (uint8_t)(seed + i));
	*produced += (8 + n + 7) / 8 * 8;
}

static void put_record(size_t n, uint8_t seed)
{
	want[n_want] = n;
	first[n_want++] = seed;
	put(n, 0, seed);
}

static bool take(void *ctx, const void *record, size_t n)
{
	const uint8_t *p = record;

	assert_ptr_equal(ctx, &ring);
	assert_true(taken < n_want);
	assert_int_equal(n, want[taken]);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(p[i], (uint8_t)(first[taken] + i));
	taken++;
	return taken >= stop_after;
}

static void must_read(unsigned n, int ret)
{
	taken = 0;
	assert_int_equal(record_ring_read(&ring, take, &ring), ret);
	assert_int_equal(taken, n);
	n_want -= n;
	memmove(want, want + n, n_want * sizeof(*want));
	memmove(first, first + n, n_want);
}

static void test_wraps(void **state)
{
	must_read(0, 0);
	for (unsigned i = 0; i < 3000; i++) {
		put_record(i * 7 % (RING - 8), (uint8_t)i);
		must_read(1, 0);
		assert_int_equal(*ring.consumed, *produced);
	}
	assert_true(*produced > 100 * RING);
}

static void test_full(void **state)
{
	*ring.consumed = *produced = 3 * RING + 4096;
	put_record(RING / 2 - 8, 1);
	put_record(0, 2);
	put_record(RING / 2 - 16, 3);
	assert_int_equal(*produced - *ring.consumed, RING);
	must_read(3, 0);
	assert_int_equal(*ring.consumed, *produced);
}

/* The reader stops after two records. The space of these two in the ring is free again. */
static void test_stops(void **state)
{
	for (uint8_t i = 0; i < 5; i++)
		put_record(100, i);
	stop_after = 2;
	must_read(2, 1);
	assert_int_equal(*ring.consumed, 2 * 112);
	must_read(2, 1);
	must_read(1, 0);
}

static void test_being_written(void **state)
{
	uint64_t at;

	put_record(24, 1);
	at = *produced;
	put_record(40, 2);
	put_record(8, 3);
	put_byte(at + 3, 0x80); /* BPF_RINGBUF_BUSY_BIT */
	must_read(1, 0);
	must_read(0, 0);
	assert_int_equal(*ring.consumed, at);
	put_byte(at + 3, 0);
	must_read(2, 0);
}

/*
 * The ring was read up to a mark when no record from before the mark is left, whatever was written
 * since then.
 */
static void test_mark(void **state)
{
	uint64_t at;

	record_ring_mark(&ring);
	assert_true(record_ring_reached(&ring));
	for (uint8_t i = 0; i < 4; i++)
		put_record(100, i);
	assert_true(record_ring_reached(&ring));
	record_ring_mark(&ring);
	put_record(100, 4);
	stop_after = 3;
	must_read(3, 1);
	assert_false(record_ring_reached(&ring));
	stop_after = 1;
	must_read(1, 1);
	assert_true(record_ring_reached(&ring));
	must_read(1, 1);
	at = *produced;
	put_record(40, 5);
	put_byte(at + 3, 0x80); /* BPF_RINGBUF_BUSY_BIT */
	record_ring_mark(&ring);
	must_read(0, 0);
	assert_false(record_ring_reached(&ring));
	put_byte(at + 3, 0);
	must_read(1, 1);
	assert_true(record_ring_reached(&ring));
}

static void test_given_up(void **state)
{
	put(64, BPF_RINGBUF_DISCARD_BIT, 0);
	put_record(16, 1);
	put(RING - 200, BPF_RINGBUF_DISCARD_BIT, 0);
	must_read(1, 0);
	assert_int_equal(*ring.consumed, *produced);
}

static void test_impossible(void **state)
{
	static const uint32_t sizes[] = {65, 4096, RING - 7, RING, 1u << 29};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t at = *produced;

		put_record(8, 1);
		memcpy(data + *produced % RING, &sizes[i], 4);
		*produced += 72;
		must_read(1, -EBADMSG);
		assert_int_equal(*ring.consumed, at + 16);
		*ring.consumed = *produced;
	}
}

static void test_no_ring(void **state)
{
	struct record_ring none;

	assert_int_equal(record_ring_map(&none, -1, RING), -EBADF);
	record_ring_unmap(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wraps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stops, setup, teardown),
		cmocka_unit_test_setup_teardown(test_being_written, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mark, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_impossible, setup, teardown),
		cmocka_unit_test(test_no_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
