/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which processes are wanted, by the target options of `record`. */
#ifndef PROC_MATCH_H
#define PROC_MATCH_H

#include "base/map.h"
#include "base/vec.h"
#include "proc/proc.h"

/*
 * A process matches a list if it matches any entry of the list. It must match all lists that aren't
 * empty. If all lists are empty, every process matches. The strings belong to the caller (argv).
 */
struct proc_match {
	/* wanted names, as globs: the kernel's comm or the process's own name */
	VEC(const char *) comm;
	/* wanted cgroups, as globs: the whole path ('*' crosses '/') or a component */
	VEC(const char *) cgroup;
	/* wanted containers: beginnings of an id, or whole names; no entry is "" */
	VEC(const char *) container;
	struct map pids; /* the wanted processes that were added by pid: tgid -> 1 */
	/*
	 * the user was warned already of a process that only claims to be in a container of
	 * .container
	 */
	bool said;
	/* the user asked for processes by number; true even if all of them have ended */
	bool by_pid;
};

void proc_match_init(struct proc_match *m);
void proc_match_fini(struct proc_match *m);

/*
 * Adds process @tgid. After this call, only processes that were added by pid are wanted. 0 or
 * -ENOMEM.
 */
_must_use_ int proc_match_add_pid(struct proc_match *m, pid_t tgid);

/* Adds the new process @child by its pid, if @parent was added by pid. 0 or -ENOMEM. */
_must_use_ int proc_match_fork(struct proc_match *m, pid_t parent, pid_t child);
void proc_match_exit(struct proc_match *m, pid_t tgid);

/* Is the process wanted? Warns, once, of a process that only claims to be in a wanted container. */
bool proc_match(struct proc_match *m, const struct proc_facts *f);

#endif
