/* SPDX-License-Identifier: BSD-2-Clause */
/* What a collector counts. */
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

/* Processes with a second interpreter that is initialised but not shown. */
struct collect_other {
	unsigned processes;
	uint32_t tgid;
	char name[32]; /* name of the last interpreter that isn't shown, like "CPython 3.9" */
	/* path of the file of interpreter .name, or as much of its beginning as fits */
	char file[256];
};

struct collect_stats {
	struct collect_other other;
	/*
	 * Version, as in process.version, of the last interpreter whose heap krait doesn't know; 0:
	 * there was none.
	 */
	uint16_t newer_version;
	uint64_t samples; /* samples in the profile */
	/* sum of the weights of all samples in the profile, in the event's unit */
	uint64_t weight;
	/*
	 * CPU time from the first to the last counted sample of each thread, of threads that ran
	 * long enough (thread.c)
	 */
	uint64_t cpu_ns;
	uint64_t came;			     /* samples taken in the CPU time that .cpu_ns counts */
	uint64_t outcomes[WALK_OUTCOME_MAX]; /* samples by how the walk ended */
	uint64_t native[NATIVE_OUTCOME_MAX]; /* samples by how unwinding ended */
	/* samples of processes that turned out not to be Python; they aren't in the profile */
	uint64_t not_python;
	/*
	 * samples of processes that ended before krait knew what they are; they aren't in the
	 * profile
	 */
	uint64_t unknown;
	/* processes that .may_see (config.h) didn't allow to be shown, Python or not */
	unsigned foreign;
	uint64_t broken_records, lost_stacks, lost_names;
	uint64_t map_malformed,
		map_dropped;  /* entries of perf maps and jitdumps: malformed; beyond a limit */
	unsigned maps_unread; /* processes whose perf maps or jitdumps weren't read to their end */
	/* how often an unwind table of a file or of code made at run time made room for others */
	uint64_t rows_given_up;
	/* how often there was no room for a file's rows; they are tried again later */
	uint64_t rows_refused;
	uint64_t rows_too_large; /* files whose rows are too large for the kernel's maps */
	/* how often names of a file, or a process's registered code, made room for others */
	uint64_t names_given_up;
	/* how often a file was looked through only in part, because its slice ended */
	uint64_t looks_cut;
	/*
	 * how often a file wasn't looked into, because files had taken too much time: those that
	 * processes of the same uid, all processes, or processes that aren't known map
	 */
	uint64_t looks_refused;
	unsigned unread_files; /* files whose names were wanted, but weren't read until the end */
	/* path of the first file that .unread_files counts, or as much of its end as fits */
	char unread_file[256];
	/* processes and file systems that didn't answer reads of their memory or files */
	struct reader_stats unreadable;
	unsigned unfetched; /* debug files that there was no time to fetch from servers */
	/*
	 * how often lines of native code weren't looked up, because config.wait had ended the wait
	 */
	uint64_t unlined;
	bool unread_kernel; /* the kernel's names were wanted, but weren't read until the end */
	/*
	 * how often a process's lists of code registered for gdb couldn't be read, after some tries
	 */
	uint64_t lists_refused;
	struct {
		/* pages of memory that weren't resident, and were read for the kernel program */
		uint64_t pages;
		/*
		 * how often a read was refused: a budget was spent, too many reads were under way,
		 * or one hangs
		 */
		uint64_t refused;
		unsigned processes; /* processes of which a read was refused */
		/* the first process of which a read was refused: "PID (name)" */
		char first[64];
	} absent;
	struct {
		uint64_t times;	    /* how often upkeep (upkeep.h) was put off */
		unsigned processes; /* processes whose upkeep was put off */
		char first[64];	    /* the first process whose upkeep was put off: "PID (name)" */
	} put_off;
	struct {
		unsigned processes; /* new processes that were only counted for a while (crowd.h) */
		/*
		 * samples of crowded processes that krait knows nothing of; they aren't in the
		 * profile
		 */
		uint64_t samples;
		/* the first process that was only counted: "PID, name"; "": it may not be named */
		char first[64];
	} crowded;
	/* processes whose lists of code registered for gdb were too long to be read whole */
	unsigned lists_cut;
	/* processes with samples in the profile; threads that had samples */
	unsigned processes, threads;
	size_t stacks, codes;
	struct {
		size_t stacks, codes, threads; /* how many are in memory now */
	} kept;
	const struct collect_unsupported *unsupported;
	size_t n_unsupported;
};

#endif
