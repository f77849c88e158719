/* SPDX-License-Identifier: BSD-2-Clause */
/* Pictures that somebody sent: the recording is looked for and decoded, whatever the bytes are. */
#include <stdlib.h>
#include "base/cleanup.h"
#include "render/embedded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_free_ uint8_t *out = NULL;
	size_t out_n = 0;

	if (!embedded_extract((const char *)data, n, &out, &out_n) && out_n > n)
		abort();
	return 0;
}
