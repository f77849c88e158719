/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_rows FILE...: prints the unwind rows of ELF files, for tests/unwind/unwind_rows.py. For
 * each file there is a line "file NAME ROWS RULES FDES BAD MICROSECONDS WHY", followed by "row KEY
 * CFA REG OFF OFF2 SLOTS RA FP BX" and "fde START END", with addresses in hexadecimal. -s: prints
 * the first line only. -t: prints only what call frame information says.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "unwind/compile.h"
#include "unwind/rows/rows.h"

static unsigned long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
}

static void print_rows(const struct unwind_rows *rows)
{
	vec_foreach(row, &rows->rows) {
		const struct unwind_rule *u = &rows->rules.v[row->rule];

		printf("row %llx %d %d %d %d %d %d %d %d\n",
		       (unsigned long long)(rows->base + row->key), u->cfa, u->reg | u->index << 8,
		       u->off, u->off2, u->slots, u->ra, u->fp, u->bx);
	}
	vec_foreach(fde, &rows->fdes)
		printf("fde %llx %llx\n", (unsigned long long)(rows->base + fde->start),
		       (unsigned long long)(rows->base + fde->end));
}

static int dump(const char *name, bool summary, bool tables)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	_cleanup_elf_ struct elf_file *f = NULL;
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	unsigned long long start = now_us();

	if (fd < 0 || elf_file_open(fd, name, &f) ||
	    (tables ? unwind_rows_read_tables(f, &rows) : unwind_rows_read(f, &rows))) {
		printf("error %s: %s\n", name, fd < 0 ? "can't be opened" : err_msg());
		return 1;
	}
	printf("file %s %zu %zu %zu %zu %llu %s\n", name, rows.rows.n, rows.rules.n, rows.fdes.n,
	       rows.bad, now_us() - start, rows.why);
	if (!summary)
		print_rows(&rows);
	return 0;
}

int main(int argc, char **argv)
{
	bool summary = false, tables = false;
	int bad = 0, i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		summary |= streq(argv[i], "-s");
		tables |= streq(argv[i], "-t");
	}
	for (; i < argc; i++)
		bad |= dump(argv[i], summary, tables);
	return bad;
}
