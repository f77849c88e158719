/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of the time of a recording its processes had a CPU: comments of a profile, one of all together and one of
 * each process that was there until the end. docs/format.md has the words.
 */
#ifndef PROFILE_CPU_USE_H
#define PROFILE_CPU_USE_H

#include "base/str.h"
#include "base/util.h"

#define CPU_USE "CPU use" /* the comment's key */

struct cpu_use {
	bool all;		  /* of all processes together: .pid, .threads, .name aren't set */
	uint32_t processes;	  /* .all: how many */
	uint32_t pid;		  /* else: of this one */
	uint64_t wall_ms, cpu_ms; /* how long it was looked at; CPU time of all threads then */
	uint32_t threads;
	bool main; /* the main thread's are known; together they are .wall_ms */
	uint64_t ran_ms, queued_ms, waited_ms;
	uint64_t unknown_ms; /* the host or interrupts had the CPU, or it waited */
	const char *name;    /* of the process; of parsed ones in the comment */
};

/*
 * Sets .waited_ms and .unknown_ms from the others: what the main thread neither ran nor was ready for. Up to @taken_ms
 * of that may be CPU time that no thread is charged with, as the host or interrupts took it.
 */
void cpu_use_split(struct cpu_use *u, uint64_t taken_ms);

/* Appends the comment's text behind its key. */
void cpu_use_print(const struct cpu_use *u, struct str *ret);

/* From a whole comment. False: it is another one, or contradicts itself; a file may say anything. */
bool cpu_use_parse(const char *comment, struct cpu_use *ret);

/* Is it one of these comments, whatever it says? */
bool cpu_use_is(const char *comment);

#endif
