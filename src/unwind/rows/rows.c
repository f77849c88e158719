/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up the rule or the function at an address; see rows.h. */
#include "unwind/rows/rows.h"

#include <stdlib.h>

void unwind_rows_fini(struct unwind_rows *r)
{
	vec_fini(&r->rows);
	vec_fini(&r->rules);
	vec_fini(&r->fdes);
}

size_t unwind_rows_bytes(const struct unwind_rows *r)
{
	return r->rows.cap * sizeof(*r->rows.v) + r->rules.cap * sizeof(*r->rules.v) +
	       r->fdes.cap * sizeof(*r->fdes.v);
}

const struct unwind_rule *unwind_rows_find(const struct unwind_rows *r, uint64_t vaddr)
{
	uint64_t key = vaddr - r->base;
	size_t n = count_upto(r->rows.v, r->rows.n, key, key);

	return n && vaddr >= r->base ? &r->rules.v[r->rows.v[n - 1].rule] : NULL;
}

bool unwind_rule_is_start(const struct unwind_rule *u)
{
	return u && u->cfa == UNWIND_REG && u->reg == 7 && u->off == 8 && u->ra == -1 &&
	       u->fp == UNWIND_SAME && u->bx == UNWIND_SAME;
}

const struct unwind_fde *unwind_fde_find(const struct unwind_fde *fdes, size_t n, uint64_t key)
{
	size_t i = count_upto(fdes, n, end, key);

	return i < n && fdes[i].start <= key ? &fdes[i] : NULL;
}

const struct unwind_fde *unwind_rows_fde(const struct unwind_rows *r, uint64_t vaddr)
{
	return vaddr >= r->base ? unwind_fde_find(r->fdes.v, r->fdes.n, vaddr - r->base) : NULL;
}
