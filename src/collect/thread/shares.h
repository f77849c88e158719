/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits whose stacks weren't taken: their time is divided between the stacks that were taken of
 * waits of the same thread at the same site (what is waited for; docs/decisions/0023).
 */
#ifndef COLLECT_THREAD_SHARES_H
#define COLLECT_THREAD_SHARES_H

#include "collect/common/raw.h"

/* What is known of those waits of a thread whose stacks weren't taken. */
struct wait_shares;

/*
 * Called when wait @w is added to the profile: adds its share of the time of waits without a stack
 * to .rec.weight and .gil_ns. *s: NULL until the thread has had a wait without a stack.
 */
void shares_take(struct wait_shares **s, struct waiting *w);

/*
 * @w isn't a wait, but has the time of waits without a stack. Keeps this time for later waits at
 * the same site (what is waited for). False: no wait with a stack came from that site yet.
 */
bool shares_owe(struct wait_shares *s, const struct waiting *w);

/*
 * Takes out the time at one site (what is waited for) that wasn't given to any stack. Sets *ret to
 * a wait at that site that has taken this time. False: no time is left. @s may be NULL.
 */
bool shares_left(struct wait_shares *s, struct waiting *ret);

void shares_free(struct wait_shares *s);

#endif
