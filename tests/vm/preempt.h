/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs of preempt.bpf.c and preempt.c both know. */
#ifndef TESTS_VM_PREEMPT_H
#define TESTS_VM_PREEMPT_H

enum { PREEMPT_READ, PREEMPT_SLEEP, PREEMPT_SCHEDULE, PREEMPT_PROGRAMS };

/* One program's settings, which preempt.c makes, and the program's counts. */
struct preempt {
	__u32 shares;	 /* not 0: the program uses the timer's slot; 0: it uses SLOT_TASK */
	__u32 unchecked; /* not 0: the program takes its slot even if the slot is in use */
	__u64 runs;	 /* how often a thread that runs Python met the program */
	__u64 preempted; /* in how many of .runs another thread ran before the end */
	/* in how many of .runs a perf event took a sample of its own */
	__u64 interrupted;
};

#endif
