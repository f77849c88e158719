/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long processes had a CPU while they were recorded. These facts are comments of a profile: one
 * comment for all processes together, and one for each process that existed until the end.
 * docs/format.md has their words.
 */
#ifndef PROFILE_CPU_USE_H
#define PROFILE_CPU_USE_H

#include "base/text/str.h"
#include "base/util.h"

#define CPU_USE "CPU use" /* key of the comments about CPU use */

struct cpu_use {
	bool all; /* the figures are sums over all processes: .pid, .threads and .name aren't set */
	uint32_t processes; /* number of processes that the figures are of, if .all */
	uint32_t pid;	    /* id of the process, if not .all */
	/* how long the process was watched, and the CPU time of all its threads in that time */
	uint64_t wall_ms, cpu_ms;
	uint32_t threads;
	/* the times below are known; they are the main thread's, and their sum is .wall_ms */
	bool main;
	uint64_t ran_ms, queued_ms, waited_ms;
	/*
	 * time of which it isn't known whether the host or interrupts had the CPU, or the thread
	 * waited
	 */
	uint64_t unknown_ms;
	/* name of the process; after cpu_use_parse() it points into the comment */
	const char *name;
};

/*
 * Sets .waited_ms and .unknown_ms from the other times: divides between them the time in which the
 * main thread neither ran nor was ready. .unknown_ms becomes at most @taken_ms, the CPU time that
 * the machine's host and interrupts took, because no thread is charged for that.
 */
void cpu_use_split(struct cpu_use *u, uint64_t taken_ms);

/* Appends @u as the text of a comment, without the comment's key (CPU_USE). */
void cpu_use_print(const struct cpu_use *u, struct str *ret);

/*
 * Parses a whole comment. Returns false if it isn't about CPU use or contradicts itself. A comment
 * from a file may be anything.
 */
bool cpu_use_parse(const char *comment, struct cpu_use *ret);

/* Tells whether @comment has the key CPU_USE, whatever it says. */
bool cpu_use_is(const char *comment);

#endif
