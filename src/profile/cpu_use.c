/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes and reads comments that say how much processes ran; see cpu_use.h. */
#include "profile/cpu_use.h"

#include <ctype.h>

typedef unsigned long long ull;

void cpu_use_split(struct cpu_use *u, uint64_t taken_ms)
{
	uint64_t rest;

	u->ran_ms = MIN(u->ran_ms, u->wall_ms);
	u->queued_ms = MIN(u->queued_ms, u->wall_ms - u->ran_ms);
	rest = u->wall_ms - u->ran_ms - u->queued_ms;
	u->unknown_ms = MIN(rest, taken_ms);
	u->waited_ms = rest - u->unknown_ms;
	u->main = true;
}

void cpu_use_print(const struct cpu_use *u, struct str *ret)
{
	if (u->all) {
		str_addf(ret, "all: %llu ms, CPU %llu ms, %u processes", (ull)u->wall_ms,
			 (ull)u->cpu_ms, u->processes);
		return;
	}
	str_addf(ret, "pid %u: %llu ms, CPU %llu ms, %u threads", u->pid, (ull)u->wall_ms,
		 (ull)u->cpu_ms, u->threads);
	if (u->main)
		str_addf(ret,
			 ", main thread ran %llu ms, queued %llu ms, waited %llu ms, "
			 "not known %llu ms",
			 (ull)u->ran_ms, (ull)u->queued_ms, (ull)u->waited_ms, (ull)u->unknown_ms);
	str_addf(ret, ": %s", u->name);
}

static bool take(const char **p, const char *words)
{
	if (!str_starts(*p, words))
		return false;
	*p += strlen(words);
	return true;
}

/*
 * the longest time, in ms, that is read from a comment: about 30 years. Sums of such times don't
 * overflow.
 */
#define MOST_MS 1000000000000ull

static bool take_number(const char **p, uint64_t most, uint64_t *ret)
{
	if (!isdigit((unsigned char)**p))
		return false;
	for (*ret = 0; isdigit((unsigned char)**p); (*p)++) {
		*ret = 10 * *ret + (uint64_t)(**p - '0');
		if (*ret > most)
			return false;
	}
	return true;
}

/* Reads "WORDS 12 ms". */
static bool take_ms(const char **p, const char *words, uint64_t *ret)
{
	return take(p, words) && take_number(p, MOST_MS, ret) && take(p, " ms");
}

static bool take_main_thread(const char **p, struct cpu_use *u)
{
	u->main = true;
	return take_ms(p, " ran ", &u->ran_ms) && take_ms(p, ", queued ", &u->queued_ms) &&
	       take_ms(p, ", waited ", &u->waited_ms) &&
	       take_ms(p, ", not known ", &u->unknown_ms) &&
	       u->ran_ms + u->queued_ms + u->waited_ms + u->unknown_ms == u->wall_ms;
}

static bool take_all(const char *p, struct cpu_use *u)
{
	uint64_t processes;

	u->all = true;
	if (!take_ms(&p, "", &u->wall_ms) || !take_ms(&p, ", CPU ", &u->cpu_ms) ||
	    !take(&p, ", ") || !take_number(&p, UINT32_MAX, &processes) || !streq(p, " processes"))
		return false;
	u->processes = (uint32_t)processes;
	return u->wall_ms > 0;
}

static bool take_process(const char *p, struct cpu_use *u)
{
	uint64_t pid, threads;

	if (!take_number(&p, UINT32_MAX, &pid) || !take_ms(&p, ": ", &u->wall_ms) ||
	    !take_ms(&p, ", CPU ", &u->cpu_ms) || !take(&p, ", ") ||
	    !take_number(&p, UINT32_MAX, &threads) || !take(&p, " threads"))
		return false;
	u->pid = (uint32_t)pid;
	u->threads = (uint32_t)threads;
	if (take(&p, ", main thread") && !take_main_thread(&p, u))
		return false;
	u->name = p + strlen(": ");
	return u->wall_ms > 0 && str_starts(p, ": ");
}

bool cpu_use_is(const char *comment)
{
	return str_starts(comment, CPU_USE ": ");
}

bool cpu_use_parse(const char *comment, struct cpu_use *ret)
{
	const char *p = comment;

	*ret = (struct cpu_use){};
	if (!take(&p, CPU_USE ": "))
		return false;
	if (take(&p, "all: "))
		return take_all(p, ret);
	return take(&p, "pid ") && take_process(p, ret);
}
