/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of the label `state`: what a thread waited for. */
#ifndef COLLECT_THREAD_WAIT_STATE_H
#define COLLECT_THREAD_WAIT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/wait_rules.h"
#include "records.h"

/*
 * wait_state_runnable(): the state of a thread that is ready to run, but has no CPU.
 * wait_state_stolen(): the state of a thread whose CPU is stolen from it.
 */
uint32_t wait_state_runnable(void);
uint32_t wait_state_stolen(void);

/*
 * Returns the state's number: what the thread of @wait waited for. The number isn't 0, and has
 * WAIT_STATE_OPEN if the wait isn't over. The record may be hostile.
 */
uint32_t wait_state_of(const struct rec_wait *wait);

/* bit of a state's number: the wait wasn't over when the recording ended */
#define WAIT_STATE_OPEN (1u << 31)

/* Returns the state of a wait if only its kind is known. */
static inline uint32_t wait_state_of_kind(enum wait_kind kind)
{
	return kind + 1;
}

/* The state of a thread whose event loop has nothing to run. */
#define WAIT_STATE_LOOP (WAIT_LOOP + 1)

/*
 * Is @state, with or without WAIT_STATE_OPEN, of one of @kinds (WAIT_KIND_BIT()s)? A state for
 * which there is no word counts as IO.
 */
#define WAIT_KIND_BIT(kind) (1u << WAIT_##kind)
/* kinds of waits that another thread ends; samples of that other thread get the value lock_blame */
#define WAIT_LOCK_BITS (WAIT_KIND_BIT(LOCK) | WAIT_KIND_BIT(WORLD) | WAIT_KIND_BIT(SECTION))
bool wait_state_is(uint32_t state, uint32_t kinds);

/* Writes the words of @state, without WAIT_STATE_OPEN, into @text and returns them. */
const char *wait_state_words(uint32_t state, char *text, size_t n);

#endif
