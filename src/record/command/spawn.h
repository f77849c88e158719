/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts the command that is recorded, in two steps, so that even its first instruction is sampled:
 * a child waits, without ptrace, until everything is attached; after that it becomes the command.
 * If krait dies in between, the child ends without having run anything.
 */
#ifndef RECORD_COMMAND_SPAWN_H
#define RECORD_COMMAND_SPAWN_H

#include <sys/types.h>
#include "base/util.h"

/*
 * krait's exit codes. SPAWN_FAILED: waiting for the command failed. The other codes are those of a
 * shell for a command that it can't run.
 */
enum { SPAWN_FAILED = 1, SPAWN_NOT_RUNNABLE = 126, SPAWN_NOT_FOUND = 127 };

/* What the user could do about the error. The caller prints it after the error message. */
enum spawn_advice {
	SPAWN_ADVICE_NONE,
	/* the command is a Python script that isn't executable: name the interpreter first */
	SPAWN_ADVICE_INTERPRETER,
	SPAWN_ADVICE_PATH, /* no directory of PATH has the command: give its path */
};

struct spawn {
	/* number of the child's process, which becomes the command; 0: there is no child */
	pid_t pid;
	int pidfd; /* pidfd of the child, readable when the child has ended; -1: none */
	/*
	 * pipe that the child reads: a byte makes it run the command, closing the pipe makes it end
	 */
	int go_fd;
	/*
	 * pipe through which the child reports why it failed; the child closes it by becoming the
	 * command
	 */
	int error_fd;
	const char *name;
	int exit_code; /* exit code of the command as a shell would give it; set by spawn_ended() */
	/* what the user could do about the error; set by spawn_go() if it fails */
	enum spawn_advice advice;
	bool ended;
};

/*
 * Makes the child for @argv (NULL-terminated, at least one word, valid until spawn_go()). The child
 * calls @prepare with @arg before exec(), to change its user and environment; @prepare returns 0 or
 * -errno, and may be NULL. Call signals_take() before this function, because of SIGPIPE. 0 or
 * -errno + message.
 */
_must_use_ int spawn_start(struct spawn *s, char **argv, int (*prepare)(void *arg), void *arg);

/*
 * Waits until the child is in /proc. A /proc that is mounted with hidepid= shows the child only
 * once it has given up krait's capabilities. Waits at most a second; if the child isn't there by
 * then, later code fails with a message.
 */
void spawn_await_seen(const struct spawn *s);

/* For @prepare: makes @fd the command's standard output. 0 or -errno. */
_must_use_ int spawn_say_to(int fd);

/*
 * Lets the child become the command, and returns when it has. 0; -errno + message if it can't, in
 * which case s->exit_code is SPAWN_NOT_RUNNABLE or SPAWN_NOT_FOUND.
 */
_must_use_ int spawn_go(struct spawn *s);

/* Has the command ended? Never waits. Doesn't reap the command, so /proc keeps its times. */
bool spawn_is_over(const struct spawn *s);

/* Has the command ended? Never waits. If it has, reaps it and sets s->exit_code. */
bool spawn_ended(struct spawn *s);

/*
 * Waits for the command's end. If a signal was sent to krait alone, passes it on to the command.
 * Returns s->exit_code; SPAWN_FAILED if waiting itself fails; in that case the command still runs.
 */
int spawn_wait(struct spawn *s);

/* Sends the command the signal that asked krait to stop, unless the command has also got it. */
void spawn_pass_on_stop(struct spawn *s);

/* Kills the command if it hasn't ended. */
void spawn_kill(struct spawn *s);

/*
 * Tells the user if the command is still running. Says nothing after a signal that asked krait to
 * stop, because the command also gets that signal.
 */
void spawn_say_goes_on(struct spawn *s);

/* Ends the child if it still waits, and closes descriptors. A running command goes on. */
void spawn_fini(struct spawn *s);

/*
 * Converts a wait status to a shell's exit code: the command's own code, or 128 + number of the
 * signal.
 */
int spawn_exit_code(int status);

#endif
