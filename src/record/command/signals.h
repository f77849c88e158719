/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles Ctrl-C and the like: SIGINT, SIGTERM and SIGHUP. The first of these signals asks krait to
 * stop: krait writes the recording once all names have been read. The second asks krait to write at
 * once, without the names that are missing. The third ends krait, as it would end a program without
 * a handler. A signal within half a second after another signal isn't counted. What signals have
 * asked for is in global variables, because a handler gets no argument.
 */
#ifndef RECORD_COMMAND_SIGNALS_H
#define RECORD_COMMAND_SIGNALS_H

#include "base/util.h"

/*
 * Installs the handlers. A signal that was ignored when krait started stays ignored (nohup,
 * background jobs of a script), except a SIGINT that a process sends. The phase becomes
 * SIGNALS_RECORDING. In place of SIGPIPE, write() returns EPIPE. System calls that sleep return
 * EINTR when the first signal comes. But a signal just before such a call doesn't end the sleep, so
 * callers sleep at most some 100 ms at a time.
 */
void signals_take(void);

/*
 * Makes a SIGHUP that a process sends no longer ask krait to stop. Instead, signals_reload()
 * returns true once after such a SIGHUP. A SIGHUP of the terminal still asks krait to stop.
 */
void signals_take_reload(void);
bool signals_reload(void);

/*
 * Makes a SIGUSR1 no longer end krait. Instead, signals_usr1() returns true once after a SIGUSR1,
 * with the process that sent the latest one in *sender.
 */
void signals_take_usr1(void);
bool signals_usr1(long *sender);

/* What krait is doing, on which the meaning of a signal depends. */
enum signals_phase {
	/*
	 * signals mean what the beginning of this file says; system calls that sleep return EINTR
	 */
	SIGNALS_RECORDING,
	/*
	 * signals mean the same as in SIGNALS_RECORDING, but a write() is restarted after a signal
	 */
	SIGNALS_WRITING,
	/* the recording is written and can't be lost, so the second signal ends krait */
	SIGNALS_WRITTEN,
};
void signals_phase(enum signals_phase phase);

/* Returns the signal that asked to stop, or 0. */
int signals_stop(void);

/*
 * Returns how many signals have come. A signal within half a second after another signal isn't
 * counted.
 */
unsigned signals_count(void);

/*
 * Was the signal that asked krait to stop sent by a process? If so, only krait got it. False: the
 * terminal has sent it to krait and to the command that krait runs.
 */
bool signals_stop_was_sent(void);

/*
 * Sets the function that is called with @arg before a signal ends krait at once. @f must be
 * async-signal-safe. NULL: nothing is called.
 */
void signals_undo(void (*f)(void *), void *arg);

/* Called in a child between fork and exec: undoes krait's changes of signals. */
void signals_give_back(void);

#endif
