/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which threads waited for whose locks. A sample's value lock_blame is how long another
 * thread had waited for a lock, until the sample's thread ended the wait. The sample's label
 * `waiter_tid` names that other thread (docs/decisions/0026).
 */
#ifndef VIEW_WAITS_LOCKS_H
#define VIEW_WAITS_LOCKS_H

#include "base/intern.h"
#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

/* All waits of one thread that one other thread ended at one place. */
struct lock_wait {
	/*
	 * a label set of the thread that ended the waits; the set also has the label `waiter`, the
	 * name of the thread that waited
	 */
	uint32_t labels;
	/*
	 * location of the line where the waits were ended, one for all columns of the line; 0: not
	 * known
	 */
	uint32_t at;
	/*
	 * The numbers of both threads, as strings of the profile; after lock_waits_fold() their
	 * names, in .shown. .waiter is 0 if the thread isn't known.
	 */
	uint32_t waker, waiter;
	int64_t ns;
};

/* All waits that one thread ended at one place in its code. */
struct lock_place {
	size_t first, n; /* index of the place's first wait in .waits, and number of its waits */
	int64_t ns;
};

/* How long a thread waited for locks in waits of which it isn't known who ended them. */
struct lock_rest {
	uint32_t labels; /* one of the thread's label sets */
	int64_t ns;
};

struct lock_waits {
	const struct profile *p;
	int blame; /* index of the value lock_blame */
	/*
	 * Sorted by lock_waits_sort(): .places by their time, the longest first, and so are the
	 * waits of each place.
	 */
	VEC(struct lock_wait) waits;
	VEC(struct lock_place) places;
	int64_t ns; /* of all .waits */
	VEC(struct lock_rest) rests;
	struct map line_at;  /* from a function and a line to the first location of that line */
	struct map rest_of;  /* from a thread's number, as a string, to the index in .rests */
	struct intern shown; /* names of threads, made by lock_waits_fold() */
};

/*
 * Begins to collect the waits in the samples of @p. Returns false if the profile has no value
 * lock_blame. Call lock_waits_fini() in any case.
 */
bool lock_waits_init(struct lock_waits *w, struct profile *p);
void lock_waits_fini(struct lock_waits *w);

/*
 * Adds @ns, a sample's value lock_blame. @at: the location at which the wait was ended. Returns 0
 * or -ENOMEM.
 */
_must_use_ int lock_waits_add(struct lock_waits *w, uint32_t labels, uint32_t at, int64_t ns);

/* Adds @ns for which a thread waited for locks, whoever ended the wait. Returns 0 or -ENOMEM. */
_must_use_ int lock_waits_add_rest(struct lock_waits *w, uint32_t labels, int64_t ns);

/*
 * Treats threads of the same name as one, and many threads whose names differ only in numbers
 * (fold.h). To be called, if at all, before lock_waits_sort(). After this call .rests mean nothing.
 * 0 or -ENOMEM.
 */
_must_use_ int lock_waits_fold(struct lock_waits *w);

/*
 * Returns the name for @id, which is .waker or .waiter of a wait. To be called after
 * lock_waits_fold().
 */
static inline const char *lock_waits_name(const struct lock_waits *w, uint32_t id)
{
	return intern_get(&w->shown, id, NULL);
}

/*
 * Appends what a thread is called by its labels @name and @tid: "worker-2", or "tid 12" if it has
 * no name, or "others" if it has neither.
 */
void lock_waits_thread(const struct profile *p, uint32_t labels, const char *name, const char *tid,
		       struct str *b);

/* Sums up and sorts the waits that were added. Call it once. Returns 0 or -ENOMEM. */
_must_use_ int lock_waits_sort(struct lock_waits *w);

/*
 * Appends a JSON object for each wait, with commas between the objects. .waiter and .waker are
 * threads; null: the thread isn't known. (In pairs_json.c.)
 */
void lock_waits_json(const struct lock_waits *w, struct str *out);

#endif
