/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes are wanted: the target options of `record` as one question to a process's facts.
 */
#ifndef PROC_MATCH_H
#define PROC_MATCH_H

#include "base/map.h"
#include "base/vec.h"
#include "proc/proc.h"

/*
 * Within one list any entry is enough; lists that aren't empty must all agree. All lists empty:
 * everything matches. The strings belong to the caller (argv).
 */
struct proc_match {
	VEC(const char *) comm;	     /* globs: the kernel's comm or the process's name */
	VEC(const char *) cgroup;    /* globs: the whole path ('*' crosses '/') or a component */
	VEC(const char *) container; /* prefixes of the id, or whole names; not empty */
	struct map pids;	     /* tgid -> 1 */
	bool said;		     /* why a process isn't in one of .container */
	bool by_pid;		     /* pids were asked for, even if all have ended since */
};

void proc_match_init(struct proc_match *m);
void proc_match_fini(struct proc_match *m);

/* From now on only processes that were taken in by number are wanted, @tgid is one. 0 or -ENOMEM. */
_must_use_ int proc_match_add_pid(struct proc_match *m, pid_t tgid);

/* A new process: wanted if its parent was taken in by number. 0 or -ENOMEM. */
_must_use_ int proc_match_fork(struct proc_match *m, pid_t parent, pid_t child);
void proc_match_exit(struct proc_match *m, pid_t tgid);

/* Warns, once, of a process that only says it is in a container that is wanted. */
bool proc_match(struct proc_match *m, const struct proc_facts *f);

#endif
