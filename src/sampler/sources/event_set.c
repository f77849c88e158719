/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens sampling events on all CPUs, switches them on and off, and counts how the kernel throttles
 * them.
 */
#include "sampler/sources/event_set.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "proc/machine/cpus.h"

uint32_t event_max_sample_rate(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned v;

	return f && fscanf(f, "%u", &v) == 1 ? v : 0;
}

/*
 * Returns the attributes of event @e. @period: a .period of struct rate. @id: id of the source,
 * which is put into .wakeup_events, where the kernel program finds it. krait has no other use for
 * that member, because nobody waits for the event's ring.
 */
static struct perf_event_attr attr_of(const struct event *e, uint64_t period, uint32_t id)
{
	struct perf_event_attr attr = {
		.type = e->type,
		.config = e->config,
		.disabled = 1,
		.exclude_user = e->exclude_user,
		.exclude_kernel = e->exclude_kernel,
		.exclude_hv = e->exclude_kernel,
		.precise_ip = e->precise,
		.wakeup_events = id,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC, /* the clock for the times in THROTTLE records */
	};

	attr.exclude_idle = e->source->skips_idle;
	attr.freq = !e->period;
	/* also sets .sample_freq, which is the same word (a union) */
	attr.sample_period = period;
	return attr;
}

/*
 * Does this machine have the event at all? Opens it for krait's own process in user mode to find
 * out.
 */
static bool available(const char *name)
{
	_cleanup_close_ int fd = -1;
	struct perf_event_attr attr;
	struct event e;

	if (event_parse(&e, name))
		return false;
	if (e.source->whole)
		/*
		 * software events aren't tried: every kernel that loads krait's programs has them
		 */
		return true;
	e.period = 1u << 20;
	e.exclude_kernel = true;
	attr = attr_of(&e, e.period, 0);
	fd = perf_event_open_fd(&attr, 0, -1);
	return fd >= 0;
}

void event_available(struct str *ret)
{
	size_t before = ret->n;

	for (const char *const *name = event_names(); *name; name++)
		if (available(*name))
			str_addf(ret, "%s%s", ret->n > before ? ", " : "", *name);
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

static int open_part(struct event_set *s, const struct rate *rate, unsigned part,
		     bool watch_throttle)
{
	struct perf_event_attr attr = attr_of(&s->event, rate->period[part], s->id);
	_cleanup_close_ int fd = perf_event_open_fd(&attr, -1, rate->cpu);
	struct event_cpu c = {.cpu = rate->cpu, .part = part};
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

static void close_part(struct event_cpu *c)
{
	perf_ring_unmap(&c->ring);
	close(c->fd);
}

/* Opens all events of @cpu, or none of them. */
static int open_cpu(struct event_set *s, int cpu, bool watch_throttle)
{
	struct rate rate = {.cpu = cpu};
	size_t before = s->cpus.n;
	int r = 0;

	rate_draw(&rate, &s->event, 0, &s->random);
	for (unsigned i = 0; !r && i < rate.parts; i++)
		r = open_part(s, &rate, i, watch_throttle);
	r = r ? r : vec_push(&s->rates, rate);
	while (r && s->cpus.n > before)
		close_part(&s->cpus.v[--s->cpus.n]);
	return r;
}

static void warn_of_limit(const struct event *e)
{
	uint32_t max = event_max_sample_rate();

	/*
	 * The kernel accepts a fixed period that is too short, but throttles the event in every
	 * tick.
	 */
	if (e->source->clock && max && NSEC_PER_SEC / e->period > max)
		log_warn("%llu Hz is above the kernel's limit of %u: samples will be throttled; "
			 "raise it with `sysctl kernel.perf_event_max_sample_rate=%llu`",
			 NSEC_PER_SEC / e->period, max, NSEC_PER_SEC / e->period);
}

int event_set_open(struct event_set *ret, const struct event *e, uint32_t id, bool watch_throttle)
{
	struct event_set s = {.event = *e, .id = id};
	cpu_vec cpus = {};
	int r = cpus_online(&cpus), gone = 0;

	if (r)
		return r;
	if (getrandom(&s.random, sizeof(s.random), GRND_NONBLOCK) < 0)
		/* early after boot the kernel has no random bytes yet */
		s.random = clock_ns(CLOCK_MONOTONIC);
	warn_of_limit(e);
	vec_foreach(cpu, &cpus) {
		r = open_cpu(&s, *cpu, watch_throttle);
		if (r == -ENODEV || r == -ENXIO) {
			gone = r; /* the CPU has gone offline since the list of CPUs was read */
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
	vec_foreach(c, &s->cpus)
		close_part(c);
	vec_fini(&s->cpus);
	vec_fini(&s->rates);
}

int event_set_enable(struct event_set *s, bool on)
{
	unsigned long what = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	vec_foreach(c, &s->cpus)
		if (ioctl(c->fd, what, 0))
			return err_sys(-errno, "can't switch the sampling of CPU %d %s", c->cpu,
				       on ? "on" : "off");
	vec_foreach(rate, &s->rates)
		rate->since_ns = on ? clock_ns(CLOCK_MONOTONIC) : 0;
	return 0;
}

void event_set_came(struct event_set *s, int cpu, uint64_t n)
{
	vec_foreach(rate, &s->rates)
		if (rate->cpu == cpu)
			rate->records += n;
}

/*
 * Gives the events of a CPU new periods. An error is ignored, and the old period stays: the CPU
 * went offline, or the rate is above the kernel's limit.
 */
static void set_periods(struct event_set *s, const struct rate *rate)
{
	vec_foreach(c, &s->cpus) {
		uint64_t period = rate->period[c->part];

		if (c->cpu == rate->cpu && ioctl(c->fd, PERF_EVENT_IOC_PERIOD, &period))
			log_debug("the sampling period of CPU %d can't be changed: %s", c->cpu,
				  strerror(errno));
	}
}

void event_set_vary(struct event_set *s)
{
	vec_foreach(rate, &s->rates) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (!rate_is_due(rate, &s->event, now))
			continue;
		rate_draw(rate, &s->event, now, &s->random);
		set_periods(s, rate);
	}
}

void event_set_change(struct event_set *s, const struct event *e)
{
	vec_foreach(rate, &s->rates) {
		rate_change(rate, &s->event, e, clock_ns(CLOCK_MONOTONIC), &s->random);
		set_periods(s, rate);
	}
	s->event = *e;
}

unsigned event_set_parts(const struct event_set *s)
{
	return s->rates.n ? s->rates.v[0].parts : 1;
}

/*
 * Counts what a record tells. THROTTLE and UNTHROTTLE are {u64 time, id, stream_id}; LOST is {u64
 * id, lost}.
 */
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

	vec_foreach(c, &s->cpus) {
		perf_ring_begin(&c->ring);
		for (; (h = perf_ring_peek(&c->ring)); perf_ring_next(&c->ring))
			count_record(s, c, h);
		perf_ring_end(&c->ring);
	}
}
