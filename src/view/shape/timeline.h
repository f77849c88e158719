/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile thread by thread, each in the order of time: what viewers with a track for every thread
 * want, while a profile's samples are of all threads and sorted within 10 s at most. Memory is
 * bounded: as many threads at a time as make a window of samples, a thread with more in parts.
 */
#ifndef VIEW_SHAPE_TIMELINE_H
#define VIEW_SHAPE_TIMELINE_H

#include "base/str.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/sample_order.h"

/* Samples with the same labels pid and tid, or by what was asked for. Texts belong to the profile;
 * "" = it doesn't say. */
struct timeline_thread {
	const char *pid, *tid, *process, *name;
	/* For formats that want numbers: those of the labels, else larger than Linux has any. */
	uint64_t pid_number, tid_number;
	uint64_t n;		   /* samples */
	int64_t first_ns, last_ns; /* of those with a time; -1 = none has */
	uint32_t key;
};

struct timeline {
	struct profile *p;
	const char *by;
	bool times;			     /* false: as if no sample had a time */
	VEC(struct timeline_thread) threads; /* those with samples; by pid, then tid */
	uint32_t *of_labels; /* index of the thread by label set, UINT32_MAX = no samples */
	uint64_t untimed;    /* samples without a time */
};

/*
 * 0 or -errno + message. @times is what --times and --no-times say, @by what --by says: NULL or
 * "thread", "process", or a label, whose values are then what this file calls threads.
 */
_must_use_ int timeline_init(struct timeline *t, struct profile *p, enum profile_times times,
			     const char *by);
void timeline_fini(struct timeline *t);

/*
 * A run: consecutive samples of a thread with the same stack, less apart than samples of a running
 * thread are. .time_ns and .labels are the first one's, values are summed, @last_ns is the time of
 * the last one.
 */
struct timeline_reader {
	int (*begin)(void *arg, const struct timeline_thread *thread);
	int (*run)(void *arg, const struct profile_sample *run, int64_t last_ns);
	int (*end)(void *arg, const struct timeline_thread *thread);
	bool every_sample; /* a run is one sample */
};

/*
 * Every thread, its runs by time; those without a time come first, one for each stack. Stops at the
 * first non-zero return and returns it; -errno + message.
 */
_must_use_ int timeline_each(struct timeline *t, const struct timeline_reader *reader, void *arg);

/* "app.py (pid 12) · worker (tid 34)", or what of it is known. */
void timeline_name(const struct timeline_thread *thread, struct str *b);

#endif
