/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes in two ways. First, as frames of the agent's store (a frame is a second of
 * samples), each after its length: the valid frames become a profile, which must stay the same when
 * the frames are sealed (turned into a block) and the block is read. Second, as a blob (compressed
 * bytes with a checksum).
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/profile.h"
#include "store/blob.h"
#include "store/restore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static int decode(struct batch *b, const uint8_t *data, size_t n)
{
	uint32_t bytes;
	int r = 0;

	while (!r && n >= sizeof(bytes)) {
		memcpy(&bytes, data, sizeof(bytes));
		data += sizeof(bytes);
		n -= sizeof(bytes);
		bytes = (uint32_t)MIN((size_t)bytes, n);
		r = batch_decode(b, data, bytes);
		data += bytes;
		n -= bytes;
	}
	return r;
}

static int make_profile(const struct batch *b, struct profile **ret)
{
	const struct store_query all = {.until_ms = 1ll << 40};

	*ret = profile_new();
	return restore(b, &all, *ret);
}

static int64_t sum_of(struct profile *p, size_t *stacks)
{
	struct profile_sum *sums = NULL;
	int64_t sum = 0;
	size_t n = 0;

	check(!profile_sums(p, &sums, &n));
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < profile_meta(p)->n_values; k++)
			sum = (int64_t)((uint64_t)sum + (uint64_t)sums[i].values[k]);
	free(sums);
	*stacks = profile_n_stacks(p);
	return sum;
}

static void expect_same(struct profile *a, struct profile *b)
{
	size_t x, y;

	check(profile_n_samples(a) == profile_n_samples(b));
	/*
	 * A sum that is too large stops at the largest number, and so depends on the order of
	 * samples. Therefore only profiles with a single sample are compared.
	 */
	if (profile_n_samples(a) < 2)
		check(sum_of(a, &x) == sum_of(b, &y) && x == y);
}

static void seal(struct batch *b, struct profile *before, int accepted)
{
	__attribute__((cleanup(batch_fini))) struct batch again = {};
	_cleanup_str_ struct str columns = {};
	struct profile *after;

	check(!batch_order(b) && !batch_encode(b, &columns));
	check(!batch_decode(&again, columns.s, columns.n));
	check(make_profile(&again, &after) == accepted);
	if (!accepted)
		expect_same(before, after);
	profile_free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	__attribute__((cleanup(batch_fini))) struct batch b = {};
	_cleanup_str_ struct str columns = {};
	struct profile *p = NULL;
	int r;

	if (!blob_unpack(NULL, data, n, &columns))
		abort(); /* nobody guesses a checksum */
	if (decode(&b, data, n) || !b.meta.n_values)
		return 0;
	r = make_profile(&b, &p);
	seal(&b, p, r);
	profile_free(p);
	return 0;
}
