/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of values by key, for a caller that wants to know the key with the largest sum. */
#ifndef VIEW_COSTS_TALLY_H
#define VIEW_COSTS_TALLY_H

#include "base/map.h"

struct tally {
	struct map of; /* from a key to its sum, as int64_t */
	int64_t most;  /* the largest sum */
	/* the location that tally_add() was given when the largest sum last grew */
	uint32_t location;
};

static inline void tally_init(struct tally *t)
{
	*t = (struct tally){};
	map_init(&t->of);
}

static inline void tally_clear(struct tally *t)
{
	map_clear(&t->of);
	t->most = t->location = 0;
}

static inline void tally_fini(struct tally *t)
{
	map_fini(&t->of);
}

/* Adds @value > 0 to the sum of @key. 0 or -ENOMEM. */
_must_use_ int tally_add(struct tally *t, uint64_t key, uint32_t location, int64_t value);

#endif
