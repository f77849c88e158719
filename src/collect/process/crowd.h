/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What new processes cost: looking at them and naming their first stacks. All new processes of a
 * user share a budget of CPU time, and all users share another. A process that begins when a
 * budget is spent is counted without stacks until there is time again (bpf/process/crowd.bpf.h);
 * so is an older process that execs. All other processes keep their stacks.
 */
#ifndef COLLECT_CROWD_H
#define COLLECT_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/slice.h"
#include "base/vec.h"

struct collect;
struct process;
struct rec_proc;

struct crowd_user {
	uint32_t uid;
	struct budget budget;
	uint64_t told_ns; /* what the kernel programs were told last */
};

struct crowds {
	struct map by_uid; /* uid -> index + 1 in .users */
	VEC(struct crowd_user) users;
	struct budget all;
	uint64_t all_told_ns;
	uint32_t turn;	   /* for whom krait works at the moment: index + 1, 0: for nobody here */
	uint64_t since_ns; /* CPU time */
	uint64_t now_ns;   /* about; CLOCK_MONOTONIC */
};

/* False: out of memory. */
_must_use_ bool crowd_init(struct collect *c);
void crowd_fini(struct collect *c);

/* The user's index + 1; 0: no memory. */
uint32_t crowd_user_of(struct crowds *w, uint32_t uid);
/* Is this user's budget spent, or that of all? */
bool crowd_is_over(const struct collect *c, uint32_t user);

/* crowd_meet.c: the kernel program met @p. True if it is one too many: it is counted, and not looked at now. */
bool crowd_meet(struct collect *c, struct process *p, const struct rec_proc *rec);

/* What follows is done for @p (NULL: for nobody): its user pays while it is new. */
void crowd_turn(struct collect *c, const struct process *p);

/* After each flush: tells the kernel programs who has spent too much. */
void crowd_tell(struct collect *c);

#endif
