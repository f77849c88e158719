/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the threads that wait because they have no work, and the event loops that have nothing to
 * run. Recordings of waits use the same list of functions in which threads wait for work
 * (collect/thread/places.h).
 */
#include "collect/thread/places.h"
#include "dump/internal.h"

static void note_place(const struct dump *d, const struct place_names *more, struct dump_thread *t)
{
	const struct profile *p = t->profile ? t->profile : d->profile;
	uint8_t rule = places_find(p, t->stack, more);

	switch (places_kind(rule, wait_state_of_kind(t->wait.kind))) {
	case PLACE_IDLE:
		t->idle = true;
		break;
	case PLACE_LOOP:
		t->wait.kind = WAIT_LOOP;
		break;
	case PLACE_OTHER:
		break;
	}
}

void dump_note_places(struct dump *d)
{
	const struct place_names more = {d->config.idle_at, d->config.n_idle_at};

	vec_foreach(p, &d->processes)
		vec_foreach(t, &p->threads)
			if (t->stack && t->steady)
				note_place(d, &more, t);
}
