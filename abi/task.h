/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel says of a thread that isn't running, all of it at one moment: read by bpf/events/tasks.bpf.c
 * through a task iterator (kernel 5.8+). Numbers are those of krait's own PID namespace.
 */
#ifndef ABI_TASK_H
#define ABI_TASK_H

#include "records.h"

#define TASK_REGS  34
#define TASK_NO_ID 0xffffffffu /* the invalid uid and gid */

/* Follow one another in the iterator's stream, each with .n_kernel addresses behind it. */
struct rec_task {
	__u32 tid, tgid;
	__u64 switches; /* how often it left a CPU: nvcsw + nivcsw */
	__u64 runs;	/* how often it came onto one: sched_info.pcount; 0: not known */
	__u64 off_ns;	/* when it left it last, on the scheduler's clock; 0: not known */
	__u64 queued_ns; /* since when it is ready to run, on that clock; 0: it isn't, or not known */
	__u64 thread_pointer;
	/* Whose it was then; TASK_NO_ID: nobody's who is to look into it without more rights. */
	__u32 uid, gid;
	__u32 state; /* task_struct.__state: 0 = it runs or is ready to */
	__u8 on_cpu;
	__u8 has_regs;	/* .regs are those of user code */
	__u16 n_kernel; /* frames, innermost first */
	/*
	 * As the kernel saved them: x86-64 struct pt_regs (r15 ... ss, 21 words); aarch64 x0 ... x30, sp,
	 * pc.
	 */
	__u64 regs[TASK_REGS];
	__u64 kernel[ABI_MAX_KERNEL + 1];
};

#endif
