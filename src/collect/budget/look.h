/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits for looking into files that processes map, on the main thread, which also reads the kernel
 * programs' records. The work for each file is limited (a slice, base/work/slice.h). Each process,
 * each user, and all users together have a budget of CPU time. When a budget is spent, this limit
 * gets small. When a larger budget of the user or of all users is also spent, files aren't looked
 * into for a while.
 */
#ifndef COLLECT_BUDGET_LOOK_H
#define COLLECT_BUDGET_LOOK_H

#include <sys/types.h>

#include "base/work/slice.h"
#include "proc/proc.h"

struct collect;

/* Makes the state of look.c. False: out of memory. */
_must_use_ bool look_init(struct collect *c);
void look_fini(struct collect *c);

/* One look into a file: its limits and its cost. The caller provides the storage. */
struct look {
	struct slice slice;
	uint64_t began_ns; /* CPU time of this thread when the look began */
	uint32_t tgid;	   /* number of the process that maps the file; 0: none */
	/*
	 * the user whose budget is charged for the look: 1 + index into look_budgets.users, which
	 * has an entry for each uid; 0: no user is known, so no user's budget is charged
	 */
	uint64_t user;
	/*
	 * all budgets have time left, so .slice, the limit of the work, has its full size; if the
	 * file is too large even for this limit, what was found is final, and the file isn't looked
	 * into again
	 */
	bool whole;
};

/*
 * Begins a look into a file that process @proc maps (NULL: krait itself asks), with a limit on the
 * CPU time and memory that the look may take (a slice). Returns 0, or -EBUSY + message if looking
 * into files of this user's processes, or of all processes, has taken too much CPU time. While that
 * is so, no file is looked into.
 */
_must_use_ int look_begin(struct collect *c, const struct proc *proc, struct look *ret);

/*
 * Ends the look and charges its CPU time. True: the limit of the work (.slice) was too small for
 * the whole file; that is counted and logged with @path.
 */
bool look_end(struct collect *c, struct look *l, const char *path);

#endif
