/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out who ended the waits of threads for locks, from samples with the value lock_blame. Such
 * a sample has the stack and the labels of the thread that woke another thread up. Its labels
 * `waiter` and `waiter_tid` are the other thread's name and number (docs/decisions/0026).
 */
#ifndef VIEW_WAITS_WAKER_H
#define VIEW_WAITS_WAKER_H

#include "view/waits/place.h"

/* A thread that ended waits of other threads, and the place where it did so. */
struct waits_waker {
	uint32_t labels; /* a label set of the waker; 0: no waker is known */
	struct waits_frames at;
	int64_t ns; /* how long the other threads had waited when the waker ended their waits */
};

/* Finds the thread that ended the largest part of the group's waits for locks. 0 or -ENOMEM. */
_must_use_ int waits_waker_find(const struct waits *w, uint32_t group, struct waits_waker *ret);

/*
 * Appends who woke the threads: "worker-2 in flush (app.py:88)"; with @pid "worker-2 (pid 7) in
 * ...".
 */
void waits_waker_add(const struct costs *c, const struct waits_waker *waker, bool pid,
		     struct str *b);

#endif
