/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a process and its main thread had a CPU, and how long the main thread was ready but had
 * no CPU, as the kernel counts it (/proc/PID/task/PID/schedstat; kernel/sched/stats.h, sched_info).
 * Works for a zombie as well.
 */
#ifndef PROC_RUN_TIME_H
#define PROC_RUN_TIME_H

#include <sys/types.h>

#include "base/util.h"

struct run_time {
	uint64_t at_ns;	   /* when these figures were read, CLOCK_MONOTONIC */
	uint64_t start_ns; /* when the process started, CLOCK_BOOTTIME, to within 10 ms */
	/* CPU time of all threads of the process, including threads that have ended */
	uint64_t cpu_ns;
	/*
	 * .ran_ns: how long the main thread had a CPU; .queued_ns: how long it was ready but had no
	 * CPU
	 */
	uint64_t ran_ns, queued_ns;
	uint64_t runs; /* how often the main thread got a CPU; 0: the kernel doesn't
				     * count */
	unsigned threads;
	char state; /* state of the main thread, a letter as /proc shows it: 'R', 'S', 'Z', ... */
	/*
	 * .queued_ns is complete. While the main thread is ready, .queued_ns lacks the present
	 * wait, because the kernel adds a wait only when the thread gets its CPU.
	 */
	bool whole;
};

/* Reads the figures of process @pid. 0, -ESRCH, -errno. No message. */
_must_use_ int run_time_read(pid_t pid, struct run_time *ret);

/*
 * Reads the figures again if @t isn't complete (.whole). They become complete once the main thread
 * has run.
 */
_must_use_ int run_time_again(pid_t pid, struct run_time *t);

/*
 * Sets *ret_ns to the machine's CPU time, in ns, that belongs to no thread: time taken by the
 * machine's host or by interrupts. If the kernel charges interrupts to threads, their time is
 * included all the same. False: not known.
 */
bool run_time_taken(uint64_t *ret_ns);

/*
 * These functions do the work of run_time_read() and run_time_taken() on the text of schedstat and
 * of /proc/stat. False: the text doesn't have the figures.
 */
bool run_time_parse(const char *text, struct run_time *ret);
bool run_time_parse_taken(const char *text, uint64_t *ret_ticks);

#endif
