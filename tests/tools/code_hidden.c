/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares what krait proves from the instructions of a file's copy, which has no call frame
 * information, with the call frame information of the file itself. Used by
 * tests/unwind/code_rows.py.
 *
 * code_hidden FILE HIDDEN: HIDDEN is FILE without call frame information and without symbols, so
 * that only pointers and calls show where functions begin. For each function in which the distance
 * between frame and stack pointer differs, prints "differs START FIRST BYTES": the function's
 * start, the first address where it differs, the number of such bytes. At last prints "hidden BYTES
 * KNOWN".
 */
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "elf/elf_sections.h"
#include "unwind/compile.h"
#include "unwind/rows/rows.h"

#define SP 7 /* DWARF's number of rsp */

typedef int read_fn(struct elf_file *f, struct unwind_rows *ret);

static int read_rows(const char *name, read_fn *read, struct unwind_rows *ret)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -1 : elf_file_open(fd, name, &f);

	return r ? r : read(f, ret);
}

static bool by_sp(const struct unwind_rule *u)
{
	return u && u->cfa == UNWIND_REG && u->reg == SP;
}

int main(int argc, char **argv)
{
	_cleanup_unwind_rows_ struct unwind_rows said = {}, found = {};
	unsigned long bytes = 0, known = 0;

	if (argc != 3 || read_rows(argv[1], unwind_rows_read_tables, &said) ||
	    read_rows(argv[2], unwind_rows_read, &found))
		return 1;
	vec_foreach(fde, &said.fdes) {
		unsigned long first = 0, differing = 0;

		for (uint64_t at = said.base + fde->start; at < said.base + fde->end; at++) {
			const struct unwind_rule *u = unwind_rows_find(&said, at),
						 *w = unwind_rows_find(&found, at);

			bytes++;
			if (!by_sp(u) || !by_sp(w))
				continue;
			known++;
			if (u->off != w->off && !differing++)
				first = at;
		}
		if (differing)
			printf("differs %lx %lx %lu\n", (unsigned long)(said.base + fde->start),
			       first, differing);
	}
	printf("hidden %lu %lu\n", bytes, known);
	return 0;
}
