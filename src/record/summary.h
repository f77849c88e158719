/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures at the end of a recording: what it got, what it lost. Nothing is dropped silently. */
#ifndef RECORD_SUMMARY_H
#define RECORD_SUMMARY_H

#include "base/clock.h"
#include "record/session.h"

struct summary {
	struct sampler_stats kernel;
	struct collect_stats collect;
	uint64_t wall_ns;
	uint64_t due, missing; /* clocks: samples by the targets' CPU time; those that never came */
	double reached_hz;     /* samples a second of the targets' CPU time; 0 = not known */
	uint64_t own_cpu_ns, start_cpu_ns; /* in all; until sampling began */
	size_t own_rss_bytes, map_bytes;
	pid_vec daemons; /* that the command started and that go on after its end, ascending */
};

/* Samples that never came, of @due by CPU time, if that can't be chance; else 0. */
uint64_t summary_missing(uint64_t due, uint64_t came);

/* Is the rate another one than asked for, by more than chance and by more than anybody cares for? */
bool summary_rate_is_off(uint64_t due, uint64_t came);

/* Does it come for all CPU time? With :u or :k what is missing of that was to be left out. */
bool summary_is_cpu_time(const struct event *e);

/*
 * Takes the figures after session_stop(), before the sampler is closed. How much processes ran and waited becomes
 * comments of the profile.
 */
void summary_take(struct summary *m, struct session *s);
void summary_fini(struct summary *m);

static inline double summary_seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

static inline double summary_percent(double part, double of)
{
	return of > 0 ? 100 * part / of : 0;
}

#endif
