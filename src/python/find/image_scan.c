/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Searches an ELF file's data for structures that no symbol or section names, because the file was
 * stripped of both, or was linked statically with hidden symbols.
 */
#include "base/work/slice.h"
#include "python/find/image_internal.h"

/* The most bytes of a file's writable segments that are searched; libpython has 2 MiB of them. */
#define SCAN_MAX (256ull << 20)

void image_scan_init(struct image_scan *s, struct elf_file *elf)
{
	s->elf = elf;
	s->load = 0;
	s->vaddr = 0;
	s->n = 0;
	s->left = SCAN_MAX;
}

bool image_scan_next(struct image_scan *s)
{
	const struct elf_load *loads;
	size_t n_loads = elf_file_loads(s->elf, &loads);

	for (; s->load < n_loads; s->load++) {
		const struct elf_load *l = &loads[s->load];
		uint64_t at = s->n ? s->vaddr + s->n : l->vaddr, end = l->vaddr + l->filesz;
		uint64_t some = MIN(sizeof(s->bytes), s->left);
		size_t n = at < end ? MIN(some, end - at) : 0;

		if (l->write && n && !slice_spend(n * WORK_BYTE))
			return false;
		if (l->write && n) {
			s->vaddr = at;
			s->left -= n;
			s->n = elf_file_read(s->elf, at, s->bytes, n);
			if (s->n)
				return true;
		}
		s->n = 0;
	}
	return false;
}

/*
 * Finds the cookie at the beginning of _PyRuntime. Only multiples of 8 are looked at: a structure
 * that holds pointers is aligned to 8 bytes at least.
 */
uint64_t image_find_cookie(struct image_ctx *c)
{
	struct image_scan s;

	image_scan_init(&s, c->elf);
	while (image_scan_next(&s)) {
		for (size_t i = -s.vaddr % 8; i + 8 <= s.n; i += 8) {
			if (!memcmp(s.bytes + i, PY_COOKIE, 8))
				return s.vaddr + i;
		}
	}
	return 0;
}
