/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sentence of a report that says what threads wait for, and the table of states. Waits are
 * samples with a value off_cpu. Their label `state` says the kind of wait ("net"), their label `on`
 * says what was waited on, and the label idle=yes says that the thread waited for work.
 */
#ifndef VIEW_WAITS_WAITS_H
#define VIEW_WAITS_WAITS_H

#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "view/costs/costs.h"

/*
 * Appends a sentence about the time of the main thread, or of the threads that it waits for: "The
 * main thread waited 81 % of its time for the network (10.0.0.5:5432) in Cursor.execute, called
 * from app.py:31; 6 % running". Unless @always, only if these threads wait at least as long as they
 * run. The samples of these threads must be complete. @c was made from @sums, and isn't sorted yet
 * (costs_sort()). Returns 1 if a sentence was appended, 0 if there is none, or -ENOMEM.
 */
_must_use_ int waits_words(const struct costs *c, const struct profile_sum *sums, size_t n,
			   bool always, struct str *b);

/* How long all threads together were in one state. */
struct waits_state {
	/* name of the state: "running", "net", "other: mmap"; owned by the profile or static */
	const char *name;
	int64_t ns;
	bool idle; /* true: waits of threads without work */
};
typedef VEC(struct waits_state) waits_states;

/* the most states that are listed; programs wait in fewer different system calls than this */
#define WAITS_STATES 100

/*
 * Finds the states of all samples, the longest first and idle states last; none if no waits were
 * recorded. There are at most WAITS_STATES states and as many idle states; the state "other" has
 * the time of all further states. 0 or -ENOMEM.
 */
_must_use_ int waits_states_of(struct profile *p, const struct profile_sum *sums, size_t n,
			       waits_states *ret);

/*
 * Tells whether @word is the name of a state, or "other", which stands for all states "other: ...".
 */
bool waits_is_state(const char *word);
/* Appends all names of states: "running, runnable, ...". */
void waits_add_known(struct str *b);

#endif
