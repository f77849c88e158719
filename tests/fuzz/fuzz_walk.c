/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets the kernel program's walkers, compiled for the host, look for Python frames in a simulated
 * interpreter's memory, in which some words are hostile. The first byte chooses the release of
 * Python; the rest says which word is written where (tests/host/walk/walk_random.h).
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
