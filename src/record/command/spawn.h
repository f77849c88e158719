/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command that is recorded. It is started in two steps, so that even its first instruction is
 * sampled: the child exists and waits, without ptrace, until everything is attached; then it
 * becomes the command. If krait dies in between, the child ends without having run anything.
 */
#ifndef RECORD_COMMAND_SPAWN_H
#define RECORD_COMMAND_SPAWN_H

#include <sys/types.h>
#include "base/util.h"

/*
 * Exit codes. SPAWN_FAILED: waiting for the command failed. The other codes are those of a shell
 * for a command that it can't run.
 */
enum { SPAWN_FAILED = 1, SPAWN_NOT_RUNNABLE = 126, SPAWN_NOT_FOUND = 127 };

/* What the user could do about the error. The caller prints it after the error message. */
enum spawn_advice {
	SPAWN_ADVICE_NONE,
	/* the command is a Python script that isn't executable: name the interpreter first */
	SPAWN_ADVICE_INTERPRETER,
	SPAWN_ADVICE_PATH, /* no folder of PATH has the command: give its path */
};

struct spawn {
	pid_t pid; /* process id of the child, which becomes the command; 0: none */
	int pidfd; /* pidfd of the child, readable when it has ended; -1: none */
	int go_fd; /* pipe that the child reads: a byte lets it run the command, closing ends it */
	/* pipe over which the child reports why it failed; it is closed when the command runs */
	int error_fd;
	const char *name;
	int exit_code; /* exit code of the command as a shell would give it; set by spawn_ended() */
	/* what the user could do about the error; set by spawn_go() if it fails */
	enum spawn_advice advice;
	bool ended;
};

/*
 * Makes the child for @argv (NULL-terminated, at least one word, alive until spawn_go()). The child
 * calls @prepare with @arg before exec(), to change its user and environment; it returns 0 or
 * -errno. NULL: nothing is called. Call signals_take() before this function, because of SIGPIPE. 0
 * or -errno + message.
 */
_must_use_ int spawn_start(struct spawn *s, char **argv, int (*prepare)(void *arg), void *arg);

/*
 * Waits until the child is in /proc. A /proc that is mounted with hidepid= shows the child only
 * once it has given up krait's capabilities. Waits a second at most. If the child isn't there then,
 * later code fails with a message.
 */
void spawn_await_seen(const struct spawn *s);

/* For @prepare: makes @fd the command's standard output. 0 or -errno. */
_must_use_ int spawn_say_to(int fd);

/*
 * Lets the child become the command, and returns when it has. 0; -errno + message if it can't, with
 * s->exit_code SPAWN_NOT_RUNNABLE or SPAWN_NOT_FOUND.
 */
_must_use_ int spawn_go(struct spawn *s);

/* Has the command ended? Never waits, and doesn't reap the command: /proc keeps its times. */
bool spawn_is_over(const struct spawn *s);

/* Tells whether the command has ended; never waits. If so, reaps it and sets s->exit_code. */
bool spawn_ended(struct spawn *s);

/*
 * Waits for the command's end. If a signal was sent to krait alone, passes it on to the command.
 * Returns s->exit_code; SPAWN_FAILED if waiting itself fails; in that case the command still runs.
 */
int spawn_wait(struct spawn *s);

/*
 * Sends the command the signal that asked krait to stop, unless the command also got that signal.
 */
void spawn_pass_on_stop(struct spawn *s);

/* Kills the command if it hasn't ended. */
void spawn_kill(struct spawn *s);

/*
 * Tells the user if the command still runs. Says nothing after a signal that asked krait to stop,
 * because the command also gets that signal.
 */
void spawn_say_goes_on(struct spawn *s);

/* Ends a child that still waits, and closes descriptors; a running command goes on. */
void spawn_fini(struct spawn *s);

/*
 * Returns a wait status in the form of a shell's exit code: the command's own code, or 128 +
 * signal.
 */
int spawn_exit_code(int status);

#endif
