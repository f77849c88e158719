/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads any bytes as /proc/kallsyms: in a container, another file may be mounted there. */
#include <stdlib.h>
#include "symbol/kernel_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t find(const struct kernel_names *k, uint64_t at)
{
	const char *module, *name = kernel_names_find(k, at, &module);

	return name ? strlen(name) + strlen(module) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct kernel_names *k;

	if (kernel_names_parse((const char *)data, n, &k))
		abort();
	for (uint64_t at = 0; at < 0x200; at++)
		if (find(k, at) > n || find(k, at << 55) > n)
			abort();
	kernel_names_free(k);
	return 0;
}
