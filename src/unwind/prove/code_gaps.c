/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds code that call frame information doesn't describe; see code_gaps.h. */
#include "unwind/prove/code_gaps.h"

#include <stdlib.h>

#include "elf/elf_sections.h"
#include "unwind/prove/code_rows.h"

#define LEAST_BYTES 16 /* a gap between two functions is padding if it has fewer bytes than this */
/* the most bytes of a gap that are examined; MKL has a gap of 10 MiB */
#define MOST_BYTES (64u << 20)
#define MOST_TOTAL (128u << 20)

static int add_gap(key_range_vec *ret, uint32_t start, uint32_t end)
{
	return end > start && end - start >= LEAST_BYTES && end - start <= MOST_BYTES
		       ? vec_push(ret, (struct key_range){start, end})
		       : 0;
}

/* Adds to @ret those parts of [start, end) that lie between functions. */
static int add_gaps(const struct unwind_rows *rows, uint32_t start, uint32_t end,
		    key_range_vec *ret)
{
	const struct unwind_fde *fde = rows->fdes.v, *last = fde + rows->fdes.n;
	int r = 0;

	for (; !r && fde < last && fde->start < end; fde++) {
		if (fde->end <= start)
			continue;
		r = add_gap(ret, start, fde->start);
		start = fde->end;
	}
	return r ? r : add_gap(ret, start, end);
}

static int by_gap(const void *a, const void *b)
{
	const struct key_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void code_gaps_bound(key_range_vec *gaps)
{
	uint32_t sum = 0;
	size_t n = 0;

	if (gaps->n)
		qsort(gaps->v, gaps->n, sizeof(*gaps->v), by_gap);
	for (size_t i = 0; i < gaps->n; i++) {
		const struct key_range *gap = &gaps->v[i];

		if ((n && gap->start < gaps->v[n - 1].end) ||
		    gap->end - gap->start > MOST_TOTAL - sum)
			continue;
		sum += gap->end - gap->start;
		gaps->v[n++] = *gap;
	}
	gaps->n = n;
}

int code_gaps_add(const struct unwind_rows *rows, uint64_t vaddr, uint64_t n, key_range_vec *ret)
{
	uint64_t key = vaddr - rows->base;

	return vaddr >= rows->base && key + n > key && key + n <= UINT32_MAX
		       ? add_gaps(rows, (uint32_t)key, (uint32_t)(key + n), ret)
		       : 0;
}

int code_gaps_find(struct elf_file *f, const struct unwind_rows *rows, key_range_vec *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int r = 0;

	while (!r && (scn = elf_next_section(f, scn, SHT_PROGBITS, &sh)))
		if (sh.sh_flags & SHF_EXECINSTR)
			r = code_gaps_add(rows, sh.sh_addr, sh.sh_size, ret);
	if (!r)
		code_gaps_bound(ret);
	return r;
}

uint64_t code_gaps_bytes(const key_range_vec *gaps)
{
	uint64_t sum = 0;

	vec_foreach(gap, gaps)
		sum += gap->end - gap->start;
	return sum;
}

uint64_t code_rows_bytes(struct elf_file *f, const struct unwind_rows *rows)
{
	key_range_vec gaps = {};
	uint64_t sum = 0;

	if (f->machine == ELF_X86_64 && !code_gaps_find(f, rows, &gaps))
		sum = code_gaps_bytes(&gaps);
	vec_fini(&gaps);
	return sum;
}
