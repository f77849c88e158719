/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources of events. A source is a kind of events at which a stack is taken; it says how much each
 * sample weighs. Each source is a file of this folder with a struct event_source, and an entry in
 * the table in event.c.
 */
#ifndef SAMPLER_SOURCES_SOURCE_H
#define SAMPLER_SOURCES_SOURCE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* An event of a source. Names are those that perf(1) uses. */
struct source_event {
	/* .alias: another name of the event; NULL: the event has no other name */
	const char *name, *alias;
	uint32_t type;	 /* PERF_TYPE_* */
	uint64_t config; /* becomes perf_event_attr.config */
};

struct event_source {
	const char *program; /* name of the kernel program that takes the source's samples */
	/*
	 * The program is attached once, to the place that its section names, and each event counts:
	 * there is no rate. If not .whole, the event is a perf event, which is opened on every CPU.
	 */
	bool whole;
	const struct source_event *events;
	unsigned n_events;
	/*
	 * Parses a name that isn't in .events. False: there is no such event. NULL: .events has all
	 * names.
	 */
	bool (*parse)(struct source_event *ret, const char *name);
	/* name of the profile's value; NULL: the event's name is the value's name */
	const char *value;
	const char *unit; /* unit of the profile's value and of periods */
	/*
	 * Samples fall due after some time, and weigh the period that was asked for. If not .clock,
	 * they fall due after a number of events, and weigh the period that was in force (rate.h).
	 */
	bool clock;
	uint64_t least_period; /* the shortest period that the kernel takes */
	bool skips_idle; /* the event can leave out the idle task (perf_event_attr.exclude_idle) */
};

extern const struct event_source source_clock, source_counter, source_hardware, source_wait;

#endif
