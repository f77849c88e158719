/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waited for whose lock. A sample's value lock_blame is how long the thread of its label
 * `waiter_tid` had waited for a lock, until the sample's thread ended the wait
 * (docs/decisions/0026).
 */
#ifndef VIEW_WAITS_LOCKS_H
#define VIEW_WAITS_LOCKS_H

#include "base/intern.h"
#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

/* The waits of one thread that another thread ended at one place. */
struct lock_wait {
	/* a label set of the thread that ended the waits; it has the label waiter */
	uint32_t labels;
	uint32_t at; /* location of the place; 0: not known */
	/*
	 * Both threads' numbers, as strings of the profile; after lock_waits_fold() their names in
	 * .shown. .waiter is 0 if it isn't known.
	 */
	uint32_t waker, waiter;
	int64_t ns;
};

/* All waits that one thread ended at one place. */
struct lock_place {
	size_t first, n; /* index of the place's first wait in .waits, and number of its waits */
	int64_t ns;
};

/* How long a thread waited for locks in waits whose waker isn't known. */
struct lock_rest {
	uint32_t labels; /* one of the thread's label sets */
	int64_t ns;
};

struct lock_waits {
	const struct profile *p;
	int blame; /* index of the value */
	/* Sorted by lock_waits_sort(): .places the longest first, as are the waits of each. */
	VEC(struct lock_wait) waits;
	VEC(struct lock_place) places;
	int64_t ns; /* of all .waits */
	VEC(struct lock_rest) rests;
	struct map rest_of;  /* a thread's number, as a string -> index in .rests */
	struct intern shown; /* names of threads, made by lock_waits_fold() */
};

/*
 * Begins to collect the waits in @p. Returns false if the profile has no value lock_blame. Call
 * lock_waits_fini() in any case.
 */
bool lock_waits_init(struct lock_waits *w, struct profile *p);
void lock_waits_fini(struct lock_waits *w);

/*
 * Adds a sample's value @ns. @at: the location at which the wait was ended. Returns 0 or -ENOMEM.
 */
_must_use_ int lock_waits_add(struct lock_waits *w, uint32_t labels, uint32_t at, int64_t ns);

/*
 * Adds @ns for which a thread waited for locks, no matter who ended the wait. Returns 0 or -ENOMEM.
 */
_must_use_ int lock_waits_add_rest(struct lock_waits *w, uint32_t labels, int64_t ns);

/*
 * Joins threads of the same name, and many threads whose names differ only in numbers (fold.h). To
 * be called before lock_waits_sort(), if at all. After this call .rests mean nothing. 0 or -ENOMEM.
 */
_must_use_ int lock_waits_fold(struct lock_waits *w);

/* Returns a name: @id is .waker or .waiter of a wait. To be called after lock_waits_fold(). */
static inline const char *lock_waits_name(const struct lock_waits *w, uint32_t id)
{
	return intern_get(&w->shown, id, NULL);
}

/*
 * Appends what a thread is called by its labels @name and @tid: "worker-2", or "tid 12", or
 * "others".
 */
void lock_waits_thread(const struct profile *p, uint32_t labels, const char *name, const char *tid,
		       struct str *b);

/* Sums up and sorts the waits that were added. Call it once. Returns 0 or -ENOMEM. */
_must_use_ int lock_waits_sort(struct lock_waits *w);

/*
 * Appends an object of JSON for each wait, with commas between them. .waiter and .waker are
 * threads; null: the thread isn't known. (In pairs_json.c.)
 */
void lock_waits_json(const struct lock_waits *w, struct str *out);

#endif
