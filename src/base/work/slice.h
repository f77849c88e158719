/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds of work whose size a target chooses. A slice bounds the work of one thread between two
 * points in the code. Loops over the contents of a file, or of a process's memory, take their work
 * from it. A slice counts work, not time, so that a slow machine reads as much of a file as a fast
 * one. A budget bounds the CPU time that one process, one user, or all of them together may cost
 * over a recording.
 */
#ifndef BASE_WORK_SLICE_H
#define BASE_WORK_SLICE_H

#include "base/util.h"

/* Each WORK_* is the most time, in ns, that the named work takes on a common machine of today. */
#define SLICE_MS    1000000ull
#define WORK_BYTE   1  /* the work of reading and checking one byte */
#define WORK_SYMBOL 16 /* the work of checking one symbol, or one entry of any other table */
/* the work of decoding one byte of machine code (unwind/prove/code_rows.h) */
#define WORK_CODE 25
#define WORK_CALL 1000 /* the work of a system call that reads something small */
#define WORK_SORT 64   /* the work of sorting up to a million entries, divided by their number */

/*
 * Bounds the work of one thread from slice_begin() to slice_end(). The caller provides the memory
 * of this struct.
 */
struct slice {
	uint64_t left;
	uint64_t memory; /* bytes that may still be allocated until the end of the slice */
	/*
	 * the enclosing slice, from which all work and memory of this slice are taken too; NULL:
	 * none
	 */
	struct slice *outer;
	/* set when something was left out because the slice had too little work or memory left */
	bool cut;
};

/*
 * The words by which messages name two limits of memory. The command line sets these words to its
 * options' names. It does so before it starts other threads.
 */
struct limit_names {
	const char *memory, *unwind_memory;
};
extern struct limit_names limit_names;

void slice_begin(struct slice *s, uint64_t work);
void slice_end(struct slice *s);

/*
 * Takes @work from the thread's slice, before the work is done. False: the slice has less work
 * left, and the caller leaves this work out; smaller work may still be possible. A job that nobody
 * waits for any more (worker_cancelled()) has no work left. True if the thread has begun no slice.
 */
bool slice_spend(uint64_t work);

/*
 * Limits how many bytes may be allocated in the slice for the contents of a file. Freed bytes still
 * count.
 */
void slice_limit_memory(struct slice *s, uint64_t bytes);

/*
 * Takes @bytes from the memory of the thread's slice, before they are allocated. False: the slice
 * has fewer bytes left.
 */
bool slice_hold(uint64_t bytes);

/*
 * CPU time that was spent on some work. A limit says how much may be spent: a burst at once, and
 * after that a share of the time that passes.
 */
struct budget {
	/*
	 * when the first work was charged to this budget, CLOCK_MONOTONIC; 0: no work was charged
	 * yet
	 */
	uint64_t first_ns;
	uint64_t took_ns;
};

struct budget_limit {
	uint64_t burst_ns;
	unsigned share; /* the share of passing time, as a divisor: 20 means 5 % */
};

bool budget_is_left(const struct budget *b, struct budget_limit limit, uint64_t now_ns);
/*
 * Returns the time (CLOCK_MONOTONIC) from which on some of the budget will be left; 0: some is left
 * now.
 */
uint64_t budget_due_ns(const struct budget *b, struct budget_limit limit);
void budget_spend(struct budget *b, uint64_t now_ns, uint64_t ns);
/*
 * Charges work as budget_spend() does, but time in which nothing is spent doesn't add up: at most
 * the burst of @limit may be spent at once. For a budget that is checked against no other limit.
 */
void budget_spend_only(struct budget *b, struct budget_limit limit, uint64_t now_ns, uint64_t ns);

#endif
