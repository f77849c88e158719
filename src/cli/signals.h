/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ctrl-C and its kin. The first SIGINT, SIGTERM or SIGHUP asks to stop: what was recorded is
 * written. The second one, of whichever kind, half a second later or more, ends krait at once with
 * EXIT_ABORTED. The stop flag is the second of the two global variables of the program.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "base/util.h"

/*
 * Takes the signals over. One that was ignored when krait started stays ignored (nohup, jobs that
 * a script puts into the background), but for a SIGINT that a process sends. SIGPIPE becomes an
 * EPIPE from write(). System calls that sleep return EINTR when the first signal comes; one that
 * comes just before the sleep doesn't wake it, so sleep at most some 100 ms at a time.
 */
void signals_take(void);

/* The signal that asked to stop, or 0. */
int signals_stop(void);

/*
 * True if the signal that asked to stop was sent by a process to krait, so that a command that
 * krait runs hasn't seen it; false if the terminal sent it to everybody.
 */
bool signals_stop_was_sent(void);

/*
 * From now on @f(@arg) is called where a signal, of whatever kind, ends krait at once; it is
 * async-signal-safe. NULL: nothing is.
 */
void signals_undo(void (*f)(void *), void *arg);

/* For a child between fork and exec: what krait changed goes back to what it was given. */
void signals_give_back(void);

#endif
