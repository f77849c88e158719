/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks again at processes that are known: is a process still wanted, and has it got another
 * interpreter?
 */
#include "base/system/clock.h"
#include "collect/budget/crowd.h"
#include "collect/budget/upkeep.h"
#include "collect/internal.h"
#include "collect/thread/thread.h"

static void examine_again(struct collect *c, uint32_t i)
{
	uint64_t began_ns = upkeep_begin();

	(void)!process_examine(c, i, NULL);
	upkeep_end(c, process_at(c, i), began_ns);
}

/* Reads again what may have changed of a process. False: the process isn't wanted any more. */
static bool renew(struct collect *c, struct process *p, uint64_t now)
{
	bool changed, wanted = facts_renew(c, p, now, &changed);

	if (changed)
		thread_forget_labels(c, p);
	return wanted;
}

void process_look_again(struct collect *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	vec_foreach(i, &c->processes->live) {
		struct process *p = process_at(c, *i);
		bool left = p->state == PROC_IGNORED && p->samples;

		if (process_has_ended(p) || p->expected || now < p->facts_due_ns ||
		    p->state == PROC_CROWDED)
			continue;
		crowd_turn(c, p);
		p->facts_due_ns = now + FACTS_APART_NS;
		if (several_is_due(p, now) && upkeep_may(c, p, now))
			examine_again(c, *i);
		/*
		 * ask_again() costs nothing while the process isn't sampled: the process is looked
		 * at only when it is sampled next.
		 */
		if (c->config.match && (p->unwanted || left))
			c->config.ops->ask_again(c->config.ctx, p->key.tgid);
		else if (p->samples != p->facts_samples && !left && !renew(c, p, now))
			(void)!process_ignore(c, p);
		p->facts_samples = p->samples;
	}
}
