/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that the CPU counts: cycles, instructions, cache accesses, and raw events by their code.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "sampler/sources/source.h"

#define HARDWARE(name, alias, event)                                                               \
	{                                                                                          \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##event                             \
	}
#define CACHE(name, cache, op, result)                                                             \
	{                                                                                          \
		name, NULL, PERF_TYPE_HW_CACHE,                                                    \
			PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |           \
				PERF_COUNT_HW_CACHE_RESULT_##result << 16                          \
	}

static const struct source_event events[] = {
	HARDWARE("cycles", "cpu-cycles", CPU_CYCLES),
	HARDWARE("ref-cycles", NULL, REF_CPU_CYCLES),
	HARDWARE("bus-cycles", NULL, BUS_CYCLES),
	HARDWARE("instructions", NULL, INSTRUCTIONS),
	HARDWARE("branches", "branch-instructions", BRANCH_INSTRUCTIONS),
	HARDWARE("branch-misses", NULL, BRANCH_MISSES),
	HARDWARE("cache-references", NULL, CACHE_REFERENCES),
	HARDWARE("cache-misses", NULL, CACHE_MISSES),
	HARDWARE("stalled-cycles-frontend", NULL, STALLED_CYCLES_FRONTEND),
	HARDWARE("stalled-cycles-backend", NULL, STALLED_CYCLES_BACKEND),
	CACHE("L1-dcache-loads", L1D, READ, ACCESS),
	CACHE("L1-dcache-load-misses", L1D, READ, MISS),
	CACHE("L1-icache-load-misses", L1I, READ, MISS),
	CACHE("LLC-loads", LL, READ, ACCESS),
	CACHE("LLC-load-misses", LL, READ, MISS),
	CACHE("dTLB-load-misses", DTLB, READ, MISS),
	CACHE("iTLB-load-misses", ITLB, READ, MISS),
};

/* Parses a raw event like "r1a8": the code of an event of this CPU's own PMU. */
static bool parse_raw(struct source_event *ret, const char *name)
{
	char *end;

	if (name[0] != 'r' || !name[1] ||
	    strspn(name + 1, "0123456789abcdefABCDEF") != strlen(name + 1))
		return false;
	errno = 0;
	*ret = (struct source_event){name, NULL, PERF_TYPE_RAW, strtoull(name + 1, &end, 16)};
	return errno == 0;
}

const struct event_source source_hardware = {
	.program = "on_sample",
	.events = events,
	.n_events = ARRAY_SIZE(events),
	.parse = parse_raw,
	.unit = "count",
	/*
	 * on arm64 the kernel can't exclude the idle task (exclude_idle), so the idle task's
	 * samples come, and the kernel program drops them
	 */
	.skips_idle = false,
};
