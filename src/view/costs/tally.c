/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up values by key, and remembers the key with the largest sum; see tally.h. */
#include "view/costs/tally.h"

#include <errno.h>

#include "view/costs/costs.h"

int tally_add(struct tally *t, uint64_t key, uint32_t location, int64_t value)
{
	uint64_t *sum = map_get(&t->of, key);

	if (!sum && !map_put(&t->of, key, 0))
		sum = map_get(&t->of, key);
	if (!sum)
		return -ENOMEM;
	costs_sum((int64_t *)sum, value);
	if ((int64_t)*sum > t->most) {
		t->most = (int64_t)*sum;
		t->location = location;
	}
	return 0;
}
