/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command that is recorded. It is started in two steps, so that its first instruction is sampled
 * already: the child exists and waits, without ptrace, until everything is attached; then it
 * becomes the command. If krait dies in between, the child ends without having run anything.
 */
#ifndef RECORD_SPAWN_H
#define RECORD_SPAWN_H

#include <sys/types.h>
#include "base/util.h"

/* The exit codes of a command that a shell can't run either; of a wait that fails. */
enum { SPAWN_FAILED = 1, SPAWN_NOT_RUNNABLE = 126, SPAWN_NOT_FOUND = 127 };

/* What would help, beside the message: the caller has its own words for it. */
enum spawn_advice {
	SPAWN_ADVICE_NONE,
	SPAWN_ADVICE_INTERPRETER, /* a Python script isn't executable: name the interpreter before it */
	SPAWN_ADVICE_PATH,	  /* the PATH has no such command: name its path */
};

struct spawn {
	pid_t pid;    /* of the child and later of the command; 0 = none */
	int pidfd;    /* readable when it has ended, for poll(); -1 = none */
	int go_fd;    /* closing or writing lets the child on */
	int error_fd; /* the child's failure, or end of file when the command runs */
	const char *name;
	int exit_code;		  /* once spawn_ended(): as a shell has it */
	enum spawn_advice advice; /* of spawn_go(), where it fails */
	bool ended;
};

/*
 * Makes the child for @argv (NULL-terminated, at least one word, alive until spawn_go()). @prepare
 * runs in the child with @arg (another user, another environment) and returns 0 or -errno; NULL =
 * nothing to prepare. signals_take() was called before (SIGPIPE). 0 or -errno + message.
 */
_must_use_ int spawn_start(struct spawn *s, char **argv, int (*prepare)(void *arg), void *arg);

/*
 * Until the child is in /proc: where that hides processes with more rights than their user has
 * (hidepid=) it isn't before it has given up krait's. A second at most; what is wrong then shows
 * where it is looked at.
 */
void spawn_await_seen(const struct spawn *s);

/* For @prepare: the command's standard output becomes @fd. 0 or -errno. */
_must_use_ int spawn_say_to(int fd);

/*
 * Lets the child become the command; returns when it has. -errno + message if it can't, with
 * s->exit_code SPAWN_NOT_RUNNABLE or SPAWN_NOT_FOUND.
 */
_must_use_ int spawn_go(struct spawn *s);

/* True once the command has ended; never waits. It isn't reaped: /proc has its times. */
bool spawn_is_over(const struct spawn *s);

/* The same, and reaps it. Then s->exit_code is set. */
bool spawn_ended(struct spawn *s);

/*
 * Waits for the command's end, passing on a signal that only krait was sent; s->exit_code. Returns
 * early, with the command still running, only if waiting itself fails.
 */
int spawn_wait(struct spawn *s);

/* Passes on to the command the signal that asked krait to stop, if it hasn't got it itself. */
void spawn_pass_on_stop(struct spawn *s);

/* Ends the command, whatever it does, if it hasn't ended. */
void spawn_kill(struct spawn *s);

/* Says so, if the command runs on though nobody has asked krait to stop. */
void spawn_say_goes_on(struct spawn *s);

/* Ends a child that still waits, and closes what is open; a running command runs on. */
void spawn_fini(struct spawn *s);

/* A wait status as a shell's exit code: the command's own, or 128 + signal. */
int spawn_exit_code(int status);

#endif
