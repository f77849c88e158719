/* SPDX-License-Identifier: BSD-2-Clause */
/* What both preempt.bpf.c and preempt.c know. */
#ifndef TESTS_VM_PREEMPT_H
#define TESTS_VM_PREEMPT_H

enum { PREEMPT_READ, PREEMPT_SLEEP, PREEMPT_SCHEDULE, PREEMPT_PROGRAMS };

/* The settings of one program, which preempt.c makes, and the program's counts. */
struct preempt {
	__u32 shares;	 /* whether its stack walks use the same state as the timer's stack walks */
	__u32 unchecked; /* whether it takes a walk's state even if a stack walk uses that state */
	__u64 runs;	 /* how often the program ran in a thread that runs Python */
	__u64 preempted; /* in how many of .runs another thread got the CPU before the run ended */
	/* in how many of .runs a perf event took a sample meanwhile */
	__u64 interrupted;
};

#endif
