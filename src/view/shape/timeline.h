/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands out the samples of a profile thread by thread, those of each thread in order of time, as
 * viewers that show a track for each thread need them. (A profile itself mixes the samples of all
 * threads, and sorts them only within 10 s.) Memory is bounded: only as many threads are read at a
 * time as fit into a window of samples. A thread with more samples is read in parts.
 */
#ifndef VIEW_SHAPE_TIMELINE_H
#define VIEW_SHAPE_TIMELINE_H

#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/sample_order.h"

/*
 * A thread: the samples with the same labels pid and tid, or with the same value of what --by
 * names. The profile owns the texts; "": not known.
 */
struct timeline_thread {
	const char *pid, *tid, *process, *name;
	/*
	 * Process and thread id for formats that need numbers: the numbers in the labels or, if the
	 * labels have none, numbers that are larger than any that Linux gives.
	 */
	uint64_t pid_number, tid_number;
	uint64_t n; /* number of samples of the thread */
	/* time of the thread's first and last sample; -1: no sample has a time */
	int64_t first_ns, last_ns;
	uint32_t key;
};

struct timeline {
	struct profile *p;
	const char *by;
	/* true: times are used; false: all samples are treated as if they had none */
	bool times;
	/* the threads that have samples, sorted by pid, then by tid */
	VEC(struct timeline_thread) threads;
	/* by label set id: index of the thread in .threads; UINT32_MAX: the set has no samples */
	uint32_t *of_labels;
	uint64_t untimed; /* number of samples that have no time */
};

/*
 * Finds the threads of @p. @times is the value of --times and --no-times. @by is the value of --by:
 * NULL or "thread", "process", or a label. With a label, each of its values counts as a thread.
 * Returns 0 or -errno + message.
 */
_must_use_ int timeline_init(struct timeline *t, struct profile *p, enum profile_times times,
			     const char *by);
void timeline_fini(struct timeline *t);

/*
 * Functions that are called for each thread and each run. A run is consecutive samples of a thread
 * with the same stack, no further apart than samples of a running thread. .time_ns and .labels of
 * @run are those of the run's first sample, its values are sums, and @last_ns is the time of the
 * run's last sample.
 */
struct timeline_reader {
	int (*begin)(void *arg, const struct timeline_thread *thread);
	int (*run)(void *arg, const struct profile_sample *run, int64_t last_ns);
	int (*end)(void *arg, const struct timeline_thread *thread);
	bool every_sample; /* each sample is handed out by itself, as a run of one sample */
};

/*
 * Calls @reader for every thread, with the thread's runs in order of time. Runs without a time come
 * first, one for each stack. Stops at the first return that isn't 0, and returns it. -errno +
 * message on failure.
 */
_must_use_ int timeline_each(struct timeline *t, const struct timeline_reader *reader, void *arg);

#define TIMELINE_ALL "all threads"
/*
 * Appends a thread's name: "app.py (pid 12) · worker (tid 34)", the part of it that is known, or
 * TIMELINE_ALL.
 */
void timeline_name(const struct timeline_thread *thread, struct str *b);

#endif
