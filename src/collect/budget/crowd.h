/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits what new processes may cost krait, for looking at them and naming their first stacks. All
 * new processes of a user share a budget of CPU time, and all users share a second budget. A
 * process that begins while a budget is spent is only counted, without stacks, until the budget
 * allows more (bpf/process/crowd.bpf.h). The same holds for an older process that execs. All other
 * processes keep their stacks.
 */
#ifndef COLLECT_BUDGET_CROWD_H
#define COLLECT_BUDGET_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/work/slice.h"
#include "base/vec.h"

struct collect;
struct process;
struct rec_proc;

struct crowd_user {
	uint32_t uid;
	struct budget budget;
	/*
	 * until when the kernel programs were told to only count this user's new processes
	 * (collect_ops.crowd())
	 */
	uint64_t told_ns;
};

struct crowds {
	struct map by_uid; /* 1 + uid -> 1 + index of the user in .users */
	VEC(struct crowd_user) users;
	struct budget all;
	uint64_t all_told_ns;
	/*
	 * the user for whose new process krait works now: 1 + index into .users; 0: krait works for
	 * no user's new process
	 */
	uint32_t turn;
	uint64_t since_ns; /* CPU time (as of upkeep_begin()) at the last crowd_pay() */
	/* when crowd_pay() or crowd_tell() was last called, CLOCK_MONOTONIC */
	uint64_t now_ns;
};

/* Makes the state of crowd.c. False: out of memory. */
_must_use_ bool crowd_init(struct collect *c);
void crowd_fini(struct collect *c);

/* Returns 1 + the index of user @uid in .users; 0: out of memory. */
uint32_t crowd_user_of(struct crowds *w, uint32_t uid);
/*
 * Is the budget of this user (1 + index; 0: not known) spent, or is the budget of all users spent?
 */
bool crowd_is_over(const struct collect *c, uint32_t user);

/*
 * crowd_meet.c: called when the kernel program has seen @p for the first time. True: too many
 * processes are new, so @p is only counted, and not examined now.
 */
bool crowd_meet(struct collect *c, struct process *p, const struct rec_proc *rec);

/*
 * Notes that krait works for @p from now on (NULL: for no process). While @p is new, its user's
 * budget pays. Returns true if another user's budget paid before; the other budget has been charged
 * by now.
 */
bool crowd_turn(struct collect *c, const struct process *p);
/* Charges the CPU time since the last call of this function to the user of crowd_turn(). */
void crowd_pay(struct collect *c);

/*
 * Called at the end of collect_flush() and collect_ask(): tells the kernel programs until when they
 * only count the new processes of users whose budget is spent.
 */
void crowd_tell(struct collect *c);

#endif
