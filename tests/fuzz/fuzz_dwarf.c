/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads any bytes as a file with DWARF. The seeds are small libraries. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "symbol/elf/dwarf_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct dwarf_call calls[8];
	struct dwarf_file *d;
	size_t sum = 0;

	if (write(fd, data, n) != (ssize_t)n)
		abort();
	if (dwarf_file_open(fd, "fuzz", &d) < 0)
		return 0;
	for (uint64_t at = 0x1000; at < 0x1200; at += 4) {
		size_t k = dwarf_file_find(d, at, calls, ARRAY_SIZE(calls));

		for (size_t i = 0; i < k; i++)
			sum += strlen(calls[i].function ?: "") + strlen(calls[i].file ?: "");
	}
	dwarf_file_free(d);
	return sum == SIZE_MAX;
}
