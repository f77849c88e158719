/* SPDX-License-Identifier: BSD-2-Clause */
/* What a collector counts. */
#ifndef COLLECT_COMMON_STATS_H
#define COLLECT_COMMON_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/read/reader.h"
#include "records.h"

struct collect_unsupported {
	char reason[128];
	uint64_t samples;
	unsigned processes;
};

/*
 * Processes with a second interpreter that is initialised but isn't shown: the number of such
 * processes, and the number and interpreter of the process in which this was found last.
 */
struct collect_other {
	unsigned processes;
	uint32_t tgid;
	/* name of the second interpreter in the last such process, like "CPython 3.9" */
	char name[32];
	/* path of the file of interpreter .name, or as much of the path's beginning as fits */
	char file[256];
};

/* The counted samples of one event. */
struct collect_source {
	/* weight: sum of the samples' weights, in the event's unit */
	uint64_t samples, weight;
	/* number of samples by how the search for Python frames ended */
	uint64_t outcomes[WALK_OUTCOME_MAX];
	/* number of samples by how native unwinding ended */
	uint64_t native[NATIVE_OUTCOME_MAX];
};

/* how many kinds of waits are summed up separately; the last entry sums up all other kinds */
#define COLLECT_STATES 24

/* How long threads waited for one kind of thing, summed up from the samples of waits. */
struct collect_waited {
	char state[48]; /* the kind: a value of the label `state`, or "idle" */
	uint64_t ns;
};

/* What the kernel has counted of the times of threads whose waits were recorded. */
struct collect_accounts {
	/*
	 * how long threads were ready to run but had no CPU, and how much CPU time the hypervisor
	 * took from them
	 */
	uint64_t ready_ns, stolen_ns;
	/*
	 * The two sums of struct rec_account, over .threads threads. They measure the same time, so
	 * they should be equal.
	 */
	uint64_t threads, switches_ns, kernel_ns;
};

struct collect_stats {
	struct collect_other other;
	struct collect_waited waited[COLLECT_STATES];
	unsigned n_waited;
	/* waits that weren't over when the recording ended: how many, and how long they were */
	uint64_t open_waits, open_ns;
	struct collect_accounts accounts;
	/*
	 * Version, as in process.version, of the last interpreter whose heap krait doesn't know; 0:
	 * there was none.
	 */
	uint16_t newer_version;
	uint64_t samples; /* number of samples in the profile */
	struct collect_source sources[ABI_MAX_SOURCES];
	/*
	 * CPU time between the first and the last counted sample of each thread, summed over all
	 * threads that ran long enough (thread.c)
	 */
	uint64_t cpu_ns;
	uint64_t came; /* samples of .cpu_source taken in the CPU time that .cpu_ns counts */
	/* number of samples of all events, by how the search for Python frames ended */
	uint64_t outcomes[WALK_OUTCOME_MAX];
	uint64_t native[NATIVE_OUTCOME_MAX];
	/*
	 * samples of processes that turned out not to be Python; the profile doesn't have these
	 * samples
	 */
	uint64_t not_python;
	/*
	 * samples of processes that ended before krait knew what they run; the profile doesn't have
	 * these samples
	 */
	uint64_t unknown;
	/* number of processes, Python or not, that .may_see (config.h) forbade to show */
	unsigned foreign;
	uint64_t broken_records, lost_stacks, lost_names;
	uint64_t map_malformed,
		/* entries of perf maps and jitdumps: how many were malformed, or beyond a limit */
		map_dropped;
	/* number of processes whose perf maps or jitdumps weren't read to their end */
	unsigned maps_unread;
	/* how often an unwind table was emptied to make room for other tables */
	uint64_t rows_given_up;
	/* how often there was no room for a file's unwind rows; such rows are made again later */
	uint64_t rows_refused;
	/* number of files whose unwind rows are too large for the kernel's maps */
	uint64_t rows_too_large;
	/*
	 * how often names of a file, or of registered code, were freed to make room for other names
	 */
	uint64_t names_given_up;
	/*
	 * how often only a part of a file was searched for an interpreter, because the limit of
	 * work (slice) was reached
	 */
	uint64_t looks_cut;
	/*
	 * how often unwind rows or names were made of only a part of a file, because the limit of
	 * work (slice) or of memory was reached
	 */
	uint64_t tables_cut;
	/*
	 * how often a file wasn't looked into because too much time was spent already on files that
	 * processes of the same user, or of all users, map
	 */
	uint64_t looks_refused;
	/*
	 * how often a file wasn't looked into because krait doesn't know the process that maps it,
	 * and files of such processes had taken too much time
	 */
	uint64_t strangers_refused;
	/* number of files whose names were needed, but weren't read before the end */
	unsigned unread_files;
	/* path of the first file that .unread_files counts, or as much of the path's end as fits */
	char unread_file[256];
	/* reads of memory or files that weren't answered, by process and file system */
	struct reader_stats unreadable;
	unsigned unfetched; /* number of debug files that there was no time to fetch from servers */
	/*
	 * how often lines of native code weren't looked up, because config.wait had ended the wait
	 */
	uint64_t unlined;
	bool unread_kernel; /* names of the kernel were needed, but weren't read before the end */
	/*
	 * how often a process's lists of code registered for gdb couldn't be read, after some tries
	 */
	uint64_t lists_refused;
	struct {
		/* number of non-resident pages that krait has read for the kernel program */
		uint64_t pages;
		/*
		 * how often a read was refused: a budget was spent, too many reads were under way,
		 * or a read hangs
		 */
		uint64_t refused;
		/* number of processes of which a read of non-resident memory was refused */
		unsigned processes;
		/*
		 * the first process of which a read of non-resident memory was refused: "PID
		 * (name)"
		 */
		char first[64];
	} absent;
	struct {
		uint64_t times;	    /* how often the upkeep (upkeep.h) of a process was put off */
		unsigned processes; /* number of processes whose upkeep was put off */
		char first[64];	    /* the first process whose upkeep was put off: "PID (name)" */
	} put_off;
	struct {
		/* number of new processes whose samples were only counted for a while (crowd.h) */
		unsigned processes;
		/*
		 * number of samples of processes that were only counted (crowd.h): nothing else is
		 * known of these samples, and the profile lacks them
		 */
		uint64_t samples;
		/*
		 * the first process whose samples were only counted: "PID, name"; "": it may be
		 * another user's
		 */
		char first[64];
	} crowded;
	/* processes whose lists of code registered for gdb were too long to be read whole */
	unsigned lists_cut;
	/* number of processes with samples in the profile, and of threads with samples */
	unsigned processes, threads;
	size_t stacks, codes;
	struct {
		/* how many stacks, code objects and threads are in memory now */
		size_t stacks, codes, threads;
	} kept;
	const struct collect_unsupported *unsupported;
	size_t n_unsupported;
};

#endif
