/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as a perf map. Read at once or in pieces, the map must have the same names at the
 * same addresses.
 */
#include <stdlib.h>
#include "symbol/madecode/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void compare(const struct perf_map *a, const struct perf_map *b, uint64_t at)
{
	uint64_t start_a = 0, start_b = 0;
	const char *s = perf_map_find(a, at, &start_a), *t = perf_map_find(b, at, &start_b);

	check(!s == !t);
	check(!s || (streq(s, t) && start_a == start_b && start_a <= at));
	check(!s || strlen(s) <= PERF_MAP_NAME_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	struct perf_map *whole = perf_map_new(), *pieces = perf_map_new();
	/*
	 * Each piece costs more than the one before, so a large file is read in at most 250 pieces.
	 */
	size_t step = MAX(n ? (size_t)1 + data[0] % 64 : (size_t)1, n / 250);

	check(!perf_map_feed(whole, text, n));
	for (size_t at = 0; at < n; at += step)
		check(!perf_map_feed(pieces, text + at, MIN(step, n - at)));
	check(perf_map_stats(whole).entries <= 2 * n);
	check(perf_map_stats(whole).malformed == perf_map_stats(pieces).malformed);
	for (uint64_t at = 0; at < 0x200; at++)
		compare(whole, pieces, at);
	for (size_t i = 0; i + 8 <= n; i++) {
		uint64_t at = 0;

		memcpy(&at, data + i, sizeof(at));
		compare(whole, pieces, at >> (data[i] & 63));
	}
	perf_map_free(whole);
	perf_map_free(pieces);
	return 0;
}
