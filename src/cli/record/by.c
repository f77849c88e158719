/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knows which labels the samples of a recording will have, so that --by can be checked before the
 * recording begins.
 */
#include "cli/record/record.h"

#include <string.h>

/* Labels that src/collect gives to each sample. They can be values of --by. */
static const char *const own_labels[] = {"process", "thread",	 "pid", "tid",
					 "cgroup",  "container", "gil"};

bool record_has_label(const struct record_options *o, const char *key)
{
	const struct session_options *s = &o->session;

	for (size_t i = 0; i < ARRAY_SIZE(own_labels); i++)
		if (streq(key, own_labels[i]))
			return true;
	if (streq(key, "state"))
		return session_events_wait(&o->events);
	for (size_t i = 0; i < s->labels.n; i++)
		if (strlen(key) == s->labels.v[i].key_len &&
		    !memcmp(key, s->labels.v[i].key, s->labels.v[i].key_len))
			return true;
	return false;
}

static bool is_label_of_services(const char *key)
{
	return streq(key, "service") || streq(key, "version") || streq(key, "pod") ||
	       streq(key, "image");
}

int record_choose_services(struct record_options *o)
{
	const char *by = o->view.by;

	if (!by || o->session.services.n || !is_label_of_services(by) || record_has_label(o, by))
		return 0;
	return service_rules_parse(SERVICE_DEFAULT, &o->session.services);
}

/*
 * Tells whether waits are recorded and @key is a label that only some kinds of waits have. A
 * recording without waits of these kinds lacks the label.
 */
static bool is_label_of_waits(const struct record_options *o, const char *key)
{
	return (streq(key, "idle") || streq(key, "on") || streq(key, "waiter")) &&
	       session_events_wait(&o->events);
}

bool record_by_may_lack(const struct record_options *o)
{
	const char *by = o->view.by;

	return by && !record_has_label(o, by) &&
	       (o->session.label_intervals || is_label_of_waits(o, by) ||
		(o->session.services.n && is_label_of_services(by)));
}
