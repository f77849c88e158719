/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels that a program gives to stretches of its own time: it appends a line to a file for each, and the samples
 * of that time get them when the recording is done. A line is a JSON object, times are CLOCK_MONOTONIC's:
 *
 *   {"pid": 41, "tid": 42, "begin": 1000, "end": 2000, "labels": {"test": "test_a.py::test_b"}}
 *
 * "tid" may be left out: all threads of the process. Input is hostile.
 */
#ifndef PROFILE_INTERVALS_H
#define PROFILE_INTERVALS_H

#include "base/vec.h"
#include "profile/intern.h"
#include "profile/profile.h"

#define INTERVALS_MAX_BYTES  ((size_t)64 << 20) /* of a file */
#define INTERVALS_MAX_KEYS   8			/* different ones */
#define INTERVALS_MAX_VALUES 65536		/* different ones; the rest are INTERVALS_OTHER */
#define INTERVALS_MAX_TEXT   4096		/* bytes of a key or value */
#define INTERVALS_OTHER	     "[other]"

/* One label of a line. */
struct interval {
	uint32_t pid, tid;   /* tid 0: all threads */
	uint32_t key, value; /* ids in .texts */
	uint64_t begin_ns, end_ns;
	uint32_t order; /* in the file */
};

struct intervals {
	struct intern texts;
	VEC(struct interval) list;
	uint32_t keys[INTERVALS_MAX_KEYS];
	unsigned n_keys;
	uint64_t lines, bad_lines;
	char first_bad[256]; /* what was wrong with the first bad line */
};

/*
 * Reads the lines of @text. What is wrong with a line is kept in .first_bad, and the others count; a last
 * line without its end is being written, and left out. 0 or -ENOMEM + message; fini in any case.
 */
_must_use_ int intervals_read(struct intervals *v, const char *text, size_t n);
void intervals_fini(struct intervals *v);

/*
 * Gives the samples of @p, whose times count from @start_ns, the labels of the intervals that they are in; *ret: how
 * many got one. Where several with one key cover a sample, that of its thread counts before that of the
 * process, then the one that begins last, then the later line. 0, or -ENOMEM or -errno + message: @p has the samples
 * that it had.
 */
_must_use_ int intervals_apply(struct intervals *v, struct profile *p, uint64_t start_ns,
			       uint64_t *ret);

#endif
