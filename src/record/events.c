/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a recording; see events.h. */
#include "record/events.h"

#include <errno.h>

#include "base/error.h"

/*
 * Refuses an event whose name another event has, because the profile's values must have different
 * names.
 */
static int check_distinct(const struct session_events *all, const struct event *e)
{
	for (unsigned i = 0; i < all->n; i++)
		if (streq(all->v[i].sample_type, e->sample_type))
			return err_set(-EINVAL,
				       "events %s and %s would both be the value %s of the "
				       "recording; leave one out",
				       all->v[i].name, e->name, e->sample_type);
	return 0;
}

static int set_rate(struct event *e, const struct session_options *o)
{
	int r = event_set_rate(e, o->freq_hz, o->count);

	if (r && o->count && o->events.n > 1)
		return err_set(r, "%s; or give a count for a single event: NAME/period=N/",
			       err_msg());
	return r;
}

static int add(struct session_events *all, const struct session_options *o, const char *spec)
{
	struct event e;
	int r = event_parse(&e, spec);

	r = r ? r : set_rate(&e, o);
	r = r ? r : check_distinct(all, &e);
	if (!r && all->n == SESSION_EVENTS)
		r = err_set(-EINVAL, "a recording has at most %d events", SESSION_EVENTS);
	if (!r)
		all->v[all->n++] = e;
	return r;
}

int session_events_parse(struct session_events *ret, const struct session_options *o)
{
	struct session_events all = {};
	int r = o->events.n ? 0 : add(&all, o, "cpu-clock");

	if (!r && o->wall)
		r = add(&all, o, "wait");

	for (size_t i = 0; !r && i < o->events.n; i++)
		r = add(&all, o, o->events.v[i]);
	if (!r)
		*ret = all;
	return r;
}

bool event_is_cpu_time(const struct event *e)
{
	return e->source->clock && !e->exclude_user && !e->exclude_kernel;
}

bool event_is_time(const struct event *e)
{
	return streq(e->source->unit, "nanoseconds");
}

int session_events_wait_index(const struct session_events *all)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->v[i].source == &source_wait)
			return (int)i;
	return -1;
}

bool session_events_wait(const struct session_events *all)
{
	return session_events_wait_index(all) >= 0;
}

const struct event *session_events_cpu(const struct session_events *all)
{
	for (unsigned i = 0; i < all->n; i++)
		if (event_is_cpu_time(&all->v[i]))
			return &all->v[i];
	return NULL;
}
