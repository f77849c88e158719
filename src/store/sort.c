/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts rows by counting how many have each key; see sort.h. */
#include "store/sort.h"

#include "base/cleanup.h"
#include "base/nomem.h"

static uint32_t key_of(const uint32_t *keys, size_t stride, size_t i)
{
	return *(const uint32_t *)((const char *)keys + i * stride);
}

int sort_rows(const uint32_t *keys, size_t stride, size_t n, uint32_t **ret)
{
	_cleanup_free_ uint32_t *order = calloc(n + 1, sizeof(*order)), *at = NULL;
	uint32_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = MAX(most, key_of(keys, stride, i));
	at = calloc((size_t)most + 2, sizeof(*at));
	if (!order || !at)
		return err_nomem();
	for (size_t i = 0; i < n; i++)
		at[(size_t)key_of(keys, stride, i) + 1]++;
	for (size_t key = 1; key <= most; key++)
		at[key] += at[key - 1];
	for (size_t i = 0; i < n; i++)
		order[at[key_of(keys, stride, i)]++] = (uint32_t)i;
	*ret = TAKE_PTR(order);
	return 0;
}
