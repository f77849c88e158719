/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which new processes are only counted; see crowd.h. */
#include <stdio.h>

#include "base/system/clock.h"
#include "collect/budget/crowd.h"
#include "collect/process/process.h"

/*
 * A process is new for this long after the kernel program first saw it. What it costs in that time
 * is charged to its user.
 */
#define NEW_NS (2 * NSEC_PER_SEC)

/*
 * Counts @p among the processes that are only counted (crowd.h), for the summary at the recording's
 * end. The summary names the first of them. If the recording may not show some users' processes,
 * the summary names none, because it isn't known yet whether this process may be shown.
 */
static void count(struct collect *c, struct process *p)
{
	bool is_named = !c->config.match && !c->config.may_see;

	if (!p->crowded && !c->stats.crowded.processes++ && is_named)
		snprintf(c->stats.crowded.first, sizeof(c->stats.crowded.first), "%u, %s",
			 p->key.tgid, p->name ? p->name : p->comm);
	p->crowded = true;
}

static bool is_counted_only(uint8_t state)
{
	return state == PROC_CROWDED || state == PROC_UNASKED;
}

static void tell_state(struct collect *c, const struct process *p, enum proc_state state)
{
	bool python = state == PROC_PYTHON;

	(void)!c->config.ops->set_proc(c->config.ctx, &p->key, state, python ? &p->where : NULL,
				       NULL, p->slot);
}

/*
 * Are there too many new processes to examine @p now? If the kernel programs have decided so,
 * returns true. Otherwise this function decides, and tells the kernel programs.
 */
static bool is_too_many(struct collect *c, const struct process *p, const struct rec_proc *rec)
{
	if (is_counted_only(rec->state))
		return true;
	if (!crowd_is_over(c, p->user))
		return false;
	tell_state(c, p, rec->state == PROC_PENDING ? PROC_UNASKED : PROC_CROWDED);
	return true;
}

bool crowd_meet(struct collect *c, struct process *p, const struct rec_proc *rec)
{
	/*
	 * if krait itself has made the process's entry in the kernel's map, the kernel program
	 * doesn't mark the process as new
	 */
	if (!rec->new && !p->user)
		return false;
	if (has_stacks(p)) { /* the kernel's map had lost the process's entry for a while */
		if (is_counted_only(rec->state))
			tell_state(c, p, p->state);
		return false;
	}
	if (!p->user || p->state == PROC_CROWDED)
		p->new_until_ns = rec->time_ns + NEW_NS;
	if (!p->user)
		p->user = crowd_user_of(c->crowds, rec->uid);
	if (!crowd_turn(c, p))
		/*
		 * charges what earlier processes of the user have cost, before the budget is looked
		 * at
		 */
		crowd_pay(c);
	if (is_too_many(c, p, rec)) {
		count(c, p);
		p->state = PROC_CROWDED;
		return true;
	}
	/* @p was only counted so far; from now on it is examined like any new process */
	if (p->state == PROC_CROWDED)
		p->state = PROC_PENDING;
	return false;
}
