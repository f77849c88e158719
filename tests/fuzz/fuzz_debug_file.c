/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads any bytes as .gnu_debugdata (if the first byte is even) or as .gnu_debuglink. */
#include <stdlib.h>
#include "../unit/elf_writer.h"
#include "base/cleanup.h"
#include "symbol/elf/elf_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define AT_NAMED 0x10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_close_ int fd = -1;
	struct elf_names *names;
	struct elf_name name;
	struct elf_writer w;

	if (!n)
		return 0;
	ew_init(&w, ET_DYN);
	w.named = data[0] & 1 ? ".gnu_debuglink" : ".gnu_debugdata";
	w.named_sh = (Elf64_Shdr){0, SHT_PROGBITS, 0, 0, AT_NAMED, n - 1};
	fd = ew_write(&w);
	ew_put(fd, AT_NAMED, data + 1, n - 1);
	if (elf_names_open(fd, "/tmp/fuzz", -1, &names) < 0)
		abort();
	for (uint64_t at = EW_TEXT; at < EW_DATA; at += 64)
		if (elf_names_find(names, at, NULL, &name) && !name.name[0])
			abort();
	elf_names_free(names);
	return 0;
}
