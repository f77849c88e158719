/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What /proc says of one thread: does it run, in what system call, where in the kernel it waits. None of
 * it stops the thread or wakes it.
 */
#ifndef DUMP_TASK_H
#define DUMP_TASK_H

#include <sys/types.h>

#include "base/util.h"

/*
 * A thread that sleeps in two looks with equal .switches hasn't run in between (kernel:
 * task_struct.nvcsw + nivcsw, counted when it leaves the CPU).
 */
struct task_look {
	char state; /* as in /proc/PID/stat: 'R', 'S', 'D', 'T', 't', 'Z', 'I', ... */
	uint64_t switches;
};

/* @procdir: descriptor of /proc/PID. 0, -ESRCH, -errno. No message. */
_must_use_ int task_look(int procdir, pid_t tid, struct task_look *ret);

/* It doesn't run, and didn't between the two looks. */
static inline bool task_stayed(const struct task_look *a, const struct task_look *b)
{
	return a->state == b->state && a->state != 'R' && a->switches == b->switches;
}

/* How often it came onto a CPU so far (/proc/PID/schedstat); 0: not known. */
uint64_t task_runs(int procdir, pid_t tid);

#define TASK_NO_CALL	 (-1) /* blocked, not in a system call: a page fault, a stop */
#define TASK_UNKNOWN	 (-2) /* it runs, or the right to know is missing */
#define TASK_WCHAN_BYTES 64

struct task_place {
	long call; /* number of the system call, or TASK_* */
	uint64_t arg[6];
	uint64_t sp, pc;	      /* of user code; 0: not known */
	bool runs;		      /* it isn't blocked any more: no .call */
	char wchan[TASK_WCHAN_BYTES]; /* kernel function it sleeps in; "": not known, or it runs */
};

/* Where it is blocked. What can't be read is left unknown. */
void task_place_read(int procdir, pid_t tid, struct task_place *ret);

/* From the text of /proc/PID/status and /proc/PID/syscall. false: contradicts itself, or nothing is known. */
bool task_look_parse(const char *text, struct task_look *ret);
bool task_place_parse(const char *text, struct task_place *ret);

#endif
