/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Divides the time of waits whose stacks weren't taken between the stacks that were taken, of the
 * same thread and site (what is waited for; docs/decisions/0023).
 */
#ifndef COLLECT_THREAD_SHARES_H
#define COLLECT_THREAD_SHARES_H

#include "collect/common/raw.h"

/* What is known of a thread's waits without a stack. */
struct wait_shares;

/*
 * A wait is handed on: adds to .rec.weight and .gil_ns its share of the time of waits without a
 * stack. *s: NULL until the thread has had a wait without a stack.
 */
void shares_take(struct wait_shares **s, struct waiting *w);

/*
 * @w isn't a wait, but carries time of waits without a stack: keeps that time for later waits at
 * the same site (what is waited for). False: no wait with a stack came from that site yet.
 */
bool shares_owe(struct wait_shares *s, const struct waiting *w);

/*
 * Takes out the time of one site (what is waited for) that no stack has got yet. Sets *ret to a
 * wait at that site, with this time as its own. False: nothing is left. @s may be NULL.
 */
bool shares_left(struct wait_shares *s, struct waiting *ret);

void shares_free(struct wait_shares *s);

#endif
