/* SPDX-License-Identifier: BSD-2-Clause */
/* Map `waits`: what the BPF program at task switches keeps of each thread. */
#ifndef ABI_WAITS_H
#define ABI_WAITS_H

#include "records.h"

/* What a thread does from one task switch to the next. */
enum wait_phase {
	WAIT_RUNS, /* the thread runs, or is ready to run */
	WAIT_WAITS,
	/*
	 * the thread has got a CPU; its next task switch will show how long it was ready to run
	 * before it got that CPU
	 */
	WAIT_IS_OVER,
};

/*
 * The waits of a thread at one site. A site is a system call, together with the call's first
 * argument if that may be a descriptor. For a futex call, the site has the futex's address without
 * the low 8 bits instead.
 */
struct wait_site {
	__u32 site; /* hash of the site's system call and argument; 0: the entry is free */
	/*
	 * .recent is the number of waits in the site's present window, which ends once these waits
	 * have taken WAIT_WINDOW_NS in all. .before is the number of waits in the window before it.
	 * .recent_ns and .before_ns are how long the waits of these two windows took.
	 */
	__u32 recent, before;
	__u32 reserved;
	__u64 recent_ns, before_ns;
	__u64 owed_ns; /* sum of the site's waits whose time isn't in any sent record yet */
	/*
	 * Each wait adds to .place the chance with which its stack is taken; WAIT_STEP is a chance
	 * of 1. When .place passes .mark, the stack is taken. When .place reaches WAIT_STEP, .place
	 * begins again at 0, and .mark gets a new random value.
	 */
	__u32 place, mark;
};
#define WAIT_STEP      (1 << 24)
#define WAIT_WINDOW_NS (1 << 28) /* a quarter of a second */
/*
 * If a wait lasts this long and its stack wasn't taken, user space reads the stack while the thread
 * still waits. So such a wait gets a record of its own (WAIT_LEFT). If the stack of such a long
 * wait was taken, its record stands for this one wait only.
 */
#define WAIT_LONG_NS 1000000000
#define SITE_GIL     0 /* the site of waits for the GIL; no other wait has this site */

/* What a thread does with the GIL while it has no CPU. */
enum gil_away {
	AWAY_NEITHER,
	AWAY_WAITS,
	AWAY_UNCOUNTED, /* the thread waits, but the map `gils` had no room to count its wait */
	AWAY_HOLDS,
};

/* Map `waits`: tid in the first PID namespace -> what is kept of the thread. */
struct wait_entry {
	/*
	 * the record of the last wait whose stack was taken. Only its .since_ns is that of the
	 * thread's last wait, even if the stack of that wait wasn't taken.
	 */
	struct rec_wait wait;
	/*
	 * when the thread began, and the address of its struct task_struct; 0: not known. Another
	 * thread with the same number differs in one of them.
	 */
	__u64 start_ns, task;
	__u64 over_ns; /* when the thread got a CPU again, if .phase is WAIT_IS_OVER */
	/*
	 * Values at the moment when the thread last left a CPU, to wait or not: .left_ns is
	 * CLOCK_MONOTONIC, .clock_ns the scheduler's clock (of which only differences mean
	 * anything), .cpu_ns the thread's CPU time, .delay_ns its sched_info.run_delay.
	 */
	__u64 left_ns, clock_ns, cpu_ns, delay_ns;
	/* how long the thread was away from the CPU in its last wait, by the scheduler's clock */
	__u64 away_ns;
	/*
	 * Values at the moment from which on the thread's account (struct rec_account) counts:
	 * .begin_ns is clock_ns - cpu_ns - delay_ns - stolen_ns, .delay_begin_ns is delay_ns.
	 */
	__u64 begin_ns, delay_begin_ns;
	__u64 waited_ns; /* sum of the thread's waits since its rec_account began */
	__u64 stolen_ns; /* sum of rec_sample.stolen_ns since the thread's rec_account began */
	/*
	 * how much time had been stolen from the thread's CPU when the thread got that CPU; known
	 * only if .has_cpu is set
	 */
	__u64 aside_ns;
	/*
	 * the thread's sched_info.run_delay when it had got its present CPU; 0 if that isn't known
	 */
	__u64 came_delay_ns;
	/*
	 * If the wait began before the recording, so that user space has read it from /proc: how
	 * often the thread had left a CPU by then (nvcsw + nivcsw). Else 0.
	 */
	__u64 switches;
	__u32 times; /* rec_wait.times of the last wait; 0: the stack of that wait wasn't taken */
	__u32 site;  /* index in .sites of the last wait's site */
	__u8 phase;  /* enum wait_phase */
	/*
	 * != 0: krait saw the thread for the first time within execve(), and the thread may have
	 * had another thread id before. .delay_begin_ns is of the time when krait first saw the
	 * thread.
	 */
	__u8 in_exec;
	__u8 has_cpu; /* != 0: krait saw the task switch by which the thread got its present CPU */
	/*
	 * != 0: user space has made the entry, and .delay_begin_ns is of the recording's beginning
	 */
	__u8 made_before;
	__s32 call; /* the last system call in which the thread waited; never restart_syscall() */
	/*
	 * The thread's GIL, as it was found when a stack was taken: the first word that waiters
	 * sleep on, and the word that has .tstate while the thread holds the GIL. 0: not known.
	 */
	__u64 gil, gil_holder;
	__u64 tstate; /* PyThreadState of the thread at the moment when .gil was found */
	/*
	 * Address and value of the thread_id of .tstate at the moment when .gil was found. If the
	 * value at the address has changed, the state was freed and belongs to another thread now.
	 */
	__u64 owner_at, owner;
	__u32 gil_bytes; /* size of the memory on which waiters for the GIL sleep */
	/*
	 * enum gil_away: whether the thread has held the GIL or waited for it since it left the CPU
	 */
	__u16 away;
	/*
	 * != 0: if the int `locked`, which follows the word at .gil_holder, is 0, nobody holds the
	 * GIL
	 */
	__u16 gil_locks;
	/* tgid of the thread's process in the first PID namespace, if .gil is known */
	__u32 host_tgid;
	/* slot in which the map `gils` was last found to have the thread's GIL (waiters.h) */
	__u32 gil_slot;
	__u64 futex;   /* address that the thread waits for in a futex call; 0: none */
	__u64 gone_ns; /* when the thread left the CPU, unless .away is 0 */
	/* how long all threads had waited for the GIL in sum when the GIL's holder left the CPU */
	__u64 others_ns;
	__u64 gil_ns; /* how much of the last wait, which is over, was for the GIL */
	/*
	 * how long other threads waited for the GIL during this thread's last wait, which is over
	 */
	__u64 held_ns;
	/* time for which this thread waited for the GIL and that no record has yet */
	__u64 gil_owed_ns;
	/*
	 * how long other threads waited for the GIL while this thread held it, as far as no record
	 * has that time yet
	 */
	__u64 blame_ns;
	/*
	 * .slept_blame_ns: the part of .blame_ns during which this thread slept and held the GIL;
	 * .slept_since_ns: when that sleep began
	 */
	__u64 slept_blame_ns, slept_since_ns;
	struct wait_site sites[WAIT_SITES];
};

#define THREADS_MET 16384 /* how many counters the array threads_met has; a power of two */

#endif
