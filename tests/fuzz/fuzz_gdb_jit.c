/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as the memory (at BASE) of a process that has registered code for gdb. The first
 * byte says after how many reads the memory changes.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "symbol/madecode/gdb_jit.h"
#include "symbol/madecode/numba_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define BASE 0x1000

struct memory {
	const uint8_t *bytes;
	size_t n;
	unsigned reads_left;
};

static int peek_memory(void *arg, uint64_t addr, void *buf, size_t n)
{
	struct memory *m = arg;

	if (addr < BASE || addr - BASE > m->n || n > m->n - (addr - BASE))
		return -EFAULT;
	memcpy(buf, m->bytes + (addr - BASE), n);
	if (!m->reads_left-- && n)
		((uint8_t *)buf)[0] ^= 1;
	return 0;
}

/*
 * Checks that unwind rows are sorted and lie in the ranges of code, and that no two functions begin
 * at the same offset.
 */
static void check_rows(const struct gdb_jit *j)
{
	const struct unwind_place places[] = {{0, 0x1400, 0}, {0x1400, 0x2000, 0x1400}};
	const unwind_rows_vec *files = gdb_jit_rows(j);
	_cleanup_unwind_rows_ struct unwind_rows rows = {};

	if (unwind_rows_join(files->v, files->n, places, ARRAY_SIZE(places), &rows))
		return;
	for (size_t i = 0; i < rows.rows.n; i++)
		if (rows.rows.v[i].key > 0x2000 || rows.rows.v[i].rule >= rows.rules.n ||
		    (i && rows.rows.v[i].key <= rows.rows.v[i - 1].key))
			abort();
	for (size_t i = 1; i < rows.fdes.n; i++)
		if (rows.fdes.v[i].start <= rows.fdes.v[i - 1].start)
			abort();
}

/*
 * The memory has changed since @j was read. A reading that continues @j must give the same as a
 * reading from the beginning.
 */
static void check_next(const struct gdb_jit *j, const struct memory *m, const uint64_t *at,
		       size_t n)
{
	struct memory on = *m, afresh = *m;
	struct gdb_jit *a = NULL, *b = NULL;
	int r, s;

	on.reads_left = afresh.reads_left = UINT_MAX;
	r = gdb_jit_read_on(j, peek_memory, NULL, &on, at, n, &a);
	s = gdb_jit_read(peek_memory, &afresh, at, n, &b);
	if (r != s || (!r && gdb_jit_stats(a).symbols != gdb_jit_stats(b).symbols))
		abort();
	for (uint64_t addr = 0; !r && addr < 0x2000; addr++) {
		const char *x = gdb_jit_find(a, addr, NULL), *y = gdb_jit_find(b, addr, NULL);

		if (!x != !y || (x && strcmp(x, y)))
			abort();
	}
	gdb_jit_free(a);
	gdb_jit_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	/* with 254 and 255 the memory never changes */
	struct memory m = {data + 1, n - 1, n && data[0] < 254 ? data[0] : UINT_MAX};
	const uint64_t at[] = {BASE, BASE + 24};
	struct gdb_jit *j = NULL;

	if (!n || gdb_jit_read(peek_memory, &m, at, 1 + (data[0] & 1), &j))
		return 0;
	check_rows(j);
	check_next(j, &m, at, 1 + (data[0] & 1));
	for (uint64_t addr = 0; addr < 0x2000; addr++) {
		uint64_t start = 0;
		const char *name = gdb_jit_find(j, addr, &start);

		if (name && (!name[0] || start > addr))
			abort();
		if (name)
			free(numba_name(name));
	}
	gdb_jit_free(j);
	return 0;
}
