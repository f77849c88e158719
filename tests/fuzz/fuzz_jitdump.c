/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a jitdump that has a valid header and, after that, any bytes. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "symbol/madecode/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint32_t header[10] = {0x4a695444, 1, 40, 62};

static void check(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct perf_map *m = perf_map_new();
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	check(write(fd, header, sizeof(header)) == sizeof(header));
	check(write(fd, data, n) == (ssize_t)n);
	check(!perf_map_add_dump(m, fd));
	check(!perf_map_refresh(m));
	check(perf_map_stats(m).entries <= n);
	for (uint64_t at = 0; at < 0x200; at++) {
		uint64_t start = 0;
		const char *name = perf_map_find(m, at << 4, &start);

		check(!name || (start <= at << 4 && name[0]));
	}
	perf_map_free(m);
	return 0;
}
