/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event sources: kinds of events at which a stack is taken, and how much such a sample weighs. A
 * source is a file of this folder with one struct event_source, and an entry in the table in
 * event.c.
 */
#ifndef SAMPLER_SOURCES_SOURCE_H
#define SAMPLER_SOURCES_SOURCE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* An event of a source. Names are the names that perf(1) uses. */
struct source_event {
	/* .alias: another name of the event; NULL: the event has only one name */
	const char *name, *alias;
	uint32_t type;	 /* PERF_TYPE_* */
	uint64_t config; /* becomes perf_event_attr.config */
};

struct event_source {
	const char *program; /* name of the kernel program that takes the source's samples */
	/*
	 * The program is attached once, to what its section names, and counts each event whole: it
	 * has no rate. If not .whole, the event is a perf event, which is opened on every CPU.
	 */
	bool whole;
	const struct source_event *events;
	unsigned n_events;
	/*
	 * Reads a name that isn't in .events. False: there is no such event. NULL: .events has all
	 * names.
	 */
	bool (*parse)(struct source_event *ret, const char *name);
	/* name of the profile's value; NULL: the event's name is the value's name */
	const char *value;
	const char *unit; /* unit of the profile's value and of periods */
	/*
	 * Samples fall due by time, and weigh the period that was asked for. If not .clock, they
	 * fall due by counting, and weigh the period that was in force (rate.h).
	 */
	bool clock;
	uint64_t least_period; /* the shortest period that the kernel takes */
	bool skips_idle; /* the event can leave out the idle task (perf_event_attr.exclude_idle) */
};

extern const struct event_source source_clock, source_counter, source_hardware, source_wait;

#endif
