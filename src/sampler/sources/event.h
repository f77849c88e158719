/* SPDX-License-Identifier: BSD-2-Clause */
/* An event of a recording, with its rate: `-e EVENT` with `-F HZ` or `-c COUNT`. */
#ifndef SAMPLER_SOURCES_EVENT_H
#define SAMPLER_SOURCES_EVENT_H

#include "base/util.h"
#include "sampler/sources/source.h"

struct event {
	const struct event_source *source;
	char name[48]; /* the event's name with its modifiers: "cycles:u" */
	uint32_t type; /* PERF_TYPE_* */
	uint64_t config;
	bool exclude_user, exclude_kernel;
	uint8_t precise;      /* the event's perf_event_attr.precise_ip */
	char sample_type[48]; /* the name of the values' type: "cpu", "cycles", ... */
	/* the average period, in .source->unit; 0: the kernel adapts the period to .hz */
	uint64_t period;
	/* the rate that was asked for, per second; 0: a period was asked for */
	uint32_t hz;
	/* the text of the event itself has its rate or period, so .hz or .period is set */
	bool own_rate;
};

/*
 * Parses NAME[:MODIFIERS] or NAME/RATE/[MODIFIERS], as perf does. NAME is a name in a source's
 * list, or rHEX (raw). MODIFIERS are u (user), k (kernel), p (precise, up to ppp). RATE is period=N
 * or freq=HZ. 0; -EINVAL with a message, which has the names of all events if the event is unknown.
 */
_must_use_ int event_parse(struct event *ret, const char *spec);

/*
 * Sets the rate of an event that doesn't name a rate itself: exactly one of @hz and @count is not
 * 0. Clocks get the period 1e9 / hz. An event of a source with .whole gets no rate, because each
 * event counts. 0; -EINVAL with a message for a rate that no kernel offers: a clock's period under
 * 10 us, in place of which the kernel would quietly use 10 us.
 */
_must_use_ int event_set_rate(struct event *e, uint32_t hz, uint64_t count);

/*
 * Returns the names of all events that event_parse() knows. The list ends with NULL, and is valid
 * for ever.
 */
const char *const *event_names(void);

#endif
