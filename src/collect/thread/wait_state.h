/* SPDX-License-Identifier: BSD-2-Clause */
/* The value of the label `state` of a wait: what the thread waited for. */
#ifndef COLLECT_THREAD_WAIT_STATE_H
#define COLLECT_THREAD_WAIT_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "records.h"

/*
 * Returns the number of what the thread of @wait waited for: not 0, with WAIT_STATE_OPEN if the wait
 * isn't over. The record may be hostile.
 */
uint32_t wait_state_of(const struct rec_wait *wait);

/* bit of a state's number: the wait wasn't over when the recording ended */
#define WAIT_STATE_OPEN (1u << 31)

/* Writes the words of @state, without WAIT_STATE_OPEN, into @text and returns them. */
const char *wait_state_words(uint32_t state, char *text, size_t n);

#endif
