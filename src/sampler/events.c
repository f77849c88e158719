/* SPDX-License-Identifier: BSD-2-Clause */
/* Sampling events: their names, their rates, and one descriptor per CPU. */
#include "sampler/events.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/cpus.h"

#define CACHE(cache, op, result)                                                                   \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                          \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* X(name, other name, perf type, config); names as perf(1) has them. */
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
		"(kernel)",
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

/* "r1a8": an event code of this CPU's own PMU. */
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

int event_parse(struct event *ret, const char *spec)
{
	struct event e = {};
	char base[sizeof(e.name)];
	size_t n = strcspn(spec, ":");

	if (strlen(spec) >= sizeof(e.name))
		return unknown(spec);
	memcpy(e.name, spec, strlen(spec) + 1);
	memcpy(base, spec, n);
	base[n] = '\0';
	if (!parse_base(&e, base) || (spec[n] && !parse_modifiers(&e, spec + n + 1)))
		return unknown(spec);
	e.unit = e.clock ? "nanoseconds" : "count";
	*ret = e;
	return 0;
}

/* perf_swevent_start_hrtimer() (kernel/events/core.c) raises a shorter period to this. */
#define CLOCK_MIN_NS 10000

int event_set_rate(struct event *e, uint32_t hz, uint64_t count)
{
	uint64_t period = count ? count : e->clock && hz ? NSEC_PER_SEC / hz : 0;

	if ((hz != 0) == (count != 0))
		return err_set(-EINVAL, "give a frequency or a count, not both and not 0");
	if (count >> 63) /* perf_event_open: sample_period & (1ULL << 63) is EINVAL */
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

uint32_t event_max_sample_rate(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned v;

	return f && fscanf(f, "%u", &v) == 1 ? v : 0;
}

static struct perf_event_attr attr_of(const struct event *e)
{
	struct perf_event_attr attr = {
		.type = e->type,
		.config = e->config,
		.disabled = 1,
		.exclude_user = e->exclude_user,
		.exclude_kernel = e->exclude_kernel,
		.exclude_hv = e->exclude_kernel,
		.precise_ip = e->precise,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC, /* of THROTTLE records */
	};

	/* arm64's PMU refuses it; a hardware event of the idle task is dropped by the program. */
	attr.exclude_idle = e->type == PERF_TYPE_SOFTWARE;
	if (e->period) {
		attr.sample_period = e->period;
	} else {
		attr.freq = 1;
		attr.sample_freq = e->hz;
	}
	return attr;
}

/* Whether this machine has the event at all, asked about our own process in user mode. */
static bool available(const struct known *k)
{
	struct perf_event_attr attr = {.type = k->type,
				       .config = k->config,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1,
				       .sample_period = 1u << 20};
	_cleanup_close_ int fd = perf_event_open_fd(&attr, 0, -1);

	return fd >= 0;
}

void event_available(struct str *ret)
{
	size_t before = ret->n;

	for (size_t i = 0; i < ARRAY_SIZE(known_events); i++)
		if (available(&known_events[i]))
			str_addf(ret, "%s%s", ret->n > before ? ", " : "", known_events[i].name);
}

static int open_error(int r, const struct event *e)
{
	_cleanup_str_ struct str list = {};
	uint32_t max = event_max_sample_rate();

	switch (r) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
	case -EOPNOTSUPP:
		event_available(&list);
		return err_set(r,
			       "this machine has no event %s (virtual machines often lack a CPU's "
			       "counters); it has %s",
			       e->name, list.n ? list.s : "none");
	case -EINVAL:
		if (!e->period && max && e->hz > max)
			return err_set(r,
				       "%u Hz is above the kernel's limit of %u; raise it with "
				       "`sysctl kernel.perf_event_max_sample_rate=%u`",
				       e->hz, max, e->hz);
		return err_set(r, "the kernel refuses event %s with these modifiers or this rate",
			       e->name);
	default:
		return perf_event_error(r, "sampling all processes");
	}
}

static int open_cpu(struct event_set *s, const struct event *e, int cpu, bool watch_throttle)
{
	struct perf_event_attr attr = attr_of(e);
	_cleanup_close_ int fd = perf_event_open_fd(&attr, -1, cpu);
	struct event_cpu c = {.cpu = cpu};
	int r;

	if (fd < 0)
		return fd;
	if (watch_throttle && (r = perf_ring_map(&c.ring, fd, 1)))
		return r;
	c.fd = fd;
	r = vec_push(&s->cpus, c);
	if (r)
		perf_ring_unmap(&c.ring);
	else
		TAKE_FD(fd);
	return r;
}

static void warn_of_limit(const struct event *e)
{
	uint32_t max = event_max_sample_rate();

	/* A fixed period is accepted above the limit, and then throttled in every tick. */
	if (e->clock && max && NSEC_PER_SEC / e->period > max)
		log_warn("%llu Hz is above the kernel's limit of %u: samples will be throttled; "
			 "raise it "
			 "with `sysctl kernel.perf_event_max_sample_rate=%llu`",
			 NSEC_PER_SEC / e->period, max, NSEC_PER_SEC / e->period);
}

int event_set_open(struct event_set *ret, const struct event *e, bool watch_throttle)
{
	struct event_set s = {};
	cpu_vec cpus = {};
	int r = cpus_online(&cpus), gone = 0;

	if (r)
		return r;
	warn_of_limit(e);
	vec_foreach (cpu, &cpus) {
		r = open_cpu(&s, e, *cpu, watch_throttle);
		if (r == -ENODEV || r == -ENXIO) {
			gone = r; /* this CPU went offline since the list was read */
			r = 0;
		}
		if (r)
			break;
	}
	vec_fini(&cpus);
	if (!r && !s.cpus.n)
		r = gone;
	if (r) {
		event_set_close(&s);
		return open_error(r, e);
	}
	*ret = s;
	return 0;
}

void event_set_close(struct event_set *s)
{
	vec_foreach (c, &s->cpus) {
		perf_ring_unmap(&c->ring);
		close(c->fd);
	}
	vec_fini(&s->cpus);
}

int event_set_enable(struct event_set *s, bool on)
{
	unsigned long what = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	vec_foreach (c, &s->cpus)
		if (ioctl(c->fd, what, 0))
			return err_sys(-errno, "can't switch the sampling of CPU %d %s", c->cpu,
				       on ? "on" : "off");
	return 0;
}

/* THROTTLE and UNTHROTTLE: {u64 time, id, stream_id}; LOST: {u64 id, lost}. */
static void count_record(struct event_set *s, struct event_cpu *c,
			 const struct perf_event_header *h)
{
	uint64_t first = 0;

	if (h->size >= sizeof(*h) + sizeof(first))
		memcpy(&first, h + 1, sizeof(first));
	if (h->type == PERF_RECORD_THROTTLE) {
		s->throttled++;
		c->throttled_at_ns = first;
	} else if (h->type == PERF_RECORD_UNTHROTTLE && c->throttled_at_ns) {
		s->throttled_ns += first - MIN(c->throttled_at_ns, first);
		c->throttled_at_ns = 0;
	} else if (h->type == PERF_RECORD_LOST) {
		s->throttle_lost++;
	}
}

void event_set_poll(struct event_set *s)
{
	const struct perf_event_header *h;

	vec_foreach (c, &s->cpus) {
		perf_ring_begin(&c->ring);
		for (; (h = perf_ring_peek(&c->ring)); perf_ring_next(&c->ring))
			count_record(s, c, h);
		perf_ring_end(&c->ring);
	}
}
