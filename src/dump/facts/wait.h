/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread is doing, from its state, its system call and the kernel function it sleeps in. */
#ifndef DUMP_FACTS_WAIT_H
#define DUMP_FACTS_WAIT_H

#include "dump/facts/task.h"
#include "proc/wait_rules.h"

struct wait {
	enum wait_kind kind;
	/*
	 * name of the system call; NULL: the thread is in no system call, or no rule has this call
	 */
	const char *call;
	int fd;	   /* the descriptor that the thread waits for; -1: none */
	bool disk; /* the thread sleeps uninterruptibly: state D */
};

/*
 * If @w is a wait for input or output (WAIT_IO), replaces its kind by a kind that says what the
 * wait is for: a page, a network, a disk or a pipe, for example. Other waits stay as they are.
 * @target: what the link of the descriptor says; "" if that isn't known.
 */
void wait_tell_io(struct wait *w, const struct task_place *place, const char *target);

/*
 * Returns what a thread does. @look and @place were read from /proc; @place isn't used if the
 * thread runs.
 */
struct wait wait_of(const struct task_look *look, const struct task_place *place);

#endif
