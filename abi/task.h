/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel knows, at one moment, of a thread that isn't running. bpf/events/tasks.bpf.c
 * reads this through a task iterator (kernel 5.8+). Numbers of processes and threads are those of
 * krait's own PID namespace.
 */
#ifndef ABI_TASK_H
#define ABI_TASK_H

#include "records.h"

#define TASK_REGS  34
#define TASK_NO_ID 0xffffffffu /* the kernel's invalid uid and gid */

/*
 * Map `polled`: tid in the first PID namespace -> the only descriptor for which the thread waits in
 * poll(). A kernel program can't read another thread's argument of poll(), so user space reads it.
 */
struct task_polled {
	/*
	 * the thread's rec_task.switches when user space read .fd; if the thread has run again, its
	 * rec_task.switches is another number, and .fd means nothing
	 */
	__u64 switches;
	__s32 fd;
	__u32 reserved;
};
#define TASK_MAX_POLLED 4096

/*
 * What a task iterator says of one thread. Of .kernel, only the first .n_kernel entries are sent.
 */
struct rec_task {
	__u32 tid, tgid;
	__u64 switches; /* how often the thread left a CPU: nvcsw + nivcsw */
	__u64 runs;	/* how often the thread got a CPU: sched_info.pcount; 0: not known */
	/* when the thread left a CPU last, on the scheduler's clock; 0: not known */
	__u64 off_ns;
	/*
	 * since when the thread is ready to run, on the scheduler's clock; 0: the thread isn't
	 * ready, or the time isn't known
	 */
	__u64 queued_ns;
	__u64 run_delay; /* how long the thread was ready to run so far: sched_info.run_delay */
	__u64 start_ns;	 /* when the thread began: task_struct.start_time, CLOCK_MONOTONIC */
	__u64 thread_pointer;
	struct proc_key proc;	  /* the process image that the thread runs */
	struct image_place place; /* where in memory the process image lies */
	__u64 arg[2];		  /* the first two arguments of the system call .call */
	__s32 call;		  /* number of the system call that the thread is in; -1: none */
	__u32 host_tid;		  /* the thread's number in the first PID namespace */
	__u8 fd;		  /* enum wait_fd: what the descriptor .arg[0] refers to */
	__u8 wait_flags;	  /* WAIT_DISK, WAIT_CGROUP, WAIT_NUMBERS (records.h) */
	__u8 reserved[6];
	/* what the descriptor in .arg[0] or in map `polled` refers to */
	struct wait_on on;
	/*
	 * Owner of the thread when the record was made; TASK_NO_ID: the owner's own rights aren't
	 * enough to look into the thread.
	 */
	__u32 uid, gid;
	__u32 state; /* task_struct.__state of the thread: 0 = running or ready to run */
	__u8 on_cpu;
	__u8 has_regs; /* whether .regs holds registers of user code */
	/* number of entries in .kernel, which has the kernel frames, innermost first */
	__u16 n_kernel;
	/*
	 * Registers of user code as the kernel saved them: x86-64 struct pt_regs (r15 ... ss, 21
	 * words); aarch64 x0 ... x30, sp, pc.
	 */
	__u64 regs[TASK_REGS];
	__u64 kernel[ABI_MAX_KERNEL + 1];
};

#endif
