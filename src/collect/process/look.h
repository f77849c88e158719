/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds for looking into files that processes map, on the thread that drains. Each file has a
 * slice (base/slice.h). Each process, each user and all of them together have a budget. When a
 * budget is spent, slices get small; then files aren't looked into for a while.
 */
#ifndef COLLECT_LOOK_H
#define COLLECT_LOOK_H

#include <sys/types.h>

#include "base/slice.h"
#include "proc/proc.h"

struct collect;

/* False: out of memory. */
_must_use_ bool look_init(struct collect *c);
void look_fini(struct collect *c);

/* One file being looked into; in the caller's storage. */
struct look {
	struct slice slice;
	uint64_t began_ns; /* CPU time of the thread */
	uint32_t tgid;	   /* 0: of no process */
	uint64_t user;	   /* index + 1, 0: not known */
	bool whole;	   /* the slice is as large as it ever is: what is cut by it stays cut */
};

/*
 * Begins a slice for a file that process @proc maps (NULL: krait itself asks). 0; -EBUSY with a
 * message: the user's files took too long already, nothing is looked into for now, and there is
 * no slice.
 */
_must_use_ int look_begin(struct collect *c, const struct proc *proc, struct look *ret);

/* Ends it. True if something of the file was left out: @path is named and counted. */
bool look_end(struct collect *c, struct look *l, const char *path);

#endif
