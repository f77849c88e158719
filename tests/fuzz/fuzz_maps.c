/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as /proc/PID/maps. Each mapping in the result must be valid, and stay the same
 * when it is written as the kernel writes it and read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "proc/libc.h"
#include "proc/read/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void write_line(struct str *s, const struct mapping *e, const char *path)
{
	str_addf(s, "%08llx-%08llx %c%c%c%c %08llx %02llx:%02llx %llu ",
		 (unsigned long long)e->start, (unsigned long long)e->end,
		 e->prot & PROT_READ ? 'r' : '-', e->prot & PROT_WRITE ? 'w' : '-',
		 e->prot & PROT_EXEC ? 'x' : '-', e->shared ? 's' : 'p',
		 (unsigned long long)e->offset, (unsigned long long)e->dev >> 20,
		 (unsigned long long)e->dev & 0xfffff, (unsigned long long)e->ino);
	for (; *path; path++) {
		if (*path == '\n')
			str_add(s, "\\012");
		else
			str_add_c(s, *path);
	}
	str_add(s, e->deleted ? " (deleted)\n" : "\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_maps_ struct maps m = {}, again = {};
	_cleanup_str_ struct str text = {};
	enum libc_kind kind;
	unsigned want = n ? data[0] : 0;

	check(!maps_parse((const char *)data, n, want, &m));
	vec_foreach(e, &m.list) {
		check(e->start < e->end && e->path < m.text.n);
		check(strlen(maps_path(&m, e)) <= n);
		write_line(&text, e, maps_path(&m, e));
	}
	libc_find(&m, &kind, NULL);
	maps_find(&m, n * 0x9e3779b97f4a7c15ull);
	check(!maps_parse(str_cstr(&text), text.n, MAPS_ALL, &again));
	check(again.malformed == 0 && again.list.n == m.list.n);
	for (size_t i = 0; i < m.list.n; i++)
		check(again.list.v[i].start == m.list.v[i].start &&
		      again.list.v[i].ino == m.list.v[i].ino);
	return 0;
}
