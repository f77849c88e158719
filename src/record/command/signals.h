/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ctrl-C and the like: SIGINT, SIGTERM and SIGHUP. The first signal (any of these) asks krait to
 * stop: it writes the recording once all names have been read. The second asks it to write at once,
 * without the names that are missing. The third ends krait, as it would end a program without a
 * handler. A signal within half a second after another signal isn't counted. What signals have
 * asked for is global, because a handler gets no argument.
 */
#ifndef RECORD_COMMAND_SIGNALS_H
#define RECORD_COMMAND_SIGNALS_H

#include "base/util.h"

/*
 * Installs the handlers. A signal that was ignored when krait started stays ignored (nohup,
 * background jobs of a script), except a SIGINT that a process sends. The phase is
 * SIGNALS_RECORDING. SIGPIPE becomes an EPIPE from write(). System calls that sleep return EINTR
 * when the first signal comes. But a signal just before such a call doesn't end the sleep. So
 * callers sleep at most some 100 ms at a time.
 */
void signals_take(void);

/*
 * From now on, a SIGHUP that a process sends doesn't ask krait to stop; instead signals_reload()
 * returns true once. A SIGHUP of the terminal still asks to stop.
 */
void signals_take_reload(void);
bool signals_reload(void);

/*
 * From now on, a SIGUSR1 doesn't end krait; instead signals_usr1() returns true once, with the
 * process that sent the latest one in *sender.
 */
void signals_take_usr1(void);
bool signals_usr1(long *sender);

/* What krait is doing; it decides what a signal means. */
enum signals_phase {
	/* what signals mean is at the beginning of this file; calls that sleep return EINTR */
	SIGNALS_RECORDING,
	/* as SIGNALS_RECORDING, but a call that writes is restarted after a signal */
	SIGNALS_WRITING,
	/* the recording is written and can't be lost: the second signal ends krait */
	SIGNALS_WRITTEN,
};
void signals_phase(enum signals_phase phase);

/* Returns the signal that asked to stop, or 0. */
int signals_stop(void);

/* How many signals have come. A signal within half a second after another signal isn't counted. */
unsigned signals_count(void);

/*
 * Did a process send krait the signal that asked to stop? If so, a command that krait runs hasn't
 * got the signal. False: the terminal has sent it to krait and to the command.
 */
bool signals_stop_was_sent(void);

/*
 * If a signal ends krait at once after this call, @f(@arg) is called first. @f must be
 * async-signal-safe. NULL: nothing is called.
 */
void signals_undo(void (*f)(void *), void *arg);

/* For a child between fork and exec: restores the signals that krait changed. */
void signals_give_back(void);

#endif
