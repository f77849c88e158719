/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What /proc says of one thread: whether it runs, its system call, the kernel function in which it
 * waits. Reading this neither stops nor wakes the thread.
 */
#ifndef DUMP_FACTS_TASK_H
#define DUMP_FACTS_TASK_H

#include <sys/types.h>

#include "base/util.h"

/*
 * One look at a thread. If the thread sleeps at two looks and .switches is equal in both, the
 * thread didn't run in between. (In the kernel: nvcsw + nivcsw of task_struct, counted when a
 * thread leaves its CPU.)
 */
struct task_look {
	/* the thread's state as /proc/PID/stat has it: 'R', 'S', 'D', 'T', 't', 'Z', 'I', ... */
	char state;
	uint64_t switches;
};

/* Takes a look at a thread. @procdir: descriptor of /proc/PID. 0, -ESRCH or -errno, no message. */
_must_use_ int task_look(int procdir, pid_t tid, struct task_look *ret);

/* Tells whether the thread ran neither at the looks @a and @b nor between them. */
static inline bool task_stayed(const struct task_look *a, const struct task_look *b)
{
	return a->state == b->state && a->state != 'R' && a->switches == b->switches;
}

/* Returns how often the thread has got a CPU so far (/proc/PID/schedstat); 0: not known. */
uint64_t task_runs(int procdir, pid_t tid);

/* value of .call: the thread is blocked, but not in a system call, as by a page fault or a stop */
#define TASK_NO_CALL (-1)
/* value of .call: the thread runs, or krait lacks the right to know */
#define TASK_UNKNOWN	 (-2)
#define TASK_WCHAN_BYTES 64

struct task_place {
	long call; /* number of the system call in which the thread is, or TASK_... */
	uint64_t arg[6];
	/* stack pointer and program counter of user code; 0: not known */
	uint64_t sp, pc;
	bool runs; /* the thread isn't blocked any more, so .call isn't known */
	/* kernel function in which the thread sleeps; "": not known, or the thread runs */
	char wchan[TASK_WCHAN_BYTES];
};

/* Reads where a thread is blocked. What can't be read is left unknown. */
void task_place_read(int procdir, pid_t tid, struct task_place *ret);

/*
 * Parse /proc/PID/status and /proc/PID/syscall. They return false if the text contradicts itself or
 * lacks what is needed.
 */
bool task_look_parse(const char *text, struct task_look *ret);
bool task_place_parse(const char *text, struct task_place *ret);

#endif
