/* SPDX-License-Identifier: BSD-2-Clause */
/* What a collector has counted. */
#ifndef COLLECT_COMMON_STATS_H
#define COLLECT_COMMON_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/reader.h"
#include "records.h"

struct collect_unsupported {
	char reason[128];
	uint64_t samples;
	unsigned processes;
};

/* Processes with a second interpreter that is initialised but not shown, and the last of them: */
struct collect_other {
	unsigned processes;
	uint32_t tgid;
	char name[32];	/* CPython 3.9 */
	char file[256]; /* path, or as much of its beginning as fits */
};

struct collect_stats {
	struct collect_other other;
	/* As process.version, of an interpreter whose heap isn't known; 0: none. */
	uint16_t newer_version;
	uint64_t samples; /* in the profile */
	uint64_t weight;  /* their sum, in the event's unit */
	uint64_t cpu_ns;  /* CPU time of threads with enough of it, between their samples */
	uint64_t came;	  /* samples in that time */
	uint64_t outcomes[WALK_OUTCOME_MAX]; /* by how the walk ended */
	uint64_t native[NATIVE_OUTCOME_MAX]; /* by how unwinding ended */
	uint64_t not_python; /* samples of processes that turned out not to be Python */
	uint64_t unknown;    /* samples of processes that were gone before that could be told */
	unsigned foreign;    /* processes that .may_see left out, Python or not */
	uint64_t broken_records, lost_stacks, lost_names;
	uint64_t map_malformed,
		map_dropped;  /* entries of perf maps and jitdumps: not one; beyond a limit */
	unsigned maps_unread; /* processes whose perf maps or jitdumps weren't read to their end */
	uint64_t rows_given_up;	 /* unwind tables of a file emptied for others */
	uint64_t rows_refused;	 /* no room for them, for the time being */
	uint64_t rows_too_large; /* files */
	uint64_t names_given_up; /* of files, for others: times */
	uint64_t looks_cut;	/* files that were looked through in part, within a limit of work */
	uint64_t looks_refused; /* files that weren't, because their users' took too long: times */
	unsigned unread_files;	/* whose names were wanted, but weren't read until the end */
	char unread_file[256];	/* the first of them, or as much of it as fits from its end */
	struct reader_stats unreadable; /* processes whose memory didn't come */
	unsigned unfetched;	/* debug files that there was no time to fetch from servers */
	uint64_t unlined;	/* places in native code whose lines weren't looked up in time */
	bool unread_kernel;	/* the kernel's names weren't either */
	uint64_t lists_refused; /* lists of code registered for gdb that couldn't be read */
	struct {
		uint64_t pages;	  /* of memory that wasn't resident, read for the kernel program */
		uint64_t refused; /* not read: a budget was spent, or a read doesn't return */
		unsigned processes; /* of which that was refused; */
		char first[64];	    /* number and name of the first of them */
	} absent;
	struct {
		uint64_t times;	    /* upkeep (upkeep.h) that was put off; */
		unsigned processes; /* of which; */
		char first[64];	    /* number and name of the first of them */
	} put_off;
	struct {
		unsigned processes; /* new ones that were counted only (crowd.h); */
		uint64_t
			samples; /* of those that nothing is known of: they aren't in the profile */
		char first[64];	 /* number and name of the first of them; "": not to be told */
	} crowded;
	unsigned lists_cut;	     /* processes: not all of their lists for gdb was read */
	unsigned processes, threads; /* Python processes with samples; their threads */
	size_t stacks, codes;
	struct {
		size_t stacks, codes, threads; /* that are in memory now */
	} kept;
	const struct collect_unsupported *unsupported;
	size_t n_unsupported;
};

#endif
