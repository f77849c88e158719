/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which processes have ended; see lives.h. */
#include "sampler/sideband/lives.h"

/*
 * How a value of lives.of is made up: two flags, and above them the time when the first thread of
 * the process ended; 0: it hasn't ended.
 */
#define BEGAN	  1u
#define THREADS	  2u
#define END_SHIFT 2

void lives_clear(struct lives *l)
{
	map_clear(&l->of);
	l->unsure = false;
}

void lives_fini(struct lives *l)
{
	map_fini(&l->of);
}

static uint64_t life_of(const struct lives *l, uint32_t tgid)
{
	const uint64_t *life = map_get(&l->of, tgid);

	return life ? *life : 0;
}

void lives_began(struct lives *l, uint32_t tgid)
{
	(void)!map_put(&l->of, tgid, life_of(l, tgid) | BEGAN);
}

void lives_thread(struct lives *l, uint32_t tgid)
{
	if (map_put(&l->of, tgid, life_of(l, tgid) | THREADS))
		l->unsure = true;
}

void lives_ended(struct lives *l, uint32_t tgid, uint64_t time_ns)
{
	uint64_t life = life_of(l, tgid);
	uint64_t end = MAX(life >> END_SHIFT, time_ns);

	(void)!map_put(&l->of, tgid, end << END_SHIFT | (life & (BEGAN | THREADS)));
}

bool lives_gone(const struct lives *l, uint32_t tgid, uint64_t time_ns)
{
	uint64_t life = life_of(l, tgid);
	uint64_t end_ns = life >> END_SHIFT;

	return !l->unsure && life & BEGAN && !(life & THREADS) && end_ns && end_ns >= time_ns;
}
