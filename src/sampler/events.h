/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What drives sampling: `-e EVENT` with `-F HZ` or `-c COUNT`, opened on every online CPU. The BPF
 * program is attached by the caller (bpf_program__attach_perf_event() on each descriptor).
 */
#ifndef SAMPLER_EVENTS_H
#define SAMPLER_EVENTS_H

#include "base/str.h"
#include "base/util.h"
#include "base/vec.h"
#include "sampler/perf_ring.h"
#include "sampler/rate.h"

struct event {
	char name[48]; /* as given, with modifiers: "cycles:u" */
	uint32_t type; /* PERF_TYPE_* */
	uint64_t config;
	bool exclude_user, exclude_kernel;
	uint8_t precise;      /* attr.precise_ip */
	bool clock;	      /* cpu-clock, task-clock: periods are nanoseconds */
	char sample_type[48]; /* pprof value type: "cpu", "cycles", ... */
	const char *unit;     /* "nanoseconds" or "count" */
	uint64_t period;      /* on average, in the event's unit; 0 = the kernel adapts it to hz */
	uint32_t hz;	      /* 0 when a period was asked for */
};

/*
 * Understands NAME[:MODIFIERS]: a name of the list below, or rHEX (raw); modifiers u (user), k
 * (kernel), p (precise, up to ppp). Rate isn't set. 0; -EINVAL with a message that names the
 * events.
 */
_must_use_ int event_parse(struct event *ret, const char *spec);

/*
 * Sets the rate: exactly one of @hz and @count is not 0. Clocks get the period 1e9 / hz.
 * 0; -EINVAL with a message for what no kernel does (a clock period under 10 us: cpu-clock's
 * hrtimer would quietly take 10 us).
 */
_must_use_ int event_set_rate(struct event *e, uint32_t hz, uint64_t count);

/* Names of all events known to event_parse() (one per line of a help text), NULL-terminated. */
const char *const *event_names(void);

/* Names of the events of the list that this machine has, ", " between them. Opens and closes each.
 */
void event_available(struct str *ret);

/* One of the events of a CPU. */
struct event_cpu {
	int cpu, fd;
	unsigned part;		  /* of the CPU's struct rate */
	uint64_t throttled_at_ns; /* stopped since then, 0 = running */
	struct perf_ring
		ring; /* only THROTTLE, UNTHROTTLE and LOST records: the program returns 0 */
};

struct event_set {
	struct event event;
	VEC(struct event_cpu) cpus; /* a CPU's side by side */
	VEC(struct rate) rates;	    /* of each CPU, in the same order */
	uint64_t random;
	uint64_t throttled; /* times the kernel stopped an event for the rest of a tick, so far */
	uint64_t throttle_lost; /* times the ring was full: the counts are too low */
	uint64_t throttled_ns;	/* how long it stayed so; events still stopped aren't counted */
};

/*
 * Opens @e, disabled, on all online CPUs for all processes (exclude_idle). With @watch_throttle
 * each gets a ring of two pages, which event_set_poll() must empty every 100 ms or so. On failure
 * nothing stays open: -ENOENT/-EOPNOTSUPP: this machine doesn't have it (the message names what is
 * there), -EACCES/-EPERM, -EINVAL: above kernel.perf_event_max_sample_rate, ...
 */
_must_use_ int event_set_open(struct event_set *ret, const struct event *e, bool watch_throttle);
void event_set_close(struct event_set *s);

/* Switches all on or off (PERF_EVENT_IOC_ENABLE, _DISABLE). 0 or -errno. */
_must_use_ int event_set_enable(struct event_set *s, bool on);

/* Reads the throttle rings into .throttled. */
void event_set_poll(struct event_set *s);

/* @n records of @cpu came. */
void event_set_came(struct event_set *s, int cpu, uint64_t n);

/* Changes the periods of the CPUs where it is time: no program is in step with them for long. */
void event_set_vary(struct event_set *s);

/* kernel.perf_event_max_sample_rate, 0 if not readable. */
uint32_t event_max_sample_rate(void);

#endif
