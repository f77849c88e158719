/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up how many bytes a recording keeps, and says how many it may keep. */
#include "collect/common/state.h"

/*
 * Each job may use at least this much memory: unwind rows and names of Debian's static python3 need
 * 17 MiB.
 */
#define LEAST_JOB ((size_t)32 << 20)

size_t collect_bytes(const struct collect *c)
{
	return profile_bytes(c->profile) + c->kept.codes;
}

size_t collect_kept_bytes(const struct collect *c)
{
	return c->kept.names + c->kept.rows + c->kept.lists + c->kept.maps + c->kept.sets;
}

bool collect_is_full(const struct collect *c)
{
	return c->config.max_bytes &&
	       collect_bytes(c) + collect_kept_bytes(c) + c->kept.waiting >= c->config.max_bytes;
}

size_t memory_for_names(const struct collect *c)
{
	return c->config.max_bytes ? c->config.max_bytes / 2 : SIZE_MAX;
}

size_t memory_for_job(const struct collect_config *config)
{
	return config->max_bytes ? MAX(config->max_bytes / 2, LEAST_JOB) : SIZE_MAX;
}
