/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks: a user tells the agent that records into a store to pin the time around now. They go
 * through a named pipe in the store's directory, which the store's owner and root can write to. So
 * the agent's processes need no socket for them, and whoever marks needs no right to write to the
 * database. The agent sends no answer: whoever marked waits until the pin is in the store.
 */
#ifndef STORE_PINS_MARKS_H
#define STORE_PINS_MARKS_H

#include "store/pins/pins.h"

/*
 * Makes the pipe in directory @dir, if this user owns the directory, and opens the pipe for the
 * agent. Marks that were sent wait in the pipe until its last descriptor is closed. Returns a
 * descriptor; -1: there is no pipe, and nobody can mark.
 */
int marks_open(const char *dir);

/*
 * Takes the next mark (an order to pin the time around now) that was sent; false: there is none.
 * Never waits.
 */
bool marks_take(int fd, char words[PIN_WORDS_BYTES]);

/* Removes the pipe, when the agent ends. */
void marks_end(const char *dir);

/*
 * Sends a mark to the agent that records into @dir, and waits until the agent has pinned the time
 * around now. Returns 0; -EINVAL + message: the words are wrong; -ESRCH + message: no agent
 * records; -ETIMEDOUT + message: the agent hasn't pinned the mark in time; -errno + message.
 */
_must_use_ int marks_send(const char *dir, const char *text, struct pin *ret);
/* Does what marks_send() does, for a store that the caller has opened. */
_must_use_ int marks_send_to(struct store *s, const char *text, struct pin *ret);

#endif
