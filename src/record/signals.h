/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ctrl-C and its kin: SIGINT, SIGTERM and SIGHUP. The first one, of whichever kind, asks to stop:
 * what was recorded is written when it has its names. The second one asks to write now, with what
 * there is. The third one ends krait at once, as it ends a program that does nothing about it. What
 * comes within half a second of the one before is the same. The stop flag is the second of the two
 * global variables of the program.
 */
#ifndef RECORD_SIGNALS_H
#define RECORD_SIGNALS_H

#include "base/util.h"

/*
 * Takes the signals over. One that was ignored when krait started stays ignored (nohup, jobs that a
 * script puts into the background), but for a SIGINT that a process sends. The phase is
 * SIGNALS_RECORDING. SIGPIPE becomes an EPIPE from write(). System calls that sleep return EINTR
 * when the first signal comes; one that comes just before the sleep doesn't wake it, so sleep at
 * most some 100 ms at a time.
 */
void signals_take(void);

/* What krait does: that decides what a signal means. */
enum signals_phase {
	SIGNALS_RECORDING, /* as above; calls that sleep return EINTR */
	SIGNALS_WRITING,   /* as above; calls that write go on where they were */
	SIGNALS_WRITTEN,   /* nothing is left to be lost: the second one ends krait already */
};
void signals_phase(enum signals_phase phase);

/* The signal that asked to stop, or 0. */
int signals_stop(void);

/* How many there were that aren't the same. */
unsigned signals_count(void);

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
