/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for Python frames in an image of an interpreter (its memory) with hostile words in it, by
 * the kernel program's walkers, compiled for the host. The first byte chooses the release; the rest
 * says what is written where (tests/host/walk/walk_random.h).
 */
#include "../host/walk/walk_random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct release *r = &releases[n ? data[0] % ARRAY_SIZE(releases) : 0];
	struct choices c = {.data = data + 1, .n = n - 1};

	if (!n)
		return 0;
	if (!host.w)
		host_init();
	if (image.release != r)
		random_image(r);
	random_walk(&c);
	return 0;
}
