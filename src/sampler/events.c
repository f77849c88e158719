/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns an event and its rate (`-e`, `-F`, `-c`) into fields of perf_event_attr. */
#include "sampler/events.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"

#define CACHE(cache, op, result)                                                                   \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                          \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* The events by name: X(name, other name, perf type, config); names as in perf(1). */
#define EVENTS(X)                                                                                  \
	X("cpu-clock", "", SOFTWARE, PERF_COUNT_SW_CPU_CLOCK)                                      \
	X("task-clock", "", SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)                                    \
	X("page-faults", "faults", SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS)                            \
	X("minor-faults", "", SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN)                             \
	X("major-faults", "", SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ)                             \
	X("context-switches", "cs", SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES)                      \
	X("cpu-migrations", "migrations", SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS)                  \
	X("alignment-faults", "", SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS)                        \
	X("emulation-faults", "", SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS)                        \
	X("cycles", "cpu-cycles", HARDWARE, PERF_COUNT_HW_CPU_CYCLES)                              \
	X("ref-cycles", "", HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES)                                \
	X("bus-cycles", "", HARDWARE, PERF_COUNT_HW_BUS_CYCLES)                                    \
	X("instructions", "", HARDWARE, PERF_COUNT_HW_INSTRUCTIONS)                                \
	X("branches", "branch-instructions", HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS)          \
	X("branch-misses", "", HARDWARE, PERF_COUNT_HW_BRANCH_MISSES)                              \
	X("cache-references", "", HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES)                        \
	X("cache-misses", "", HARDWARE, PERF_COUNT_HW_CACHE_MISSES)                                \
	X("stalled-cycles-frontend", "", HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND)          \
	X("stalled-cycles-backend", "", HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND)            \
	X("L1-dcache-loads", "", HW_CACHE, CACHE(L1D, READ, ACCESS))                               \
	X("L1-dcache-load-misses", "", HW_CACHE, CACHE(L1D, READ, MISS))                           \
	X("L1-icache-load-misses", "", HW_CACHE, CACHE(L1I, READ, MISS))                           \
	X("LLC-loads", "", HW_CACHE, CACHE(LL, READ, ACCESS))                                      \
	X("LLC-load-misses", "", HW_CACHE, CACHE(LL, READ, MISS))                                  \
	X("dTLB-load-misses", "", HW_CACHE, CACHE(DTLB, READ, MISS))                               \
	X("iTLB-load-misses", "", HW_CACHE, CACHE(ITLB, READ, MISS))

struct known {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
};

static const struct known known_events[] = {
#define X(name, alias, type, config) {name, alias, PERF_TYPE_##type, config},
	EVENTS(X)
#undef X
};

static const char *const names[] = {
#define X(name, alias, type, config) name,
	EVENTS(X)
#undef X
		NULL,
};

const char *const *event_names(void)
{
	return names;
}

static int unknown(const char *spec)
{
	_cleanup_str_ struct str list = {};

	for (size_t i = 0; names[i]; i++)
		str_addf(&list, "%s%s", i ? ", " : "", names[i]);
	return err_set(
		-EINVAL,
		"unknown event '%.60s'; there are %s and rHEX, each also with :u (user) or :k "
		"(kernel), or with a rate of its own, as in NAME/period=1/ or NAME/freq=99/",
		spec, str_cstr(&list));
}

static bool parse_modifiers(struct event *e, const char *s)
{
	bool user = false, kernel = false;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s == 'u')
			user = true;
		else if (*s == 'k')
			kernel = true;
		else if (*s == 'p' && e->precise < 3)
			e->precise++;
		else
			return false;
	}
	if (user != kernel) {
		e->exclude_user = kernel;
		e->exclude_kernel = user;
	}
	return true;
}

/* Reads "r1a8": the code of an event of this CPU's own PMU. */
static bool parse_raw(struct event *e, const char *base)
{
	char *end;

	if (base[0] != 'r' || !base[1] ||
	    strspn(base + 1, "0123456789abcdefABCDEF") != strlen(base + 1))
		return false;
	errno = 0;
	e->config = strtoull(base + 1, &end, 16);
	e->type = PERF_TYPE_RAW;
	return errno == 0;
}

static bool parse_base(struct event *e, const char *base)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_events); i++) {
		const struct known *k = &known_events[i];

		if (!streq(base, k->name) && (!*k->alias || !streq(base, k->alias)))
			continue;
		e->type = k->type;
		e->config = k->config;
		e->clock = k->type == PERF_TYPE_SOFTWARE && (k->config == PERF_COUNT_SW_CPU_CLOCK ||
							     k->config == PERF_COUNT_SW_TASK_CLOCK);
		snprintf(e->sample_type, sizeof(e->sample_type), "%s", e->clock ? "cpu" : k->name);
		return true;
	}
	snprintf(e->sample_type, sizeof(e->sample_type), "%s", base);
	return parse_raw(e, base);
}

/*
 * The shortest period of a clock: perf_swevent_start_hrtimer() (kernel/events/core.c) raises
 * shorter ones to it.
 */
#define CLOCK_MIN_NS 10000

static int set_rate(struct event *e, uint32_t hz, uint64_t count)
{
	uint64_t period = count ? count : e->clock && hz ? NSEC_PER_SEC / hz : 0;

	if ((hz != 0) == (count != 0))
		return err_set(-EINVAL, "give a frequency or a count, not both and not 0");
	if (count >> 63) /* perf_event_open() refuses periods of 2^63 and more with EINVAL */
		return err_set(-EINVAL, "a count of %llu is too large", (unsigned long long)count);
	if (e->clock && period < CLOCK_MIN_NS)
		return err_set(
			-EINVAL,
			"%s can't be faster than one sample in %d ns (%llu Hz); ask for less",
			e->name, CLOCK_MIN_NS, NSEC_PER_SEC / CLOCK_MIN_NS);
	e->hz = hz;
	e->period = period;
	return 0;
}

/* Reads "period=N" or "freq=HZ", @n characters of @s. */
static bool parse_term(struct event *e, const char *s, size_t n)
{
	bool period = str_starts(s, "period=");
	const char *digits = s + strlen(period ? "period=" : "freq=");
	char *end;
	uint64_t v;

	if (!period && !str_starts(s, "freq="))
		return false;
	if (!isdigit((unsigned char)*digits))
		return false;
	errno = 0;
	v = strtoull(digits, &end, 10);
	if (end != s + n || errno || !v || (!period && v > UINT32_MAX))
		return false;
	e->own_rate = true;
	e->period = period ? v : 0;
	e->hz = period ? 0 : (uint32_t)v;
	return true;
}

/* Reads what follows the name: ":MODIFIERS", "/RATE/" or "/RATE/MODIFIERS". */
static bool parse_rest(struct event *e, const char *rest)
{
	size_t n;

	if (*rest != '/')
		return !*rest || parse_modifiers(e, rest + 1);
	n = strcspn(++rest, "/");
	return rest[n] && parse_term(e, rest, n) &&
	       (!rest[n + 1] || parse_modifiers(e, rest + n + 1));
}

int event_parse(struct event *ret, const char *spec)
{
	struct event e = {};
	size_t n = strcspn(spec, ":/");
	const char *modifiers = strrchr(spec, spec[n]); /* behind the last ':' or '/' */
	int r;

	if (strlen(spec) >= sizeof(e.name))
		return unknown(spec);
	memcpy(e.name, spec, n);
	if (!parse_base(&e, e.name) || !parse_rest(&e, spec + n))
		return unknown(spec);
	if (spec[n] && modifiers[1])
		snprintf(e.name + n, sizeof(e.name) - n, ":%s", modifiers + 1);
	e.unit = e.clock ? "nanoseconds" : "count";
	r = e.own_rate ? set_rate(&e, e.hz, e.period) : 0;
	if (!r)
		*ret = e;
	return r;
}

int event_set_rate(struct event *e, uint32_t hz, uint64_t count)
{
	return e->own_rate ? 0 : set_rate(e, hz, count);
}
