/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts processes and threads by the labels of the profile; see census.h. */
#include "record/figures/census.h"

static void take_set(struct census *c, const struct profile *p, uint32_t set)
{
	uint64_t process = (uint64_t)profile_label_value(p, set, "process") << 32 |
			   profile_label_value(p, set, "pid");
	const uint64_t *number = map_get(&c->processes, process);
	uint64_t n = number ? *number : c->processes.n;

	if (!number && map_put(&c->processes, process, n))
		return;
	(void)!map_put(&c->threads, n << 32 | profile_label_value(p, set, "tid"), 1);
}

void census_take(struct census *c, const struct profile *p)
{
	while (c->sets < profile_n_labels(p))
		take_set(c, p, (uint32_t)++c->sets);
}

void census_fini(struct census *c)
{
	map_fini(&c->processes);
	map_fini(&c->threads);
}
