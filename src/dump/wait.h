/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread is doing, in words: from its state, its system call and the kernel function it
 * sleeps in. wait_rules is the only list; the manual page is printed from it.
 */
#ifndef DUMP_WAIT_H
#define DUMP_WAIT_H

#include "base/str.h"
#include "dump/task.h"

/*
 * X(NAME, word in --json, words). The manual lists the rules in this order; the first that fits
 * counts.
 */
#define WAIT_KINDS(X)                                                                              \
	X(RUNNING, "running", "on a CPU")                                                          \
	X(RUNNABLE, "runnable", "ready to run, waits for a CPU")                                   \
	X(FROZEN, "frozen", "frozen by its control group")                                         \
	X(GIL, "gil", "waiting for the GIL")                                                       \
	X(LOCK, "lock", "waiting for a lock")                                                      \
	X(SLEEP, "sleep", "sleeping")                                                              \
	X(IO, "io", "waiting for input or output")                                                 \
	X(POLL, "poll", "waiting for events")                                                      \
	X(CHILD, "child", "waiting for a child process")                                           \
	X(SIGNAL, "signal", "waiting for a signal")                                                \
	X(STOPPED, "stopped", "stopped by a signal")                                               \
	X(TRACED, "traced", "stopped by a debugger")                                               \
	X(ENDED, "ended", "has ended")                                                             \
	X(BLOCKED, "blocked", "blocked")

enum wait_kind {
#define X(name, word, words) WAIT_##name,
	WAIT_KINDS(X)
#undef X
		WAIT_KIND_MAX
};

/* A thread waits in this way if all that is set here fits; the first rule that fits counts. */
struct wait_rule {
	/* name of the system call that the rule is for; NULL: any, or none */
	const char *call_name;
	long call;
	/*
	 * the row fits only if the call has no descriptor, which its first or second argument 0
	 * shows
	 */
	bool idle;
	const char *wchan; /* beginning of the name of the kernel function that sleeps; NULL: any */
	enum wait_kind kind;
	int fd; /* which argument of the call is the descriptor; -1: none is */
};
/* the rules, tried in order; the last one is WAIT_BLOCKED, which always fits */
extern const struct wait_rule wait_rules[];

struct wait {
	enum wait_kind kind;
	const char *call; /* name of the system call; NULL: there is none, or it has no rule */
	int fd;		  /* the descriptor that the thread waits for; -1: none */
	bool disk;	  /* the thread sleeps uninterruptibly: state D */
};

/* What a thread with this @look does at this @place. @place isn't used if the thread runs. */
struct wait wait_of(const struct task_look *look, const struct task_place *place);

const char *wait_word(enum wait_kind kind);  /* word for this kind of wait in --json */
const char *wait_words(enum wait_kind kind); /* words for this kind of wait, for people */

#endif
