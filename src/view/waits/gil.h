/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which threads waited for which for the GIL. A sample's value gil_blame is how long
 * other threads waited while the sample's thread held the GIL. This time is divided between the
 * threads of the process that waited at that time, by gil_wait of their samples (a wait begins at
 * the time of its sample). "At that time" means within the same 10 ms, because files have no finer
 * times by default, or while the holder itself waited (docs/decisions/0024).
 */
#ifndef VIEW_WAITS_GIL_H
#define VIEW_WAITS_GIL_H

#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

/*
 * A span of time in which a thread waited for the GIL, or held the GIL while other threads waited
 * for it.
 */
struct gil_span {
	int64_t from, to;
	/* for a wait: its length; for a holder: how long other threads waited for the holder */
	int64_t ns;
	uint32_t thread;
};

struct gil_thread {
	uint32_t labels; /* one of the thread's label sets, which gives the thread's name */
	uint32_t process;
	int64_t waited, blamed;
	/*
	 * row and column of the thread in the table; 0: the row or column for threads that aren't
	 * known
	 */
	uint32_t row, column;
};

struct gil_pairs {
	struct profile *p;
	/*
	 * indices of the values gil_wait, gil_blame and off_cpu; .off -1: the profile has no
	 * off_cpu
	 */
	int wait, blame, off;
	/* the threads; the first element stands for all threads that aren't known */
	VEC(struct gil_thread) threads;
	struct map by_id;
	VEC(struct gil_span) waits, holds;
	bool timeless; /* some samples have no time, so it isn't known who waited for whom */
	/*
	 * Set by gil_pairs_make(). .rows: the threads that waited, the longest first; .columns: the
	 * threads that other threads waited for. In the table, row and column 0 are for threads
	 * that aren't known. The last row and column, .rows.n + 1 and .columns.n + 1, are for all
	 * other threads.
	 */
	VEC(uint32_t) rows, columns;
	int64_t *cells, *nobody;
};

/*
 * Begins to collect the samples of @p. Returns false if the profile lacks the value gil_wait or
 * gil_blame. Call gil_pairs_fini() in any case.
 */
bool gil_pairs_init(struct gil_pairs *g, struct profile *p);
void gil_pairs_fini(struct gil_pairs *g);

/* Adds the waits and holders that a sample tells of. Returns 0 or -ENOMEM. */
_must_use_ int gil_pairs_add(struct gil_pairs *g, const struct profile_sample *s);

/*
 * Computes the table, in which at most @rows threads have a row and @columns threads a column of
 * their own. Call it once, when all samples were added. 0 or -ENOMEM.
 */
_must_use_ int gil_pairs_make(struct gil_pairs *g, size_t rows, size_t columns);

/* Returns how long the threads of a row waited for the threads of a column. */
int64_t gil_pairs_cell(const struct gil_pairs *g, size_t row, size_t column);
/*
 * Returns how long the threads of a row waited while no thread was seen to hold the GIL, as happens
 * when the GIL is handed over.
 */
int64_t gil_pairs_nobody(const struct gil_pairs *g, size_t row);

/* Returns the thread that a row (or column) belongs to, if it is that of a single thread. */
static inline const struct gil_thread *gil_pairs_waiter(const struct gil_pairs *g, size_t row)
{
	return &g->threads.v[g->rows.v[row - 1]];
}

static inline const struct gil_thread *gil_pairs_holder(const struct gil_pairs *g, size_t column)
{
	return &g->threads.v[g->columns.v[column - 1]];
}

/*
 * Appends a JSON object for each pair of threads, with commas between the objects. .waiter and
 * .holder are threads; null: the thread isn't known, or no thread was seen to hold the GIL.
 * "[others]" stands for all threads without a row or column of their own. (In pairs_json.c.)
 */
void gil_pairs_json(const struct gil_pairs *g, struct str *out);

/*
 * Appends the name of a thread: "worker-2", or "worker-2 (tid 12)" if other threads of the table
 * also have that name. Returns true if it appended the number too.
 */
bool gil_pairs_name(const struct gil_pairs *g, const struct gil_thread *t, struct str *b);

#endif
