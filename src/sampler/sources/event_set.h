/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampling events of a source on every online CPU. The caller attaches the kernel program to
 * each event.
 */
#ifndef SAMPLER_SOURCES_EVENT_SET_H
#define SAMPLER_SOURCES_EVENT_SET_H

#include "base/text/str.h"
#include "base/vec.h"
#include "sampler/perf_ring.h"
#include "sampler/sources/event.h"
#include "sampler/sources/rate.h"

/*
 * Appends the names of the events that this machine has, with ", " between them. To find out, opens
 * and closes each event of event_names().
 */
void event_available(struct str *ret);

/* A sampling event as it was opened on one CPU. */
struct event_cpu {
	int cpu, fd;
	unsigned part; /* the period of this event is rate.period[part] */
	/* since when the kernel has stopped the event; 0: the event runs */
	uint64_t throttled_at_ns;
	/*
	 * ring with only the records THROTTLE, UNTHROTTLE and LOST; no samples are written to it,
	 * because the program returns 0
	 */
	struct perf_ring ring;
};

struct event_set {
	struct event event;
	/* id of the source, which the kernel program finds in perf_event_attr.wakeup_events */
	uint32_t id;
	/* the events of all CPUs; those of one CPU are next to each other */
	VEC(struct event_cpu) cpus;
	VEC(struct rate) rates; /* the rates of all CPUs, in the order of .cpus */
	uint64_t random;
	uint64_t throttled; /* how often the kernel has stopped an event for the rest of a tick */
	/* how often a throttle ring was full, so that .throttled is too low */
	uint64_t throttle_lost;
	/* for how long events were stopped in sum, without events that are still stopped */
	uint64_t throttled_ns;
};

/*
 * Opens @e, disabled, on all online CPUs for all processes (exclude_idle). With @watch_throttle
 * each event gets a ring of two pages, which event_set_poll() must empty every 100 ms or so. On
 * failure nothing stays open. -ENOENT/-EOPNOTSUPP: this machine lacks the event (the message names
 * the events that the machine has); -EACCES/-EPERM; -EINVAL, for example for a rate above
 * kernel.perf_event_max_sample_rate.
 */
_must_use_ int event_set_open(struct event_set *ret, const struct event *e, uint32_t id,
			      bool watch_throttle);
void event_set_close(struct event_set *s);

/* Switches all events on or off (PERF_EVENT_IOC_ENABLE, _DISABLE). 0 or -errno. */
_must_use_ int event_set_enable(struct event_set *s, bool on);

/* Reads the throttle rings, and adds to .throttled. */
void event_set_poll(struct event_set *s);

/* Counts @n samples that have come from @cpu. */
void event_set_came(struct event_set *s, int cpu, uint64_t n);

/*
 * Changes the periods of those CPUs for which a change is due, so that no program keeps in step
 * with a period for long.
 */
void event_set_vary(struct event_set *s);

/*
 * Changes the period of a clock to that of @e, which is the same event otherwise. The number of
 * parts (events of each CPU) stays as it was when the set was opened.
 */
void event_set_change(struct event_set *s, const struct event *e);

/* Returns how many sampling events (parts) each CPU has; 1 if the set was never opened. */
unsigned event_set_parts(const struct event_set *s);

/* Returns the value of kernel.perf_event_max_sample_rate; 0 if it isn't readable. */
uint32_t event_max_sample_rate(void);

#endif
