/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a process and its main thread had a CPU, and how long that thread was ready and had none, as the kernel
 * counts it (/proc/PID/task/PID/schedstat; kernel: kernel/sched/stats.h, sched_info). Also of a zombie.
 */
#ifndef PROC_RUN_TIME_H
#define PROC_RUN_TIME_H

#include <sys/types.h>

#include "base/util.h"

struct run_time {
	uint64_t at_ns;		    /* when it was read, CLOCK_MONOTONIC */
	uint64_t start_ns;	    /* of the process, CLOCK_BOOTTIME, to 10 ms */
	uint64_t cpu_ns;	    /* of all its threads, ended ones too */
	uint64_t ran_ns, queued_ns; /* of the main thread */
	uint64_t runs;		    /* how often it came onto a CPU; 0: the kernel doesn't count */
	unsigned threads;
	char state; /* of the main thread: 'R', 'S', 'Z', ... */
	/* .queued_ns has all: a thread that is ready at the moment is counted only when it gets its CPU. */
	bool whole;
};

/* 0, -ESRCH, -errno. No message. */
_must_use_ int run_time_read(pid_t pid, struct run_time *ret);

/* Reads @t, which isn't whole, once more: it is if the thread has run since. */
_must_use_ int run_time_again(pid_t pid, struct run_time *t);

/*
 * CPU time of the machine that no thread is charged with: taken by its host, or by interrupts. False: it isn't known.
 * A kernel that charges threads with the interrupts counts them here as well.
 */
bool run_time_taken(uint64_t *ret_ns);

/* From the texts of schedstat and of /proc/stat. False: it isn't there. */
bool run_time_parse(const char *text, struct run_time *ret);
bool run_time_parse_taken(const char *text, uint64_t *ret_ticks);

#endif
