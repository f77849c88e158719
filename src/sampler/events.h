/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What drives sampling: `-e EVENT` with `-F HZ` or `-c COUNT`, opened on every online CPU. The
 * caller attaches the BPF program (bpf_program__attach_perf_event() on each descriptor).
 */
#ifndef SAMPLER_EVENTS_H
#define SAMPLER_EVENTS_H

#include "base/str.h"
#include "base/util.h"
#include "base/vec.h"
#include "sampler/perf_ring.h"
#include "sampler/rate.h"

struct event {
	char name[48]; /* the event's name with its modifiers: "cycles:u" */
	uint32_t type; /* PERF_TYPE_* */
	uint64_t config;
	bool exclude_user, exclude_kernel;
	uint8_t precise; /* becomes perf_event_attr.precise_ip */
	bool clock;	 /* the event is a clock (cpu-clock, task-clock): periods are nanoseconds */
	char sample_type[48]; /* name for the type of the samples' value: "cpu", "cycles", ... */
	const char *unit;     /* unit of the samples' value: "nanoseconds" or "count" */
	/* the average period, in the event's unit; 0 = the kernel adapts the period to .hz */
	uint64_t period;
	/* the rate that was asked for, per second; 0 when a period was asked for */
	uint32_t hz;
	bool own_rate; /* the event itself names its rate: .hz or .period is set */
};

/*
 * Parses NAME[:MODIFIERS] or NAME/RATE/[MODIFIERS], as perf does: a name of the list below, or rHEX
 * (raw); modifiers u (user), k (kernel), p (precise, up to ppp); RATE is period=N or freq=HZ. 0;
 * -EINVAL with a message, for an unknown event with the names of all.
 */
_must_use_ int event_parse(struct event *ret, const char *spec);

/*
 * Sets the rate of an event that names none itself: exactly one of @hz and @count is not 0. Clocks get the period 1e9 / hz. 0; -EINVAL
 * with a message for a rate that no kernel offers (a clock period under 10 us: cpu-clock's hrtimer
 * would quietly take 10 us).
 */
_must_use_ int event_set_rate(struct event *e, uint32_t hz, uint64_t count);

/* Returns the names of all events that event_parse() knows, NULL-terminated. */
const char *const *event_names(void);

/*
 * Appends those of event_names() that this machine has, with ", " between. Opens and closes each
 * event.
 */
void event_available(struct str *ret);

/* A sampling event as it was opened on one CPU. */
struct event_cpu {
	int cpu, fd;
	unsigned part;		  /* which .period of the CPU's struct rate the event has */
	uint64_t throttled_at_ns; /* since when the kernel has stopped the event; 0: it runs */
	/*
	 * only for records THROTTLE, UNTHROTTLE and LOST; no samples come, because the program
	 * returns 0
	 */
	struct perf_ring ring;
};

struct event_set {
	struct event event;
	uint32_t id; /* of the source: perf_event_attr.wakeup_events, where the program finds it */
	VEC(struct event_cpu) cpus; /* all events; those of one CPU come one after the other */
	VEC(struct rate) rates;	    /* the rates of the CPUs, in the order of .cpus */
	uint64_t random;
	uint64_t throttled; /* how often the kernel has stopped an event for the rest of a tick */
	uint64_t throttle_lost; /* how often a ring was full, so that .throttled is too low */
	/* how long events were stopped in all, without those that still are */
	uint64_t throttled_ns;
};

/*
 * Opens @e, disabled, on all online CPUs for all processes (exclude_idle). With @watch_throttle
 * each event gets a ring of two pages, which event_set_poll() must empty every 100 ms or so. On
 * failure nothing stays open. -ENOENT/-EOPNOTSUPP: this machine lacks the event (the message names
 * those it has); -EACCES/-EPERM; -EINVAL: above kernel.perf_event_max_sample_rate, ...
 */
_must_use_ int event_set_open(struct event_set *ret, const struct event *e, uint32_t id,
			      bool watch_throttle);
void event_set_close(struct event_set *s);

/* Switches all events on or off (PERF_EVENT_IOC_ENABLE, _DISABLE). 0 or -errno. */
_must_use_ int event_set_enable(struct event_set *s, bool on);

/* Reads the rings that tell of throttling, and adds to .throttled. */
void event_set_poll(struct event_set *s);

/* Counts @n samples that have come from @cpu. */
void event_set_came(struct event_set *s, int cpu, uint64_t n);

/*
 * Changes the periods of CPUs where that is due, so that no program is in step with them for long.
 */
void event_set_vary(struct event_set *s);

/* Returns the value of kernel.perf_event_max_sample_rate; 0 if it isn't readable. */
uint32_t event_max_sample_rate(void);

#endif
