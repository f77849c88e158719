/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions for callers that walk stacks themselves: they make unwind rows, and stacks with kernel
 * frames alone; see collect.h.
 */
#include "collect/internal.h"

bool collect_want_rows(struct collect *c, uint32_t version, uint64_t pc)
{
	uint64_t vaddr;
	struct native_file *f = space_find(c, version, NO_PROCESS, pc, &vaddr);

	if (!f)
		return false;
	native_rows_want(c, f);
	return native_rows_coming(f);
}

bool collect_rows_coming(const struct collect *c)
{
	vec_foreach(f, &c->natives->files)
		if (native_rows_coming(*f))
			return true;
	return false;
}

void collect_await(struct collect *c)
{
	native_work_take(c, true);
}

uint32_t collect_kernel_stack(struct collect *c, const __u64 *pc, size_t n)
{
	uint32_t locations[ABI_MAX_KERNEL];
	uint64_t at[ABI_MAX_KERNEL];

	n = MIN(n, (size_t)ABI_MAX_KERNEL);
	for (size_t i = 0; i < n; i++)
		at[i] = pc[i];
	while (!kernel_ready(c, at, n) && !c->hurried)
		collect_await(c);
	for (size_t i = 0; i < n; i++)
		locations[i] = kernel_location(c, at[i]);
	return profile_stack(c->profile, locations, n);
}
