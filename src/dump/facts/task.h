/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What /proc says about one thread: whether it runs, in which system call it is, and in which
 * kernel function it waits. Reading this neither stops nor wakes the thread.
 */
#ifndef DUMP_FACTS_TASK_H
#define DUMP_FACTS_TASK_H

#include <sys/types.h>

#include "base/util.h"

/*
 * One look at a thread. If the thread sleeps at two looks and .switches is the same in both, it
 * didn't run in between. .switches is nvcsw + nivcsw of the kernel's task_struct, which count how
 * often a thread left its CPU.
 */
struct task_look {
	/*
	 * the letter of the thread's state in /proc/PID/stat: 'R', 'S', 'D', 'T', 't', 'Z', 'I',
	 * ...
	 */
	char state;
	uint64_t switches;
};

/*
 * Takes a look at thread @tid. @procdir: descriptor of /proc/PID. 0, -ESRCH or -errno, without a
 * message.
 */
_must_use_ int task_look(int procdir, pid_t tid, struct task_look *ret);

/* Tells whether the thread ran at neither of the looks @a and @b, nor between them. */
static inline bool task_stayed(const struct task_look *a, const struct task_look *b)
{
	return a->state == b->state && a->state != 'R' && a->switches == b->switches;
}

/* Returns how many times the thread has got a CPU so far (/proc/PID/schedstat); 0: not known. */
uint64_t task_runs(int procdir, pid_t tid);

/*
 * value of .call: the thread is blocked, but in no system call, for example by a page fault or a
 * stop
 */
#define TASK_NO_CALL (-1)
/* value of .call: the thread runs, or krait has no right to know its call */
#define TASK_UNKNOWN	 (-2)
#define TASK_WCHAN_BYTES 64

struct task_place {
	/* number of the system call in which the thread is; or TASK_NO_CALL, TASK_UNKNOWN */
	long call;
	uint64_t arg[6];
	/* stack pointer and program counter in user code; 0: not known */
	uint64_t sp, pc;
	bool runs; /* the thread runs again, so .call isn't known */
	/* the kernel function in which the thread sleeps; "": not known, or the thread runs */
	char wchan[TASK_WCHAN_BYTES];
};

/* Reads where a thread is blocked. Whatever can't be read stays unknown in *ret. */
void task_place_read(int procdir, pid_t tid, struct task_place *ret);

/*
 * Parse the texts of /proc/PID/status and /proc/PID/syscall. They return false if the text
 * contradicts itself or lacks something.
 */
bool task_look_parse(const char *text, struct task_look *ret);
bool task_place_parse(const char *text, struct task_place *ret);

#endif
