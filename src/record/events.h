/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a recording, made from the options. */
#ifndef RECORD_EVENTS_H
#define RECORD_EVENTS_H

#include "record/options.h"
#include "records.h"
#include "sampler/sources/event.h"

/*
 * How many events a recording may have at most: the profile has a value for each event, one more
 * that counts samples, and three more for waits.
 */
#define SESSION_EVENTS                                                                             \
	(PROFILE_MAX_VALUES - 4 < ABI_MAX_SOURCES ? PROFILE_MAX_VALUES - 4 : ABI_MAX_SOURCES)

struct session_events {
	/* the events; the first event's value is the profile's default */
	struct event v[SESSION_EVENTS];
	unsigned n; /* how many of .v are set; at least 1 */
};

/*
 * Makes the events of a recording from options @o. Returns 0; -EINVAL + message if an event or its
 * rate is wrong, or if two events have the same name.
 */
_must_use_ int session_events_parse(struct session_events *ret, const struct session_options *o);

/* Returns the first event that counts CPU time; NULL: there is none. */
const struct event *session_events_cpu(const struct session_events *all);

/* Does event @e measure time? */
bool event_is_time(const struct event *e);

/* Returns the index of the event that records what threads wait for; -1: there is no such event. */
int session_events_wait_index(const struct session_events *all);
/* Does one of the events record what threads wait for? */
bool session_events_wait(const struct session_events *all);

/* Does event @e count all CPU time? An event with :u or :k leaves out some of it on purpose. */
bool event_is_cpu_time(const struct event *e);

#endif
