/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread is doing, according to its state, its system call and the kernel function in which
 * it sleeps.
 */
#ifndef DUMP_FACTS_WAIT_H
#define DUMP_FACTS_WAIT_H

#include "dump/facts/task.h"
#include "proc/wait_rules.h"

struct wait {
	enum wait_kind kind;
	/*
	 * name of the system call; NULL: the thread is in no system call, or the rules of waits
	 * (proc/wait_rules.h) don't have the call
	 */
	const char *call;
	int fd;	   /* the file descriptor that the thread waits for; -1: none */
	bool disk; /* the thread sleeps uninterruptibly (its state is D) */
};

/*
 * If @w is a wait for input or output (WAIT_IO), replaces its kind by one that says what the thread
 * waits for: a page, a network, a disk or a pipe, for example. Other waits stay unchanged. @target:
 * what the link of the descriptor says; "" if that isn't known.
 */
void wait_tell_io(struct wait *w, const struct task_place *place, const char *target);

/*
 * Returns what a thread is doing. @look and @place were read from /proc; @place isn't used if the
 * thread runs.
 */
struct wait wait_of(const struct task_look *look, const struct task_place *place);

#endif
