/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What instructions prove of a file whose call frame information is hidden, against what that says; for
 * tests/oracle/code_rows.py. code_hidden FILE HIDDEN: HIDDEN is FILE without it and without symbols, so that only pointers and
 * calls say where functions begin. Prints "hidden BYTES KNOWN DIFFERING" and a line "at ADDRESS" for the first that differ in
 * where the frame is from the stack pointer.
 */
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "elf/internal.h"
#include "elf/unwind_rows.h"

#define SP	7 /* DWARF's number of rsp */
#define AT_MOST 10

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
	unsigned long bytes = 0, known = 0, differing = 0;

	if (argc != 3 || read_rows(argv[1], unwind_rows_read_tables, &said) ||
	    read_rows(argv[2], unwind_rows_read, &found))
		return 1;
	vec_foreach(fde, &said.fdes)
		for (uint64_t at = said.base + fde->start; at < said.base + fde->end; at++) {
			const struct unwind_rule *u = unwind_rows_find(&said, at),
						 *w = unwind_rows_find(&found, at);

			bytes++;
			if (!by_sp(u) || !by_sp(w))
				continue;
			known++;
			if (u->off != w->off && differing++ < AT_MOST)
				printf("at %llx\n", (unsigned long long)at);
		}
	printf("hidden %lu %lu %lu\n", bytes, known, differing);
	return 0;
}
