/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds of work whose size a target chooses. A slice bounds one stretch of work of one thread: loops over what a file or a
 * process lays out spend of it. It counts work, not time, so that the same file is understood on a slow machine too. A
 * budget bounds the CPU time that one process, one user, or all of them together may cost over a recording.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include "base/util.h"

/* Work is counted in ns that it takes on a common machine of today, at most. */
#define SLICE_MS    1000000ull
#define WORK_BYTE   1	 /* that is read and looked at */
#define WORK_SYMBOL 16	 /* or another entry of a table, looked at */
#define WORK_CODE   25	 /* a byte of code that is understood (elf/code_rows.h) */
#define WORK_CALL   1000 /* of the kernel, that reads something small */
#define WORK_SORT   64	 /* for each of up to a million entries that are sorted */

/* In the caller's storage, from slice_begin() to slice_end() by the same thread. */
struct slice {
	uint64_t left;
	uint64_t memory;     /* bytes that may still be taken and kept until the end of the slice */
	struct slice *outer; /* what is spent of this one is spent of that one too */
	bool cut;	     /* something was left out for want of work */
};

void slice_begin(struct slice *s, uint64_t work);
void slice_end(struct slice *s);

/*
 * Takes @work of the thread's slice, before it is done. False: it doesn't have so much, and the caller leaves the work
 * out; what is smaller may still be possible. A job that nobody waits for any more (worker_cancelled()) has none. True where
 * no slice was begun.
 */
bool slice_spend(uint64_t work);

/* Within the slice @bytes of memory may be taken for what a file lays out, once and for all. */
void slice_limit_memory(struct slice *s, uint64_t bytes);

/* Takes so many of them, before they are allocated. As slice_spend(). */
bool slice_hold(uint64_t bytes);

/* CPU time that was spent, of which some is allowed at once, and then a share of the time that passes. */
struct budget {
	uint64_t first_ns; /* CLOCK_MONOTONIC of the first work; 0: none yet */
	uint64_t took_ns;
};

struct budget_limit {
	uint64_t burst_ns;
	unsigned share; /* one part in so many */
};

bool budget_is_left(const struct budget *b, struct budget_limit limit, uint64_t now_ns);
/* From when on it is. */
uint64_t budget_due_ns(const struct budget *b, struct budget_limit limit);
void budget_spend(struct budget *b, uint64_t now_ns, uint64_t ns);
/* The same where @limit is the budget's only one: time that passes unused adds no more than the burst. */
void budget_spend_only(struct budget *b, struct budget_limit limit, uint64_t now_ns, uint64_t ns);

#endif
