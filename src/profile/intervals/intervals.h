/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels that a program gives to stretches of its own time. It appends a line to a file for each
 * stretch, and the samples of that time get the labels when the recording is done. A line is a JSON
 * object. Its times are those of CLOCK_MONOTONIC as the process sees that clock:
 *
 *   {"pid": 41, "tid": 42, "begin": 1000, "end": 2000, "labels": {"test": "test_a.py::test_b"}}
 *
 * Without "tid" the labels are for all threads of the process. A process that was started during an
 * interval works for the process that started it. So it has the interval's labels too, until the
 * interval ends. Input is hostile.
 */
#ifndef PROFILE_INTERVALS_INTERVALS_H
#define PROFILE_INTERVALS_INTERVALS_H

#include "base/intern.h"
#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

/* the most bytes of a file of intervals that are read */
#define INTERVALS_MAX_BYTES ((size_t)64 << 20)
#define INTERVALS_MAX_KEYS  8 /* the most different keys in a file of intervals */
/* the most different values in a file of intervals; all further values become INTERVALS_OTHER */
#define INTERVALS_MAX_VALUES 65536
#define INTERVALS_MAX_TEXT   4096 /* the most bytes of a label's key or value */
/* the most labels that are read from a file of intervals; further labels are left out */
#define INTERVALS_MAX_LABELS (1 << 20)
#define INTERVALS_MAX_FORKS  65536
#define INTERVALS_OTHER	     "[other]"

/* One label of a line in a file of intervals. */
struct interval {
	/* the process and thread whose samples get the label; .tid 0: all threads of the process */
	uint32_t pid, tid;
	uint32_t key;	/* 1 + index of the label's key in intervals.keys */
	uint32_t value; /* id of the label's value in intervals.values */
	uint64_t begin_ns, end_ns;
	uint32_t order; /* number of the label in the file; later labels have higher numbers */
};

struct intervals {
	struct intern values;
	VEC(struct interval) list;
	struct str keys[INTERVALS_MAX_KEYS];
	unsigned n_keys;
	/* how many lines were read, and how many of them were bad; empty lines don't count */
	uint64_t lines, bad_lines;
	uint64_t left_out;   /* how many labels were left out because there was no room */
	char first_bad[256]; /* says what was wrong with the first bad line */
};

/*
 * Reads the lines of @text. Bad lines are counted and skipped; .first_bad says what is wrong with
 * the first of them. A last line without a line break is left out, because the program is still
 * writing it. Only lines of processes that are keys of @pids are kept; NULL: all lines are. 0 or
 * -ENOMEM + message. Call intervals_fini() in any case.
 */
_must_use_ int intervals_read(struct intervals *v, const char *text, size_t n,
			      const struct map *pids);
void intervals_fini(struct intervals *v);

struct intervals_clock {
	uint64_t start_ns; /* time 0 of the profile, CLOCK_MONOTONIC without a shift */
	/*
	 * Gets the number of ns by which the clock of process @pid is ahead of the machine's clock
	 * (time namespaces). Returns false if the number isn't known. NULL: no clock is shifted.
	 */
	bool (*shift)(void *arg, uint32_t pid, int64_t *ret_ns);
	void *arg;
};

/* A process @pid that thread @parent_tid of process @parent started. */
struct interval_fork {
	uint64_t time_ns; /* when the process was started, CLOCK_MONOTONIC without a shift */
	uint32_t pid, parent, parent_tid;
};
typedef VEC(struct interval_fork) interval_fork_vec;

/*
 * Gives the samples of @p the labels of the intervals that they are in. *ret: how many samples got
 * a label. Samples of a process whose clock isn't known get no labels from that process's
 * intervals. If several intervals with the same key cover a sample, those of its thread come before
 * those of its process; among these, the one that begins last counts, and if both begin at once,
 * the later line.
 *
 * @forks lists processes that were started, in order of time; NULL: no such process is known. Each
 * inherits the labels that a sample of the thread which started it would have had at that time. An
 * inherited label lasts until its interval ends. A label of its own with the same key replaces an
 * inherited one. 0, or -ENOMEM or -errno + message: then the samples of @p are unchanged.
 */
_must_use_ int intervals_apply(struct intervals *v, struct profile *p,
			       const struct intervals_clock *clock, const interval_fork_vec *forks,
			       uint64_t *ret);

#endif
