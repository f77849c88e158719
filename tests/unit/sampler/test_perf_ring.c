/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a perf ring that the test writes: records that wrap around its end, records with an
 * impossible size, a full ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "sampler/perf_ring.h"

#define BYTES 256

static uint8_t data[BYTES], wrapped[BYTES];
static struct perf_event_mmap_page page;
static struct perf_ring ring;

static int setup(void **state)
{
	page = (struct perf_event_mmap_page){};
	ring = (struct perf_ring){.page = &page, .data = data, .bytes = BYTES, .wrapped = wrapped};
	return 0;
}

/*
 * Writes a record as the kernel does, byte by byte, and around the ring's end. @size is the
 * record's size, in its header too.
 */
static void put(uint16_t size, uint32_t type)
{
	struct perf_event_header h = {type, 0, size};
	uint8_t bytes[BYTES];

	memcpy(bytes, &h, sizeof(h));
	for (size_t i = sizeof(h); i < size; i++)
		bytes[i] = (uint8_t)(type + i);
	for (size_t i = 0; i < size; i++)
		data[(page.data_head + i) % BYTES] = bytes[i];
	page.data_head += size;
}

static void must_read(uint16_t size, uint32_t type)
{
	const struct perf_event_header *h = perf_ring_peek(&ring);

	assert_non_null(h);
	assert_int_equal(h->size, size);
	assert_int_equal(h->type, type);
	for (size_t i = sizeof(*h); i < size; i++)
		assert_int_equal(((const uint8_t *)h)[i], (uint8_t)(type + i));
	perf_ring_next(&ring);
}

static void test_wraps(void **state)
{
	uint64_t written = 0;

	/*
	 * Writes and reads records of all sizes at all offsets, far more than the ring holds. The
	 * ring's counters wrap around as well.
	 */
	page.data_head = page.data_tail = ring.tail = ring.head = UINT64_MAX - 1023;
	for (unsigned i = 0; i < 2000; i++) {
		uint16_t size = (uint16_t)(8 + i * 8 % 240);

		put(size, i);
		written += size;
		assert_true(perf_ring_begin(&ring));
		must_read(size, i);
		assert_null(perf_ring_peek(&ring));
		perf_ring_end(&ring);
		assert_int_equal(page.data_tail, page.data_head);
	}
	assert_int_equal(page.data_head, UINT64_MAX - 1023 + written);
	assert_int_equal(ring.malformed, 0);
}

static void test_several(void **state)
{
	put(64, 1);
	put(128, 2);
	put(64, 3); /* this record fills the ring to the last byte */
	assert_true(perf_ring_begin(&ring));
	must_read(64, 1);
	/* the kernel gets the space back only at perf_ring_end() */
	assert_int_equal(page.data_tail, 0);
	perf_ring_end(&ring);
	assert_int_equal(page.data_tail, 64);
	/*
	 * this record comes after perf_ring_begin(), so it is read only after the next call of
	 * perf_ring_begin()
	 */
	put(64, 4);
	must_read(128, 2);
	must_read(64, 3);
	assert_null(perf_ring_peek(&ring));
	assert_true(perf_ring_begin(&ring));
	must_read(64, 4);
	assert_false(perf_ring_begin(&ring));
}

static void test_impossible(void **state)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 72, 264, UINT16_MAX};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct perf_event_header h = {1, 0, sizes[i]};

		setup(NULL);
		put(64, 1);
		memcpy(data, &h, sizeof(h));
		assert_true(perf_ring_begin(&ring));
		assert_null(perf_ring_peek(&ring));
		perf_ring_next(&ring);
		perf_ring_end(&ring);
		assert_int_equal(ring.malformed, 1);
		assert_int_equal(page.data_tail, 64);
		put(64, 2);
		assert_true(perf_ring_begin(&ring));
		must_read(64, 2);
	}
}

static void test_not_mapped(void **state)
{
	struct perf_ring none = {};

	assert_false(perf_ring_begin(&none));
	assert_null(perf_ring_peek(&none));
	perf_ring_next(&none);
	perf_ring_end(&none);
	perf_ring_unmap(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_wraps, setup),
		cmocka_unit_test_setup(test_several, setup),
		cmocka_unit_test_setup(test_impossible, setup),
		cmocka_unit_test(test_not_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
